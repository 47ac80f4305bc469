"""The tensors of a safetensors file: what they are called, where each lies in the file, what is in it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from smile_lite.errors import ModelError
from smile_lite.extras import require

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from smile_lite.manifest import Architecture, Manifest

__all__ = ["CheckpointFile", "save_tensors"]

_PREFIXES = ("", "bert.", "roberta.", "model.", "0.auto_model.")  # what other exports put before BERT's own names
_WIDTHS = {"F32": np.float32, "F16": np.float16, "BF16": np.uint16, "I8": np.int8}


class CheckpointFile:
    """Tensors by their BERT name. Raises ModelError for what is not safetensors, or holds no BERT encoder."""

    def __init__(self, path: Path) -> None:
        safetensors = require("safetensors", extra="convert", purpose="converting a model")
        self.name = path.name
        self.path = path
        try:
            with safetensors.safe_open(path, "numpy"):
                pass  # validates the header: names, shapes, bounds, no overlap
            with path.open("rb") as stream:
                length = int.from_bytes(stream.read(8), "little")
                header = json.loads(stream.read(length))
        except (OSError, ValueError, safetensors.SafetensorError) as error:
            raise ModelError(f"{path}: this is not safetensors: {error}") from None
        header.pop("__metadata__", None)
        probe = "embeddings.LayerNorm.weight"
        prefix = next((prefix for prefix in _PREFIXES if prefix + probe in header), None)
        if prefix is None:
            raise ModelError(f"{path}: there is no tensor {probe}, so this is no BERT encoder")
        self._start = 8 + length
        self._entries: dict[str, Any] = {
            name.removeprefix(prefix): entry for name, entry in header.items() if entry["dtype"] in _WIDTHS
        }

    @property
    def names(self) -> list[str]:
        """The names of its tensors."""
        return list(self._entries)

    @property
    def is_half_precision(self) -> bool:
        """Whether any tensor is stored in 16 bits."""
        return any(entry["dtype"] in ("F16", "BF16") for entry in self._entries.values())

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor."""
        return tuple(self._entry(name)["shape"])

    def is_int8(self, name: str) -> bool:
        """Whether a tensor is stored as int8."""
        return bool(self._entry(name)["dtype"] == "I8")

    def place(self, name: str) -> tuple[int, int]:
        """(offset, length) of a tensor in the file, in bytes."""
        begin, end = self._entry(name)["data_offsets"]
        return self._start + begin, end - begin

    def read(self, name: str) -> NDArray[np.float32]:
        """A tensor in float32."""
        offset, length = self.place(name)
        with self.path.open("rb") as stream:
            stream.seek(offset)
            raw = stream.read(length)
        kind = self._entry(name)["dtype"]
        if kind == "BF16":  # the upper half of a float32
            values = (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32)
        else:
            values = np.frombuffer(raw, _WIDTHS[kind]).astype(np.float32)
        return values.reshape(self.shape(name))

    def check_shapes(self, manifest: Manifest, shape: Architecture) -> None:
        """Raises ModelError where the tensors are not those of the BERT that `manifest` describes."""
        for name, wanted in _expected_shapes(shape).items():
            if self.shape(name) != wanted:
                raise ModelError(
                    f"{self.path}: {name} has the shape {self.shape(name)}, not {wanted} as {manifest.name} states"
                )
        layers = shape.layers
        if f"encoder.layer.{layers}.output.dense.weight" in self._entries:
            raise ModelError(f"{self.path}: it has more than the {layers} layers that {manifest.name} states")

    def _entry(self, name: str) -> Any:
        if name not in self._entries:
            raise ModelError(f"{self.path}: the tensor {name} is missing")
        return self._entries[name]


def save_tensors(tensors: Mapping[str, NDArray[Any]], target: Path) -> None:
    """Write a safetensors file (its own writer would leave one that only its owner can read)."""
    serialise = require("safetensors.numpy", extra="convert", purpose="converting a model").save
    target.write_bytes(serialise(dict(tensors)))


def _expected_shapes(shape: Architecture) -> Mapping[str, tuple[int, ...]]:
    hidden, inner = shape.hidden_size, shape.intermediate_size
    expected = {
        "embeddings.word_embeddings.weight": (shape.vocabulary_size, hidden),
        "embeddings.position_embeddings.weight": (shape.max_positions, hidden),
    }
    for layer in range(shape.layers):
        base = f"encoder.layer.{layer}."
        expected[f"{base}attention.self.query.weight"] = (hidden, hidden)
        expected[f"{base}intermediate.dense.weight"] = (inner, hidden)
        expected[f"{base}output.dense.weight"] = (hidden, inner)
    return expected
