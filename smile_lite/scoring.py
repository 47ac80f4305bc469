"""The formulas of SMILE over arrays: numbers in, numbers out. Knows neither text nor rows nor files.

Source: arXiv 2511.17432, section 3. Its equation (3) prints an extra outer 1/2, with which no score could pass 0.5
although the paper states a range of [0, 1]; it is left out here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "BINS",
    "bin_index",
    "combine",
    "cosine",
    "harmonic_mean",
    "lexical",
    "segmented_max",
    "shifted",
]

BINS = 6


def cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float64]:
    """Cosine of each row of `a` with the same row of `b`: [n, d], [n, d] -> [n], in [-1, 1].

    Computed in float64 and normalised again, so that a row with itself gives exactly 1. A row of zeros gives 0.
    """
    x, y = a.astype(np.float64), b.astype(np.float64)
    squared = (x * x).sum(axis=1) * (y * y).sum(axis=1)
    dot = (x * y).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(squared > 0, dot / np.sqrt(squared), 0.0)
    return np.clip(value, -1.0, 1.0)


def shifted(cosines: NDArray[np.float64]) -> NDArray[np.float64]:
    """The paper's sim(a, b) = (1 + cos(a, b)) / 2, in [0, 1]."""
    return (1.0 + cosines) / 2.0


def lexical(exact: NDArray[np.float64], ngram_similarity: NDArray[np.float64]) -> NDArray[np.float64]:
    """s_l = (EM + max_i sim(e(N_i[y]), e(y*))) / 2."""
    return (exact + ngram_similarity) / 2.0


def combine(semantic: NDArray[np.float64], lexical_part: NDArray[np.float64], weight: float) -> NDArray[np.float64]:
    """S = w s_s + (1 - w) s_l, clamped to [0, 1] against float error."""
    return np.clip(weight * semantic + (1.0 - weight) * lexical_part, 0.0, 1.0)


def harmonic_mean(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """2ab / (a + b), and 0 where either part is not positive (where it has no meaning, or none that ranks)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((a > 0) & (b > 0), 2.0 * a * b / (a + b), 0.0)


def segmented_max(
    values: NDArray[np.float64], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The maximum of each `values[offsets[i]:offsets[i + 1]]` and its index in `values`; the first one where several
    tie.

    offsets: [n + 1], rising, from 0 to len(values). An empty segment gives -inf and index -1.
    """
    count = len(offsets) - 1
    best = np.full(count, -np.inf)
    where = np.full(count, -1, dtype=np.int64)
    filled = np.flatnonzero(np.diff(offsets))
    if filled.size:
        starts = offsets[filled]
        best[filled] = np.maximum.reduceat(values, starts)
        segment = np.repeat(np.arange(count), np.diff(offsets))
        hits = np.flatnonzero(values == best[segment])
        # Backwards, so that of several hits in a segment the first is written last.
        where[segment[hits[::-1]]] = hits[::-1]
    return best, where


def bin_index(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Six bins of equal width: min(5, floor(6 s)). The paper calls bin 4 and 5 (s >= 2/3) correct."""
    return np.minimum(BINS - 1, np.floor(BINS * scores)).astype(np.int64)
