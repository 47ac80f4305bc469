"""From a row to what the plan needs of it, under one of two profiles: the paper's equations, or what its code
computes.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from smile_lite.errors import UsageError
from smile_lite.plan import PairTask, RowTask
from smile_lite.text import (
    LONGEST_NGRAM,
    WORDS_VERSION,
    Words,
    find,
    join,
    ngram_starts,
    ngrams,
    sentence,
    split_words,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from smile_lite.rows import Row

__all__ = [
    "PROFILES",
    "Exact",
    "Profile",
    "paper_task",
    "profile_named",
    "published_task",
    "reference_side",
    "reference_words",
]

Exact = Literal["contain", "strict", "fraction", "off"]

_ARTICLES = frozenset({"a", "an", "the"})
_PRONOUNS = frozenset(["i", "it", "one", "other", "others", "same", "they", "them", "us", "we", "what", "which", "who"])


@dataclass(frozen=True, slots=True)
class Profile:
    """Which variant of the metric is computed. `exacts`: the exact matches it knows, its default first."""

    name: str
    weight: float
    exacts: tuple[Exact, ...]
    words: str
    shifted: bool

    def exact_match(self, name: str | None) -> Exact:
        """The exact match of a name; its default for None. Raises UsageError for one that the profile does not know."""
        if name is None:
            return self.exacts[0]
        for exact in self.exacts:
            if exact == name:
                return exact
        known = " and ".join(self.exacts)
        raise UsageError(f"profile {self.name!r} knows no exact match {name!r}: there are {known}")


PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        "paper": Profile("paper", weight=0.3, exacts=("contain", "strict"), words=WORDS_VERSION, shifted=True),
        "reference": Profile("reference", weight=0.5, exacts=("off", "fraction"), words="published", shifted=False),
    }
)


def profile_named(name: str) -> Profile:
    """Raises UsageError for a profile that does not exist."""
    if name not in PROFILES:
        raise UsageError(f"no profile is called {name!r}: there are {' and '.join(PROFILES)}")
    return PROFILES[name]


def reference_words(reference: str) -> Words:
    """The words of a reference, without an English article in front: "the White House" stands in "White House staff".

    The article stays where it may be the answer, or part of a name: alone ("A"), as a capital letter ("A positive"),
    before nothing but words such as "who" ("The Who").
    """
    words = split_words(reference)
    written = reference[words.starts[0] : words.ends[0]] if len(words) > 1 else ""
    if written in _ARTICLES or (written == "The" and not set(words.keys[1:]) <= _PRONOUNS):
        return Words(words.text, words.keys[1:], words.starts[1:], words.ends[1:])
    return words


def paper_task(
    row: Row, prediction: Words, references: Mapping[int, Words], exact: Exact, wholes: tuple[str, ...] = ()
) -> RowTask:
    """The row under the paper's equations. `references`: the words of those of its references that are not blank.

    `exact` "contain": 1 where the reference's words stand in the prediction in a row; "strict": 1 where they are all
    of it. `wholes`: the windows of a long prediction; without them it is one.
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
                reference=join(reference.keys[:LONGEST_NGRAM]),
                phrasings=_phrasings(row, index),
                exact=float(matched),
                hit=hit,
                ngrams=() if hit >= 0 else by_size[size],
                starts=() if hit >= 0 else ngram_starts(len(prediction), size),
            )
        )
    return RowTask(wholes=wholes or (sentence(prediction.text),), pairs=tuple(pairs))


def reference_side(row: Row) -> list[str]:
    """The texts of the row that do not depend on its prediction: each reference as n-grams are compared with it, and
    what predictions are compared with as wholes.
    """
    texts = []
    for index, reference in enumerate(row.references):
        if len(words := reference_words(reference)):
            texts += [join(words.keys[:LONGEST_NGRAM]), *_phrasings(row, index)]
    return texts


def published_task(
    row: Row,
    prediction: str,
    words: Sequence[str],
    references: Mapping[int, Sequence[str]],
    exact: Exact,
    wholes: tuple[str, ...] = (),
) -> RowTask:
    """The row as the published code treats it: `words` and `references` stripped of punctuation and lemmatised, exact
    match by the share of words.
    """
    pairs = []
    for index, wanted in references.items():
        hit = find(wanted, words)
        overlap = len(set(wanted) & set(words)) / len(wanted)
        pairs.append(
            PairTask(
                reference=" ".join(wanted[:LONGEST_NGRAM]),
                phrasings=_phrasings(row, index),
                exact=overlap if exact == "fraction" else 0.0,
                hit=hit,
                ngrams=() if hit >= 0 else _plain_ngrams(words, len(wanted)),
                starts=() if hit >= 0 else ngram_starts(len(words), len(wanted)),
            )
        )
    return RowTask(wholes=wholes or (sentence(prediction),), pairs=tuple(pairs))


def _plain_ngrams(words: Sequence[str], size: int) -> list[str]:
    return [" ".join(words[start : start + min(size, LONGEST_NGRAM)]) for start in ngram_starts(len(words), size)]


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
