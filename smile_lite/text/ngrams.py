"""N-grams of words, and where words stand in a row. Keys in, keys or places out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from smile_lite.text.scripts import UNSPACED, UNSPACED_MARKS

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LONGEST_NGRAM", "find", "join", "ngram_starts", "ngrams"]

LONGEST_NGRAM = 512  # words of an n-gram that are compared: encoders of this family read no more tokens than that
_BETWEEN_WORDS = "\x00"
_INNER_SPACE = re.compile(f"(?<=[{UNSPACED}{UNSPACED_MARKS}]) (?=[{UNSPACED}])")


def join(keys: Sequence[str]) -> str:
    """The text of an n-gram: its words with one space between, and none inside a script written without spaces."""
    text = " ".join(keys)
    return text if text.isascii() else _INNER_SPACE.sub("", text)


def ngrams(keys: Sequence[str], n: int) -> list[str]:
    """Every run of `n` words as text, in order, repeats kept; the whole of `keys` where it is shorter than `n`.

    (SMILE, arXiv 2511.17432, section 3: N_i[y].) They begin at `ngram_starts`. Raises ValueError for n < 1.
    """
    starts = ngram_starts(len(keys), n)
    return list(keys) if n == 1 else [join(keys[start : start + min(n, LONGEST_NGRAM)]) for start in starts]


def ngram_starts(count: int, n: int) -> Sequence[int]:
    """The word at which each n-gram of a text of `count` words begins: every one, up to n = 127.

    Longer n-grams begin at every second word, every third from 192, and so on (n // 64), and at the last place, so
    that a long reference costs what is linear in the prediction; neighbours of that length differ in one word of a
    hundred. Raises ValueError for n < 1.
    """
    if n < 1:
        raise ValueError(f"an n-gram has at least one word, not {n}")
    last = max(0, count - n)
    step = max(1, n // 64)
    return range(last + 1) if step == 1 else [*range(0, last, step), last]


def find(needle: Sequence[str], haystack: Sequence[str]) -> int:
    """The index in `haystack` at which the words of `needle` stand in a row, or -1. Linear in both."""
    if not needle or len(needle) > len(haystack):
        return -1
    edge = _BETWEEN_WORDS
    text = f"{edge}{edge.join(haystack)}{edge}"
    at = text.find(f"{edge}{edge.join(needle)}{edge}")
    return -1 if at < 0 else text.count(edge, 0, at)
