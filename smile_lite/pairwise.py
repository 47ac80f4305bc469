"""A plan and an encoder into the similarities of every pair; where memory is kept linear in the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from smile_lite.scoring import cosine, segmented_max, shifted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smile_lite.encoder import Encoder
    from smile_lite.plan import Plan

__all__ = ["Similarities", "measure"]

_TEXTS_PER_BLOCK = 2048  # n-grams whose vectors are held at once
_ENTRIES_PER_BLOCK = 4096  # vector pairs widened to float64 at once


@dataclass(frozen=True, slots=True)
class Similarities:
    """For each of P pairs: `semantic` (the best phrasing and window), `ngram` (the best n-gram; 1 for a hit), and
    `position`, the word of the prediction at which that n-gram begins.
    """

    semantic: NDArray[np.float64]
    ngram: NDArray[np.float64]
    position: NDArray[np.int64]


def measure(plan: Plan, encoder: Encoder, *, shift: bool) -> Similarities:
    """Encode the plan's texts, each once, and compare. `shift`: (1 + cos) / 2 as in the paper, else the raw cosine.

    Sentences and references are encoded first and held; n-grams come in blocks and are dropped when they have been
    compared.
    """
    held = encoder.encode(plan.texts[: plan.kept])
    wholes, offset = _whole_cosines(plan, held)
    grams = _gram_cosines(plan, encoder, held)
    best_phrasing, _ = segmented_max(wholes, offset)
    best_gram, index = segmented_max(grams, plan.gram_offset)
    hit = plan.hit >= 0
    best_gram = np.where(hit, 1.0, best_gram)
    position = plan.hit.copy()
    position[~hit] = plan.gram_start[index[~hit]]
    if shift:
        best_phrasing, best_gram = shifted(best_phrasing), shifted(best_gram)
    return Similarities(best_phrasing, best_gram, position)


def _whole_cosines(plan: Plan, held: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The cosine of every phrasing of a pair with every whole of its row, and where those of a pair begin: [P+1]."""
    row = np.repeat(plan.pair_row, np.diff(plan.phrasing_offset))
    count = np.diff(plan.whole_offset)[row]
    end = np.cumsum(count)
    within = np.arange(count.sum()) - np.repeat(end - count, count)
    whole = plan.whole_text[np.repeat(plan.whole_offset[row], count) + within]
    cosines = _compare(held, whole, held, np.repeat(plan.phrasing_text, count))
    return cosines, np.concatenate(([0], end))[plan.phrasing_offset]


def _gram_cosines(plan: Plan, encoder: Encoder, held: NDArray[np.float32]) -> NDArray[np.float64]:
    """The cosine of every n-gram with the reference of its pair: [G]."""
    pair = np.repeat(np.arange(len(plan.pair_reference)), np.diff(plan.gram_offset))
    reference = plan.pair_reference[pair]
    cosines = np.empty(len(pair), dtype=np.float64)
    order = np.argsort(plan.gram_text, kind="stable")
    text = plan.gram_text[order]
    known = order[: np.searchsorted(text, plan.kept)]
    cosines[known] = _compare(held, plan.gram_text[known], held, reference[known])
    for start in range(plan.kept, len(plan.texts), _TEXTS_PER_BLOCK):
        stop = min(start + _TEXTS_PER_BLOCK, len(plan.texts))
        block = encoder.encode(plan.texts[start:stop])
        entries = order[np.searchsorted(text, start) : np.searchsorted(text, stop)]
        cosines[entries] = _compare(block, plan.gram_text[entries] - start, held, reference[entries])
    return cosines


def _compare(
    a: NDArray[np.float32], rows_a: NDArray[np.int64], b: NDArray[np.float32], rows_b: NDArray[np.int64]
) -> NDArray[np.float64]:
    result = np.empty(len(rows_a), dtype=np.float64)
    for start in range(0, len(rows_a), _ENTRIES_PER_BLOCK):
        part = slice(start, start + _ENTRIES_PER_BLOCK)
        result[part] = cosine(a[rows_a[part]], b[rows_b[part]])
    return result
