"""What must be encoded, and which row needs which: texts into one table of unique ones, rows into index arrays.

A pair is a row with one of its references. The reference's words standing in the prediction make a hit: an n-gram
equals the reference, the maximum of the n-gram similarity is 1 by definition, and none of the pair's n-grams is
encoded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["PairTask", "Plan", "RowTask", "build_plan"]


@dataclass(frozen=True, slots=True)
class PairTask:
    """One reference of a row, already in words.

    reference: its text as n-grams are compared with it. phrasings: the texts the prediction is compared with as a
    whole (the synthetic answer, or what stands in for it). exact: the exact-match part, in [0, 1]. hit: the word of
    the prediction at which the reference stands, or -1. ngrams: the prediction's, empty where there is a hit; starts:
    the word at which each begins.
    """

    reference: str
    phrasings: tuple[str, ...]
    exact: float
    hit: int
    ngrams: Sequence[str]
    starts: Sequence[int]


@dataclass(frozen=True, slots=True)
class RowTask:
    """One row that can be scored: its prediction as a sentence, or the windows of a long one, and its pairs."""

    wholes: tuple[str, ...]
    pairs: tuple[PairTask, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Index arrays over `texts`, of which the first `kept` are sentences and references and the rest only n-grams.

    Shapes: R rows, W wholes (predictions or windows of them), P pairs, S phrasings, G n-grams (repeats of a text
    counted). whole_offset[R+1] holds the wholes of a row, row_offset[R+1] its pairs, phrasing_offset[P+1] the
    phrasings of a pair, gram_offset[P+1] its n-grams, in the order of the prediction; gram_start[G] is the word at
    which one begins. A pair with a hit has no n-grams and no reference (-1): neither is
    needed.
    """

    texts: tuple[str, ...]
    kept: int
    whole_text: NDArray[np.int64]
    whole_offset: NDArray[np.int64]
    row_offset: NDArray[np.int64]
    pair_row: NDArray[np.int64]
    pair_reference: NDArray[np.int64]
    exact: NDArray[np.float64]
    hit: NDArray[np.int64]
    phrasing_text: NDArray[np.int64]
    phrasing_offset: NDArray[np.int64]
    gram_text: NDArray[np.int64]
    gram_start: NDArray[np.int64]
    gram_offset: NDArray[np.int64]


def build_plan(rows: Iterable[RowTask]) -> Plan:
    """Number the unique texts of `rows` and lay out who needs which. Linear in the words of the rows."""
    tasks = list(rows)
    pairs = [(index, pair) for index, row in enumerate(tasks) for pair in row.pairs]
    number: dict[str, int] = {}

    def add(text: str) -> int:
        return number.setdefault(text, len(number))

    whole_text = [add(text) for row in tasks for text in row.wholes]
    phrasing_text = [add(text) for _, pair in pairs for text in pair.phrasings]
    pair_reference = [add(pair.reference) if pair.hit < 0 else -1 for _, pair in pairs]
    kept = len(number)
    gram_text = [add(text) for _, pair in pairs for text in pair.ngrams]
    return Plan(
        texts=tuple(number),
        kept=kept,
        whole_text=_integers(whole_text),
        whole_offset=_offsets(len(row.wholes) for row in tasks),
        row_offset=_offsets(len(row.pairs) for row in tasks),
        pair_row=_integers([index for index, _ in pairs]),
        pair_reference=_integers(pair_reference),
        exact=np.array([pair.exact for _, pair in pairs], dtype=np.float64),
        hit=_integers([pair.hit for _, pair in pairs]),
        phrasing_text=_integers(phrasing_text),
        phrasing_offset=_offsets(len(pair.phrasings) for _, pair in pairs),
        gram_text=_integers(gram_text),
        gram_start=_integers([start for _, pair in pairs for start in pair.starts]),
        gram_offset=_offsets(len(pair.ngrams) for _, pair in pairs),
    )


def _integers(values: list[int]) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def _offsets(lengths: Iterable[int]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(np.array(list(lengths), dtype=np.int64)))).astype(np.int64)
