"""A tiny BERT checkpoint made on the spot, and its forward pass written a second time in float64 numpy."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

LAYERS, HIDDEN, HEADS, INNER, POSITIONS = 2, 32, 4, 64, 48
WORDS = [
    "the",
    "cat",
    "sat",
    "on",
    "a",
    "mat",
    "paris",
    "is",
    "capital",
    "of",
    "france",
    "lyon",
    "it",
    "what",
    "3",
    "4",
    "5",
    "##s",
]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS, *(chr(code) for code in range(97, 123) if chr(code) != "a")]


def tensors(
    seed: int = 0, *, dtype: Any = np.float32, prefix: str = "", segments: int = 2, labels: int = 0
) -> dict[str, NDArray[Any]]:
    random = np.random.default_rng(seed)

    def draw(*shape: int) -> NDArray[Any]:
        return (random.standard_normal(shape) * 0.3).astype(dtype)

    made = {
        "embeddings.word_embeddings.weight": draw(len(VOCABULARY), HIDDEN),
        "embeddings.position_embeddings.weight": draw(POSITIONS, HIDDEN),
        "embeddings.token_type_embeddings.weight": draw(segments, HIDDEN),
        "embeddings.LayerNorm.weight": 1 + draw(HIDDEN),
        "embeddings.LayerNorm.bias": draw(HIDDEN),
    }
    for layer in range(LAYERS):
        base = f"encoder.layer.{layer}."
        for name, rows, columns in (
            ("attention.self.query", HIDDEN, HIDDEN),
            ("attention.self.key", HIDDEN, HIDDEN),
            ("attention.self.value", HIDDEN, HIDDEN),
            ("attention.output.dense", HIDDEN, HIDDEN),
            ("intermediate.dense", INNER, HIDDEN),
            ("output.dense", HIDDEN, INNER),
        ):
            made[f"{base}{name}.weight"] = draw(rows, columns)
            made[f"{base}{name}.bias"] = draw(rows)
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            made[f"{base}{name}.weight"] = (1 + draw(HIDDEN)).astype(dtype)
            made[f"{base}{name}.bias"] = draw(HIDDEN)
    made = {prefix + name: value for name, value in made.items()}
    if labels:
        pooler = {"bert.": "bert.pooler.dense", "roberta.": "classifier.dense"}[prefix]
        outer = {"bert.": "classifier", "roberta.": "classifier.out_proj"}[prefix]
        made |= {f"{pooler}.weight": draw(HIDDEN, HIDDEN), f"{pooler}.bias": draw(HIDDEN)}
        made |= {f"{outer}.weight": draw(labels, HIDDEN), f"{outer}.bias": draw(labels)}
    return {name: value.astype(dtype) for name, value in made.items()}


def write_checkpoint(
    folder: Path, *, pooling: str | None = "mean", seed: int = 0, dtype: Any = np.float32, prefix: str = ""
) -> Path:
    """A folder in the layout of a sentence-transformers repository."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors(seed, dtype=dtype, prefix=prefix), folder / "model.safetensors")
    config = {
        "model_type": "bert",
        "num_hidden_layers": LAYERS,
        "hidden_size": HIDDEN,
        "num_attention_heads": HEADS,
        "intermediate_size": INNER,
        "vocab_size": len(VOCABULARY),
        "max_position_embeddings": POSITIONS,
        "layer_norm_eps": 1e-12,
        "hidden_act": "gelu",
    }
    (folder / "config.json").write_text(json.dumps(config))
    write_tokenizer(folder / "tokenizer.json")
    if pooling is not None:
        modules = [{"type": "sentence_transformers.models.Transformer", "path": ""}]
        modules.append({"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"})
        (folder / "modules.json").write_text(json.dumps(modules))
        (folder / "1_Pooling").mkdir(exist_ok=True)
        flags = {"pooling_mode_cls_token": pooling == "cls", "pooling_mode_mean_tokens": pooling == "mean"}
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(flags))
        (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 16}))
    return folder


def write_roberta(folder: Path, *, pooling: str = "mean") -> Path:
    """The same with RoBERTa's positions (from padding index + 1) and its single segment."""
    write_checkpoint(folder, pooling=pooling)
    save_file(tensors(prefix="roberta.", segments=1), folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "xlm-roberta", "pad_token_id": 1, "type_vocab_size": 1}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def write_cross_encoder(folder: Path, labels: tuple[str, ...], *, family: str = "bert") -> Path:
    """A checkpoint for sequence classification."""
    write_checkpoint(folder, pooling=None)
    segments = 2 if family == "bert" else 1
    weights = tensors(prefix=f"{family}.", segments=segments, labels=len(labels))
    save_file(weights, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    config |= {
        "model_type": family,
        "architectures": [f"{family.title()}ForSequenceClassification"],
        "id2label": {str(number): label for number, label in enumerate(labels)},
        "type_vocab_size": segments,
        "pad_token_id": 1,
    }
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def write_tokenizer(path: Path) -> None:
    tokenizer = Tokenizer(models.WordPiece({word: index for index, word in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.enable_padding(length=20)  # as published files do; the encoder must override it
    tokenizer.save(str(path))


def forward(weights: dict[str, NDArray[Any]], ids: list[int], *, pooling: str, offset: int = 0) -> NDArray[np.float64]:
    """BERT on one text (Devlin et al. 2018), pooled and normalised, in float64."""
    x = states(weights, ids, [0] * len(ids), offset=offset)
    pooled = x[0] if pooling == "cls" else x.mean(0)
    return np.asarray(pooled / np.linalg.norm(pooled))


def classify(
    weights: dict[str, NDArray[Any]], ids: list[int], segments: list[int], *, family: str
) -> NDArray[np.float64]:
    """The logits of one pair."""
    inner, outer = {"bert": ("pooler.dense", "classifier"), "roberta": ("classifier.dense", "classifier.out_proj")}[
        family
    ]
    w = {name.removeprefix(f"{family}."): value.astype(np.float64) for name, value in weights.items()}
    x = states(w, ids, segments, offset=2 if family == "roberta" else 0)
    pooled = np.tanh(w[f"{inner}.weight"] @ x[0] + w[f"{inner}.bias"])
    return np.asarray(w[f"{outer}.weight"] @ pooled + w[f"{outer}.bias"])


def states(
    weights: dict[str, NDArray[Any]], ids: list[int], segments: list[int], *, offset: int
) -> NDArray[np.float64]:
    """The last hidden states of one text or pair."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}

    def norm(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return np.asarray(scaled * w[f"{name}.weight"] + w[f"{name}.bias"])

    def linear(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return np.asarray(x @ w[f"{name}.weight"].T + w[f"{name}.bias"])

    positions = w["embeddings.position_embeddings.weight"][offset : offset + len(ids)]
    x = w["embeddings.word_embeddings.weight"][ids] + positions
    x = norm(x + w["embeddings.token_type_embeddings.weight"][segments], "embeddings.LayerNorm")
    size = HIDDEN // HEADS
    for layer in range(LAYERS):
        base = f"encoder.layer.{layer}."
        query, key, value = (linear(x, f"{base}attention.self.{name}") for name in ("query", "key", "value"))
        heads = []
        for head in range(HEADS):
            part = slice(head * size, (head + 1) * size)
            logits = query[:, part] @ key[:, part].T / math.sqrt(size)
            weights_ = np.exp(logits - logits.max(-1, keepdims=True))
            heads.append(weights_ / weights_.sum(-1, keepdims=True) @ value[:, part])
        x = norm(
            linear(np.concatenate(heads, -1), f"{base}attention.output.dense") + x, f"{base}attention.output.LayerNorm"
        )
        inner = linear(x, f"{base}intermediate.dense")
        inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        x = norm(linear(inner, f"{base}output.dense") + x, f"{base}output.LayerNorm")
    return x
