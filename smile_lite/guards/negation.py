"""Negation: what the reference says is negated in the prediction, or what it negates affirmed.

A negation counts where it governs the reference's words: among them, before them with nothing but function words
between, or behind them up to the clause's end ("Paris is not"). Elsewhere it is about something else: "not Lyon but
Paris" does not negate Paris.
"""

from __future__ import annotations

from collections import defaultdict
from math import ceil
from typing import TYPE_CHECKING

from smile_lite.guards.words import FUNCTION_WORDS, is_content, listed, stem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smile_lite.guards.lexer import Token
    from smile_lite.guards.side import Side

__all__ = ["is_negator", "negation_differs", "negators"]

_NEGATORS = frozenset(
    listed(
        "not no never without cannot neither nor none nobody nothing nowhere cant dont doesnt didnt isnt "
        "arent wasnt werent wont wouldnt shouldnt couldnt hasnt havent hadnt mustnt unlike"
    )
)
# Pairs that begin like a negation and are none; and pairs that negate like "not".
_NO_NEGATION = frozenset(
    {("not", word) for word in listed("only just merely simply until till before least")}
    | {("no", word) for word in listed("doubt later earlier fewer less more matter wonder sooner one")}
    | {("cannot", "but"), ("nothing", "but"), ("none", "other"), ("never", "mind"), ("nothing", "else")}
)
_NOT_BEHIND = frozenset(("if", "or", "why"))
_INSTEAD = frozenset((("instead", "of"), ("rather", "than"), ("opposed", "to")))
_TRANSPARENT = FUNCTION_WORDS | frozenset(
    listed(
        "think believe say said located situated called named known considered ever necessarily actually "
        "entirely completely exactly fully longer always any all both being used supposed allowed able"
    )
)
# With one of these a clause may say no without a negation: it is not held against a negated reference.
_NEGATIVE = frozenset(
    map(
        stem,
        listed(
            "fail fails failed lack lacks lacked exclude excludes excluded refuse refuses refused deny denies "
            "denied prohibit prohibits prohibited forbid forbids forbidden ban bans banned prevent prevents "
            "prevented unable impossible unlikely hardly rarely seldom barely scarcely little few stop stops "
            "stopped avoid avoids false incorrect wrong untrue illegal absent free doubt un non"
        ),
    )
)
_QUANTIFIERS = frozenset(listed("all every each any some both always ever"))
_MOST_CLAUSES = 16
_SHARE = 0.9  # of the reference's words that a clause must have to be about the same
_STRANGE = 0.5  # so many other words, for each of the reference's, may stand among them


def negation_differs(reference: Side, prediction: Side) -> bool:
    """Whether a clause of the reference is negated on one side only, in all clauses of the prediction nearest to it."""
    for first, end in reference.clauses[:_MOST_CLAUSES]:
        wanted = {
            word
            for token, word in zip(reference.tokens[first:end], reference.stems[first:end], strict=True)
            if is_content(token) and token.text not in _NEGATORS | _QUANTIFIERS
        }
        counts: dict[int, int] = defaultdict(int)
        for word in wanted:
            for number in prediction.clauses_of.get(word, ()):
                counts[number] += 1
        nearest = max(counts.values(), default=0)
        if not nearest or nearest < ceil(_SHARE * len(wanted)):
            continue
        negated = len(negators(reference.tokens, first, end)) % 2 == 1
        near = [prediction.clauses[number] for number, count in counts.items() if count == nearest]
        if all(_differs(prediction, span, wanted, negated=negated) for span in near):
            return True
    return False


def negators(tokens: Sequence[Token], first: int, end: int) -> list[int]:
    """Where in tokens [first, end) a negation stands."""
    return [at for at in range(first, end) if is_negator(tokens, at)]


def is_negator(tokens: Sequence[Token], at: int) -> bool:
    """Whether token `at` negates: "not" and its contractions, but not the one of "not only" or "No. 5"."""
    word = tokens[at].text
    behind = tokens[at + 1] if at + 1 < len(tokens) else None
    if behind is not None and (word, behind.text) in _INSTEAD:
        return True
    if word.endswith("n't"):
        word = "not"
    if word not in _NEGATORS:
        return False
    if behind is not None and (word, behind.text) in _NO_NEGATION:
        return False
    if word == "no" and behind is not None and (behind.kind == "number" or behind.text in ".,;:!"):
        return False
    return not (at and tokens[at - 1].text in _NOT_BEHIND)


def _differs(prediction: Side, span: tuple[int, int], wanted: set[str], *, negated: bool) -> bool:
    tokens, stems = prediction.tokens, prediction.stems
    first, end = span
    found = negators(tokens, first, end)
    if negated:
        return not found and _NEGATIVE.isdisjoint(stems[first:end])
    if not found:
        return False
    places = [at for at in range(first, end) if stems[at] in wanted and is_content(tokens[at])]
    between = tokens[places[0] : places[-1] + 1] if places else ()
    if not places or sum(map(is_content, between)) - len(places) > ceil(len(wanted) * _STRANGE):
        return False
    inside = [
        at
        for at in found
        if places[0] < at < places[-1]
        or (at < places[0] and _is_transparent(tokens, at + 1, places[0]))
        or (at > places[-1] and _is_transparent(tokens, places[-1] + 1, end))
    ]
    return len(inside) % 2 == 1


def _is_transparent(tokens: Sequence[Token], first: int, end: int) -> bool:
    return all(
        token.kind == "mark" or token.text in _TRANSPARENT or is_negator(tokens, at)
        for at, token in enumerate(tokens[first:end], first)
    )
