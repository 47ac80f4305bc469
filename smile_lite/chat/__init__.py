"""Chat models behind one protocol: a GGUF file in process, or a server that speaks `/v1/chat/completions`."""
