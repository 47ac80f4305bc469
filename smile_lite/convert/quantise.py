"""Weights into int8: one scale an output channel, embedding tables one a row, and the smoothing of activations.

Smoothing: Xiao et al. 2022, SmoothQuant (arXiv 2211.10438), equation (4): an input channel j is divided by
max|X_j|^a / max|W_j|^(1-a), and its weights are multiplied by it, so that outliers of single channels do not
use up a token's range. For the attention output the division goes into the value projection, for the others it is a
product.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from smile_lite.convert.forms import site_of, stays_float

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smile_lite.convert.checkpoint_file import CheckpointFile

__all__ = ["quantise_for_tokens", "quantise_weights", "smoothing_factors"]

Tensors = dict[str, "NDArray[Any]"]
Factors = Mapping[str, "NDArray[np.float32]"]
_WORDS = "embeddings.word_embeddings.weight"


def quantise_weights(checkpoint: CheckpointFile, factors: Factors, positions: int) -> Tensors:
    """The tensors of `checkpoint` with every linear weight and the word table in int8, one scale a row.

    Linear weights are multiplied by `factors` (site -> one factor an input channel) before they are rounded, and
    divided again when they are widened: so the error lies where activations are small (AWQ's idea, arXiv 2306.00978).
    `positions`: so many rows of the position table are kept.
    """
    tensors: Tensors = {}
    for name in _used(checkpoint):
        values = _needed(checkpoint, name, positions)
        if name == _WORDS:
            tensors[name], tensors[f"{name}.scale"] = _by_row(values)
        elif _is_linear(name):
            tensors |= _smoothed(name, values, factors)
        else:
            tensors[name] = values
    return tensors


def quantise_for_tokens(checkpoint: CheckpointFile, factors: Factors, positions: int) -> Tensors:
    """As `quantise_weights`, but laid out for integer products where the form does them: weights transposed to [k, m],
    with their scales [m] and their scaled column sums [m].
    """
    tensors = quantise_weights(checkpoint, factors, positions)
    for name in [name for name in _used(checkpoint) if _is_linear(name)]:
        layer = name.removesuffix(".weight")
        if stays_float(layer):
            continue
        values = checkpoint.read(name) * factors[site_of(layer)]
        if layer.endswith("attention.self.value"):  # what divides the input of the attention output is folded in here
            divisor = factors[f"{layer.removesuffix('self.value')}output.dense"]
            values /= divisor[:, None]
            tensors[f"{layer}.bias"] = tensors[f"{layer}.bias"] / divisor
        if layer.endswith("attention.output.dense"):
            del tensors[f"{layer}.smoothing"]
        quantised, scale = _by_row(values)
        tensors[name] = np.ascontiguousarray(quantised.T)
        tensors[f"{name}.scale"] = scale[:, 0]
        tensors[f"{name}.columns"] = (quantised.sum(axis=1, dtype=np.int64) * scale[:, 0]).astype(np.float32)
    return tensors


def _smoothed(name: str, values: NDArray[np.float32], factors: Factors) -> Tensors:
    site = site_of(name.removesuffix(".weight"))
    quantised, scale = _by_row(values * factors[site])
    return {name: quantised, f"{name}.scale": scale, f"{site}.smoothing": (1 / factors[site]).astype(np.float32)}


def _used(checkpoint: CheckpointFile) -> list[str]:
    """The tensors that a graph takes: no head of another task, and no pooler where there is no classifier behind it."""
    parts = ["embeddings.", "encoder."]
    if any(name.startswith("classifier.") for name in checkpoint.names):
        parts += ["pooler.", "classifier."]
    return [name for name in checkpoint.names if name.startswith(tuple(parts))]


def _needed(checkpoint: CheckpointFile, name: str, positions: int) -> NDArray[np.float32]:
    """A tensor, without the positions that no text of the model's length reaches."""
    values = checkpoint.read(name)
    return values[:positions] if name == "embeddings.position_embeddings.weight" else values


def smoothing_factors(checkpoint: CheckpointFile, largest: Factors, alpha: float) -> dict[str, NDArray[np.float32]]:
    """One factor an input channel of each site, from the largest absolute activations seen there (site -> [k])."""
    weights: dict[str, list[NDArray[np.float32]]] = {}
    for name in checkpoint.names:
        if _is_linear(name):
            weights.setdefault(site_of(name.removesuffix(".weight")), []).append(
                np.abs(checkpoint.read(name)).max(axis=0)
            )
    factors = {}
    for site, maxima in weights.items():
        heaviest = np.maximum.reduce(maxima)
        factor = np.maximum(largest[site], 1e-5) ** alpha / np.maximum(heaviest, 1e-5) ** (1 - alpha)
        factors[site] = np.clip(factor, 1e-3, 1e3).astype(np.float32)
    return factors


def _is_linear(name: str) -> bool:
    return name.startswith("encoder.") and name.endswith(".weight") and "LayerNorm" not in name


def _by_row(values: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    scale = np.maximum(np.abs(values).max(axis=1, keepdims=True), 1e-12) / 127
    return np.clip(np.round(values / scale), -127, 127).astype(np.int8), scale.astype(np.float32)
