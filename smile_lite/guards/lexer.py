"""Folded text cut into words, numbers and marks. Unlike `smile_lite.text` it keeps punctuation: clauses need it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from smile_lite.text import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Token", "integer_at", "text_at", "tokenise"]

_TOKEN = re.compile(
    r"""
      (?P<number> (?:(?<![\w.])\.)? \d+ (?:[.,']\d+)* )
    | (?P<word> (?:[^\W\d_]\.){2,} | [^\W\d_][^\W_]* (?:'[^\W_]+)* )
    | (?P<mark> \n | [^\s\w] | _ )
    """,
    re.VERBOSE,
)
_ONE_NUMBER = re.compile(
    r"""
      \d+ | \d*\.\d+ | \d+,\d{1,2} | 0,\d+
    | \d{1,3}(?:,\d{3})+(?:\.\d+)? | \d{1,2}(?:,\d{2})*,\d{3}(?:\.\d+)? | \d{1,3}(?:'\d{3})+(?:\.\d+)?
    | \d{1,3}(?:\.\d{3}){2,}(?:,\d+)? | \d{1,3}(?:\.\d{3})+,\d+
    """,
    re.VERBOSE,
)
_PIECE = re.compile(r"\d+|[.,']")


class Token(NamedTuple):
    """`text` is folded, `written` as it stood; `gap`: whether a space or the beginning of the text is before it."""

    text: str
    written: str
    kind: Literal["word", "number", "mark"]
    gap: bool


def tokenise(text: str) -> list[Token]:
    """Cut `text`, in one linear pass.

    A number is one token where its separators group or are a decimal point, in any country's way; 10.12.2024 and
    1,1968 are several. The dots of a.m. and U.S. are dropped; a letter or digit right behind a number begins a word
    without a gap.
    """
    folded, origin = fold(text)
    tokens: list[Token] = []
    end = -1
    for match in _TOKEN.finditer(folded):
        start, found = match.start(), match.group()
        gap = start != end
        end = match.end()
        if match.lastgroup == "number" and not _ONE_NUMBER.fullmatch(found):
            for piece in _PIECE.findall(found):
                tokens.append(Token(piece, piece, "number" if piece[0].isdigit() else "mark", gap))
                gap = False
        elif match.lastgroup == "number":
            tokens.append(Token(found, found, "number", gap))
        elif match.lastgroup == "word":
            written = text[origin[start] : max(origin[end], origin[start] + 1)]
            tokens.append(Token(found.replace(".", ""), written.replace(".", ""), "word", gap))
        else:
            tokens.append(Token(found, found, "mark", gap))
    return tokens


def text_at(tokens: Sequence[Token], at: int) -> str:
    """The text of token `at`, "" outside."""
    return tokens[at].text if 0 <= at < len(tokens) else ""


def integer_at(tokens: Sequence[Token], at: int, low: int, high: int) -> int | None:
    """The whole number of at most four digits at token `at`, where it lies within [low, high]."""
    digits = text_at(tokens, at)
    return int(digits) if digits.isdecimal() and len(digits) < 5 and low <= int(digits) <= high else None
