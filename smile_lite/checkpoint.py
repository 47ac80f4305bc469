"""A checkpoint folder in sentence-transformers' layout, read into a manifest: shape, pooling and length from its own
files.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Literal, cast

from smile_lite.errors import ModelError, ModelUnavailable
from smile_lite.manifest import Architecture, Encoding, FileSpec, Head, Manifest, Source

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["architecture_from_config", "encoding_from_checkpoint", "head_from_config", "manifest_from_checkpoint"]

_FAMILIES = ("bert", "roberta", "xlm-roberta")
_FILES = ("model.safetensors", "tokenizer.json")
_POOLING_FLAGS: dict[str, Literal["cls", "mean"]] = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
}


def manifest_from_checkpoint(folder: Path, *, pooling: str | None = None) -> Manifest:
    """Describe the checkpoint in `folder`. `pooling` ("cls" or "mean") stands in where the folder does not state it.

    A checkpoint for sequence classification is a pair scorer: its labels and length come from its own files.

    Raises ModelUnavailable where a file is missing, ModelError where the folder states no pooling (guessing would
    change every score) or holds something the converter does not know.
    """
    config = _read(folder / "config.json", dict)
    architecture = architecture_from_config(config)
    head = head_from_config(config)
    if head is None:
        encoding = encoding_from_checkpoint(folder, architecture, pooling=pooling)
    else:
        encoding = Encoding(pooling="cls", normalise=False, max_tokens=_pair_length(folder, architecture))
    return Manifest(
        name=re.sub(r"[^a-z0-9.-]+", "-", folder.resolve().name.lower()).strip("-.") or "local",
        title=f"local checkpoint {folder.resolve().name}",
        licence="unknown",
        architecture=architecture,
        encoding=encoding,
        files={name: FileSpec() for name in _FILES},
        sources=(
            Source(
                kind="folder", location=str(folder.resolve()), files={name: name for name in _FILES}, revision="local"
            ),
        ),
        precisions=("fp32", "int8", "int8-token"),
        head=head,
    )


def architecture_from_config(config: Mapping[str, Any]) -> Architecture:
    """The shape in a config.json. Raises ModelError for a family or position embedding that is not BERT's."""
    family = config.get("model_type")
    if family not in _FAMILIES:
        raise ModelError(
            f"model_type {family!r} cannot be converted without torch: only {', '.join(_FAMILIES)} can "
            "(`smile-lite export encoder --via optimum` converts others)"
        )
    if config.get("position_embedding_type") not in (None, "absolute"):
        raise ModelError(f"position_embedding_type {config['position_embedding_type']!r} is not supported")
    try:
        return Architecture(
            family=family,
            layers=config["num_hidden_layers"],
            hidden_size=config["hidden_size"],
            heads=config["num_attention_heads"],
            intermediate_size=config["intermediate_size"],
            vocabulary_size=config["vocab_size"],
            max_positions=config["max_position_embeddings"],
            layer_norm_eps=config.get("layer_norm_eps", 1e-12),
            activation=config.get("hidden_act", "gelu"),
            position_offset=0 if family == "bert" else config.get("pad_token_id", 1) + 1,
            segments=config.get("type_vocab_size", 2),
        )
    except KeyError as error:
        raise ModelError(f"config.json: the key {error.args[0]!r} is missing") from None


def head_from_config(config: Mapping[str, Any]) -> Head | None:
    """The labels of a checkpoint for sequence classification, in the order of its logits; None for an encoder."""
    if not any(str(name).endswith("ForSequenceClassification") for name in config.get("architectures") or ()):
        return None
    names = {int(number): str(label) for number, label in (config.get("id2label") or {}).items()}
    labels = tuple(names[number] for number in sorted(names)) or ("relevant",)
    return Head(labels=labels, activation="sigmoid" if len(labels) == 1 else "softmax")


def _pair_length(folder: Path, architecture: Architecture) -> int:
    longest = architecture.max_positions - architecture.position_offset
    stated = folder / "tokenizer_config.json"
    length = _read(stated, dict).get("model_max_length") if stated.is_file() else None
    # Files without a limit carry 1e30 in its place.
    return int(min(longest, length)) if isinstance(length, (int, float)) and length > 2 else longest


def encoding_from_checkpoint(folder: Path, architecture: Architecture, *, pooling: str | None = None) -> Encoding:
    """Pooling, length and default prompt as sentence-transformers' files state them.

    Raises ModelError where they state no pooling, or a module (Dense, ...) that a graph made here would leave out.
    """
    modules = _read(folder / "modules.json", list) if (folder / "modules.json").is_file() else []
    kinds = {str(module.get("type", "")).rpartition(".")[2]: module for module in modules}
    if lost := sorted(kinds.keys() - {"Transformer", "Pooling", "Normalize"}):
        raise ModelError(f"{folder}: modules.json lists {', '.join(lost)}, which a graph made here would leave out")
    chosen = pooling or _pooling_of(folder, str(kinds.get("Pooling", {}).get("path", "1_Pooling")))
    if chosen not in ("cls", "mean"):
        raise ModelError(
            f"{folder}: neither modules.json nor 1_Pooling/config.json states a pooling known here (cls, mean); "
            "state it with --pooling"
        )
    length = architecture.max_positions - architecture.position_offset
    if (folder / "sentence_bert_config.json").is_file():
        length = min(length, _read(folder / "sentence_bert_config.json", dict).get("max_seq_length") or length)
    # A cosine does not see the length of a vector, so normalising never changes a score: always unit rows.
    return Encoding(
        pooling=cast("Literal['cls', 'mean']", chosen),
        normalise=True,
        max_tokens=length,
        prefix=_default_prompt(folder),
    )


def _default_prompt(folder: Path) -> str:
    """What sentence-transformers puts before every text unless it is told otherwise."""
    stated = folder / "config_sentence_transformers.json"
    prompts = _read(stated, dict) if stated.is_file() else {}
    default = prompts.get("default_prompt_name")
    return str((prompts.get("prompts") or {}).get(default, "")) if default else ""


def _pooling_of(folder: Path, path: str) -> str | None:
    config = folder / path / "config.json"
    if not config.is_file():
        return None
    raw = _read(config, dict)
    stated = [name for name, value in raw.items() if name.startswith("pooling_mode") and value is True]
    if isinstance(raw.get("pooling_mode"), str):
        return str(raw["pooling_mode"])
    return _POOLING_FLAGS.get(stated[0]) if len(stated) == 1 else None


def _read(path: Path, kind: type) -> Any:
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelUnavailable(f"{path.parent}: {path.name} is missing, so this is no checkpoint folder") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: this is not JSON: {error}") from None
    if not isinstance(read, kind):
        raise ModelError(f"{path}: it holds {type(read).__name__}, not {kind.__name__}")
    return read
