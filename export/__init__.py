"""The export toolchain: checkpoints to the artefacts that the runtime uses. The only place where torch lives."""
