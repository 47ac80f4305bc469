"""Question, reference and prediction in, names of flags out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smile_lite.guards.antonyms import antonym
from smile_lite.guards.catalogue import FLAGS
from smile_lite.guards.negation import negation_differs
from smile_lite.guards.numbers import number_flags
from smile_lite.guards.options import is_hedged
from smile_lite.guards.refusal import declines
from smile_lite.guards.side import Side
from smile_lite.guards.yes_no import yes_no_flags
from smile_lite.text import find, split_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smile_lite.text import Words

__all__ = ["flags", "row_flags"]

_NEEDS_THE_WHOLE_TEXT = {"number_missing", "number_differs", "date_differs", "unit_differs"}


def flags(question: str | None, reference: str, prediction: str) -> tuple[str, ...]:
    """The flags (see `FLAGS`) that `prediction` raises against `reference`, sorted; () where nothing is to be said.

    Looks at words only. Of a text of more than 60,000 characters the first and the last 30,000 are read, and nothing is
    said of numbers that are not found there; below that, time is linear. Never raises; a blank reference or prediction
    has no flags.
    """
    return row_flags(question, (reference,), prediction)


def row_flags(question: str | None, references: Sequence[str], prediction: str) -> tuple[str, ...]:
    """The flags of a row: those against its best reference, which is the one with the fewest "against" flags.

    Among equals one with a "for" flag goes first, then the earlier. Where two references or more are among the
    alternatives of a prediction, it is not hedging but complete: no `hedged`.
    """
    words = split_words(prediction)
    asked, said = Side(question or ""), Side(prediction)
    found: list[set[str]] = [
        _reference_flags(asked, wanted, Side(wanted.text), words, said)
        for wanted in map(split_words, references)
        if len(wanted) and len(words)
    ]
    if not found:
        return ()
    if sum("hedged" in names for names in found) > 1:
        found = [names - {"hedged"} for names in found]
    best = min(found, key=_order)
    return tuple(sorted(best))


def _order(names: set[str]) -> tuple[int, int]:
    effects = [FLAGS[name].effect for name in names]
    return effects.count("against"), -effects.count("for")


def _reference_flags(question: Side, wanted: Words, reference: Side, words: Words, prediction: Side) -> set[str]:
    if wanted.keys == words.keys:
        return set()
    stands = find(_without_article(wanted.keys), words.keys) >= 0
    found = yes_no_flags(question.tokens, reference.tokens, prediction.tokens)
    if not stands and declines(prediction.tokens) and not declines(reference.tokens):
        return found | {"refusal"}
    if found:
        return found
    numbers = number_flags(reference, prediction)
    if stands:
        numbers &= {"number_differs"}
    found |= numbers - _NEEDS_THE_WHOLE_TEXT if prediction.is_cut else numbers
    if negation_differs(reference, prediction):
        found.add("negation_differs")
    if antonym(reference, prediction):
        found.add("antonym")
    if is_hedged(reference.tokens, prediction.tokens):
        found.add("hedged")
    return found


def _without_article(keys: tuple[str, ...]) -> tuple[str, ...]:
    return keys[1:] if len(keys) > 1 and keys[0] in ("a", "an", "the") else keys
