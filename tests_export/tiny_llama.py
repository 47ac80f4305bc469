"""A Llama checkpoint small enough to be made on the spot: two layers of 256, a byte-fallback tokenizer, a template."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, trainers

HIDDEN, INNER, LAYERS, HEADS, VOCABULARY = 256, 512, 2, 4, 512
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}[{{ message['role'] }}] {{ message['content'] }}\n{% endfor %}"
    "[assistant]"
)
_TEXTS = [
    "What is the capital of France? Answer in one short sentence.",
    "The capital of France is Paris, and the capital of Japan is Tokyo.",
    "user assistant system question answer reference prediction sentence",
]


def write_tiny_llama(folder: Path, *, template: bool = True) -> Path:
    """Write the checkpoint; the same bytes every time."""
    folder.mkdir(parents=True)
    _write_tokenizer(folder, template=template)
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": 1024,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "hidden_act": "silu",
        "bos_token_id": 1,
        "eos_token_id": 2,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\nRandom numbers.\n", encoding="utf-8")
    save_file(_weights(), folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def _write_tokenizer(folder: Path, *, template: bool) -> None:
    specials = ["<unk>", "<s>", "</s>"]
    every_byte = [f"<0x{byte:02X}>" for byte in range(256)]
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=[*specials, *every_byte], show_progress=False, max_token_length=6
    )
    tokenizer.train_from_iterator(_TEXTS, trainer)
    state = json.loads(tokenizer.to_str())
    state["added_tokens"] = [entry for entry in state["added_tokens"] if entry["content"] in specials]
    vocabulary = state["model"]["vocab"]
    vocabulary |= {f"filler{index}": index for index in range(len(vocabulary), VOCABULARY)}
    tokenizer = Tokenizer.from_str(json.dumps(state))
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in specials])
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "LlamaTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    if template:
        settings["chat_template"] = TEMPLATE
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")


def _weights() -> dict[str, np.ndarray]:
    draw = np.random.default_rng(3)

    def matrix(rows: int, columns: int) -> np.ndarray:
        return (draw.standard_normal((rows, columns)) * 0.08).astype(np.float32)

    ones = np.ones(HIDDEN, dtype=np.float32)
    weights = {"model.embed_tokens.weight": matrix(VOCABULARY, HIDDEN), "lm_head.weight": matrix(VOCABULARY, HIDDEN)}
    weights["model.norm.weight"] = ones
    for layer in range(LAYERS):
        at = f"model.layers.{layer}"
        weights |= {f"{at}.self_attn.{part}_proj.weight": matrix(HIDDEN, HIDDEN) for part in "qkvo"}
        weights |= {f"{at}.mlp.{part}_proj.weight": matrix(INNER, HIDDEN) for part in ("gate", "up")}
        weights[f"{at}.mlp.down_proj.weight"] = matrix(HIDDEN, INNER)
        weights |= {f"{at}.{part}.weight": ones for part in ("input_layernorm", "post_attention_layernorm")}
    return weights
