"""Hedging: the reference is one of several alternatives, and the prediction does not choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smile_lite.guards.lexer import text_at
from smile_lite.guards.words import is_content, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smile_lite.guards.lexer import Token

__all__ = ["is_hedged"]

_LABELS = frozenset("abcdefgh")
_UNCERTAIN = frozenset(listed("either possibly perhaps maybe probably unsure whether"))
_POSSIBLE = _UNCERTAIN | frozenset(("could", "might", "possible"))
_COULD = ("could", "might", "may")
_OR = frozenset(("or", "/"))
_BETWEEN = frozenset((",", "/", "or", "(", ")", '"', "'", "[", "]", "*", "."))
_ARTICLES = frozenset(("the", "a", "an"))
_ALIASES = frozenset(listed("simply just even more less so not other another also better any"))
_FREE_CHOICE = frozenset(("can", "works", "work", "will"))  # "either copper or tin can be used": both are right
_CHOSEN = frozenset(listed("answer choose choice pick guess conclude therefore so final definitely"))
_LEAD_IN = frozenset(
    listed(
        "it is it's they are he she was were the answer could would might may be either option options "
        "possibly perhaps maybe probably one of i think believe this that in on at by"
    )
)
_LONGEST_OPTION = 6
_SHORT_ANSWER = 12
_LONGEST_SEARCH = 400


def is_hedged(reference: Sequence[Token], prediction: Sequence[Token]) -> bool:
    """Whether the prediction lists the reference among alternatives and leaves it there.

    Raised for option letters joined by "or", for alternatives under "could be", "either" and the like, and where the
    whole prediction is such a list. An apposition ("the uvea, or uveal tract") is no alternative, nor is a reference
    that itself holds an "or".
    """
    prediction = prediction[:_LONGEST_SEARCH]
    wanted = [token.text for token in reference if token.kind != "mark"]
    if not wanted or len(wanted) > _LONGEST_OPTION or not _OR.isdisjoint(token.text for token in reference):
        return False
    if len(wanted) == 1 and wanted[0] in _LABELS and reference[-1].written.strip().isupper() is not False:
        return _lists_labels(wanted[0], prediction)
    return _lists_alternatives(wanted, prediction)


def _lists_labels(label: str, prediction: Sequence[Token]) -> bool:
    """(A), (B), (C) or (D)."""
    runs: list[list[str]] = [[]]
    joined: list[bool] = [False]
    others, open_ended = 0, False
    for token in prediction:
        if len(token.text) == 1 and token.text in _LABELS and token.written.isupper():
            runs[-1].append(token.text)
        elif token.text in _POSSIBLE and not runs[-1]:
            open_ended = True
        elif token.text in _BETWEEN or (token.text == "option" and runs[-1]):
            joined[-1] |= token.text in _OR
        elif runs[-1]:
            runs.append([])
            joined.append(False)
            others += token.kind == "word"
        else:
            others += token.kind == "word"
    for run, by_or in zip(runs, joined, strict=True):
        if label in run and len(set(run)) > 1 and (by_or or open_ended or others == 0):
            return not any(len(after) == 1 for after in runs[runs.index(run) + 1 :])
    return False


def _lists_alternatives(wanted: Sequence[str], prediction: Sequence[Token]) -> bool:
    at = _find(wanted, prediction, 0)
    if at < 0:
        return False
    end = at + len(wanted)
    if text_at(prediction, end) == "." and text_at(prediction, end + 1) == "or":  # "Paris. Or maybe Lyon."
        prediction = [*prediction[:end], *prediction[end + 1 :]]
    first = _sentence_begin(prediction, at)
    last = _sentence_end(prediction, end)
    if _find(wanted, prediction, end) >= 0 or _is_chosen(prediction, end):
        return False
    if _could_also_be(prediction, at):
        return True
    words = [token.text for token in prediction]
    if any(word in _FREE_CHOICE for word in words[end:last]):
        return False
    around = {token.text for token in prediction[first:at]} | {text_at(prediction, end + 1)}
    if not _UNCERTAIN.isdisjoint(around) or _find_words(_COULD, "be", words, first) in range(first, at):
        return _alternatives(prediction, first, last, at, end, _ALIASES) > 1
    return _alternatives(prediction, first, last, at, end, _ALIASES | _ARTICLES) > 1 and _is_whole_list(
        prediction, first, last
    )


def _could_also_be(prediction: Sequence[Token], at: int) -> bool:
    """It might be Paris, but it could also be Lyon; maybe Paris, maybe Lyon."""
    words = [token.text for token in prediction]
    if sum(word in ("maybe", "perhaps", "possibly") for word in words) > 1 and len(words) <= _SHORT_ANSWER:
        return True
    said = _find_words(_COULD, "be", words, 0)
    return 0 <= said < at and _find_words(("also",), "be", words, at) >= 0


def _find_words(firsts: tuple[str, ...], second: str, words: Sequence[str], start: int) -> int:
    pairs = zip(words[start:], words[start + 1 :], strict=False)
    return next((at for at, (one, other) in enumerate(pairs, start) if one in firsts and other == second), -1)


def _alternatives(
    prediction: Sequence[Token], first: int, last: int, at: int, end: int, aliases: frozenset[str]
) -> int:
    """How many options stand in the list that the words [at, end) are one of; 1 where they are in none."""
    count = 1
    behind, found_or = end, False
    while behind < last and prediction[behind].text in (",", "or", "/"):
        found_or |= prediction[behind].text in _OR
        behind += 1 + (prediction[behind].text == "," and text_at(prediction, behind + 1) in _OR)
        found_or |= prediction[behind - 1].text in _OR
        start = behind
        while behind < last and prediction[behind].text not in (",", "or", "/") and behind - start < _LONGEST_OPTION:
            behind += 1
        if start == behind or text_at(prediction, start) in aliases:
            break
        count += 1
    if at > first and prediction[at - 1].text in _ARTICLES - aliases:
        at -= 1
    if at - 1 >= first and prediction[at - 1].text in _OR and text_at(prediction, at - 2) not in aliases:
        return count + 1
    before = at - 1
    while before > first and prediction[before].text == ",":
        count += 1
        before -= 1
        while before > first and prediction[before].text not in (",", "or") and prediction[before].kind != "mark":
            before -= 1
    return count if found_or else 1


def _is_whole_list(prediction: Sequence[Token], first: int, last: int) -> bool:
    """Whether the prediction is "Paris, Lyon or Nice" and nothing else: names or numbers only, in one sentence."""
    if first > 0 or any(token.kind != "mark" for token in prediction[last:]):
        return False
    words = [token for token in prediction[:last] if token.kind != "mark" and token.text not in ("or", *_LEAD_IN)]
    return all(
        token.kind == "number" or token.written[0].isupper() for token in words if is_content(token)
    ) and not any(token.text in _ARTICLES for token in words)


def _is_chosen(prediction: Sequence[Token], first: int) -> bool:
    return any(token.text in _CHOSEN for token in prediction[first:])


def _sentence_begin(prediction: Sequence[Token], at: int) -> int:
    while at > 0 and prediction[at - 1].text not in (".", "!", "?", "\n", ";", ":"):
        at -= 1
    return at


def _sentence_end(prediction: Sequence[Token], at: int) -> int:
    while at < len(prediction) and prediction[at].text not in (".", "!", "?", "\n", ";"):
        at += 1
    return at


def _find(wanted: Sequence[str], tokens: Sequence[Token], start: int) -> int:
    for at in range(start, len(tokens) - len(wanted) + 1):
        if tokens[at].text == wanted[0] and [token.text for token in tokens[at : at + len(wanted)]] == list(wanted):
            return at
    return -1
