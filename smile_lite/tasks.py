"""From a row to what the plan needs of it, under one of two profiles: the paper's equations, or what its code
computes.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from smile_lite.plan import PairTask, RowTask
from smile_lite.text import Words, find, join, ngrams, published_words, sentence, split_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from smile_lite.rows import Row

__all__ = ["PROFILES", "Exact", "Profile", "paper_task", "published_task", "reference_words"]

Exact = Literal["contain", "strict", "fraction", "off"]

_ARTICLES = frozenset({"a", "an", "the"})


@dataclass(frozen=True, slots=True)
class Profile:
    """Which variant of the metric is computed. `exacts`: the exact matches it knows, its default first."""

    name: str
    weight: float
    exacts: tuple[Exact, ...]
    words: str
    shifted: bool


PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        "paper": Profile("paper", weight=0.3, exacts=("contain", "strict"), words="v1", shifted=True),
        "reference": Profile("reference", weight=0.5, exacts=("off", "fraction"), words="published", shifted=False),
    }
)


def reference_words(reference: str) -> Words:
    """The words of a reference, without an English article in front: "the White House" stands in "White House staff".

    A reference that is nothing but an article keeps it (the answer "A" of a multiple choice).
    """
    words = split_words(reference)
    if len(words) > 1 and words.keys[0] in _ARTICLES:
        return Words(words.text, words.keys[1:], words.starts[1:], words.ends[1:])
    return words


def paper_task(row: Row, prediction: Words, references: Mapping[int, Words], exact: Exact) -> RowTask:
    """The row under the paper's equations. `references`: the words of those of its references that are not blank.

    `exact` "contain": 1 where the reference's words stand in the prediction in a row; "strict": 1 where they are all
    of it.
    """
    by_size: dict[int, list[str]] = {}
    pairs = []
    for index, reference in references.items():
        hit = find(reference.keys, prediction.keys)
        size = len(reference)
        if hit < 0 and size not in by_size:
            by_size[size] = ngrams(prediction.keys, size)
        matched = hit >= 0 and (exact == "contain" or _same_words(reference, prediction))
        pairs.append(
            PairTask(
                reference=join(reference.keys),
                phrasings=_phrasings(row, index),
                exact=float(matched),
                hit=hit,
                ngrams=() if hit >= 0 else by_size[size],
            )
        )
    return RowTask(prediction=sentence(prediction.text), pairs=tuple(pairs))


def published_task(
    row: Row, prediction: str, references: Mapping[int, str], exact: Exact, lemma: Callable[[str], str]
) -> RowTask:
    """The row as the published code treats it: words stripped of punctuation and lemmatised, word-fraction exact
    match.
    """
    words = published_words(prediction, lemma)
    pairs = []
    for index, reference in references.items():
        wanted = published_words(reference, lemma)
        hit = find(wanted, words)
        overlap = len(set(wanted) & set(words)) / len(wanted) if wanted else 0.0
        pairs.append(
            PairTask(
                reference=" ".join(wanted),
                phrasings=_phrasings(row, index),
                exact=overlap if exact == "fraction" else 0.0,
                hit=hit,
                ngrams=() if hit >= 0 or not wanted else _plain_ngrams(words, len(wanted)),
            )
        )
    return RowTask(prediction=sentence(prediction), pairs=tuple(pairs))


def _plain_ngrams(words: Sequence[str], size: int) -> list[str]:
    return [" ".join(words[start : start + size]) for start in range(max(1, len(words) - size + 1))]


def _same_words(reference: Words, prediction: Words) -> bool:
    return reference.keys in (prediction.keys, reference_words(prediction.text).keys)


def _phrasings(row: Row, index: int) -> tuple[str, ...]:
    """What the prediction as a whole is compared with: the synthetic answer, or where there is none the reference alone
    and the reference behind the question, whichever is nearer.
    """
    synthetic = row.synthetic[index] if index < len(row.synthetic) else None
    if synthetic is not None and sentence(synthetic):
        return (sentence(synthetic),)
    alone = sentence(row.references[index])
    question = sentence(row.question or "")
    return (alone, f"{question} {alone}") if question else (alone,)
