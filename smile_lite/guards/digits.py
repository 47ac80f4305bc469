"""Numbers in digits with what belongs to their value: powers, fractions, scales, grouping, a scraper's damage."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from smile_lite.guards.lexer import text_at
from smile_lite.guards.numerals import GLUED_SCALES, SCALES, literal
from smile_lite.guards.units import read_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smile_lite.guards.lexer import Token

__all__ = ["NOTED_YEAR", "Digits", "read_digits", "read_scale"]

NOTED_YEAR = re.compile(r"(?:1[5-9]|20)\d\d[1-9]\d?")  # a year with the number of a note stuck to it
_LONGEST = 40
_LARGEST_EXPONENT = 60
_LARGEST_BASE = 1000
_TEN = Fraction(10)
_TIMES_MARKS = frozenset(("x", "×", "*", "·"))
_SURE_SCALES = frozenset(("k", "K", "M"))


class Digits(NamedTuple):
    """A value, the values it may also have, the token behind it, and whether it was an ordinal (1st)."""

    value: Fraction
    others: tuple[Fraction, ...]
    end: int
    ordinal: bool


def read_digits(tokens: Sequence[Token], at: int, *, money: bool) -> Digits | None:
    """The number that begins with the digits at token `at`; None where they are too many. `money`: $ is before it."""
    readings = literal(tokens[at].text)
    if not readings:
        return None
    value, others, end = readings[0], (*readings[1:], *_damaged(tokens, at)), at + 1
    grouped, behind = _grouped_by_spaces(tokens, at)
    if grouped is not None:
        value, others, end = grouped, (value,), behind
    elif (power := _power(tokens, at)) is not None:
        value, end = power
    elif (part := _fraction(tokens, at)) is not None:
        value, end = part
    scale, end = read_scale(tokens, end, money=money)
    second = _second_scale(tokens, end)
    if scale > 1:
        return Digits(value * scale, (), end, ordinal=False)
    if second > 1 and read_unit(tokens, end)[0] and tokens[end].written not in _SURE_SCALES:
        return Digits(value, (*others, value * second), end, ordinal=False)
    if second > 1:
        return Digits(value * second, (value,), end + 1, ordinal=False)
    ordinal = text_at(tokens, end) in ("st", "nd", "rd", "th") and not tokens[end].gap
    return Digits(value, others, end + ordinal, ordinal)


def _damaged(tokens: Sequence[Token], at: int) -> list[Fraction]:
    """What a number may have been before a text was scraped: 19971 is 1997 with a note's number, 3. 5 is 3.5."""
    digits = tokens[at].text
    if not digits.isdecimal() or len(digits) > _LONGEST:
        return []
    if NOTED_YEAR.fullmatch(digits):
        return [Fraction(digits[:4])]
    if text_at(tokens, at + 1) == "." and _is_plain(tokens, at + 2) and not tokens[at + 1].gap:
        return [Fraction(f"{digits}.{tokens[at + 2].text}")]
    return []


def _grouped_by_spaces(tokens: Sequence[Token], at: int) -> tuple[Fraction | None, int]:
    """10 000: groups of exactly three digits behind one to three."""
    digits, end = tokens[at].text, at + 1
    if not digits.isdecimal() or len(digits) > 3 or digits[0] == "0":
        return None, at
    while end < min(len(tokens), at + 8) and tokens[end].gap and len(tokens[end].text) == 3 and _is_plain(tokens, end):
        digits += tokens[end].text
        end += 1
    return (Fraction(digits), end) if end > at + 1 else (None, at)


def _power(tokens: Sequence[Token], at: int) -> tuple[Fraction, int] | None:
    """1e6, 1.5e-8, 1.5×10^8, 10^8, 2^10."""
    value = literal(tokens[at].text)[0]
    word = text_at(tokens, at + 1)
    if word[:1] == "e" and not tokens[at + 1].gap and (word == "e" or word[1:].isdecimal()):
        return _raised(tokens, value, at + 1 if word != "e" else at + 2, word[1:])
    if word in _TIMES_MARKS and text_at(tokens, at + 2) == "10" and text_at(tokens, at + 3) == "^":
        return _raised(tokens, value, at + 4, "")
    if word == "^" and value.denominator == 1 and 1 < value <= _LARGEST_BASE:
        return _raised(tokens, Fraction(1), at + 2, "", base=value)
    return None


def _raised(
    tokens: Sequence[Token], value: Fraction, at: int, digits: str, base: Fraction = _TEN
) -> tuple[Fraction, int] | None:
    sign = 1
    if not digits:
        if text_at(tokens, at) in ("-", "+"):
            sign = -1 if text_at(tokens, at) == "-" else 1
            at += 1
        digits = text_at(tokens, at)
    if not digits.isdecimal() or len(digits) > 3 or int(digits) > _LARGEST_EXPONENT:
        return None
    return value * base ** (sign * int(digits)), at + 1


def _fraction(tokens: Sequence[Token], at: int) -> tuple[Fraction, int] | None:
    """1/2, and 2 1/2 with the whole before it."""
    if not _is_plain(tokens, at):
        return None
    if _is_plain(tokens, at + 1) and tokens[at + 1].gap:
        part = _simple_fraction(tokens, at + 1)
        return (int(tokens[at].text) + part[0], part[1]) if part and 0 < part[0] < 1 else None
    return _simple_fraction(tokens, at)


def _simple_fraction(tokens: Sequence[Token], at: int) -> tuple[Fraction, int] | None:
    if text_at(tokens, at + 1) != "/" or not _is_plain(tokens, at + 2) or text_at(tokens, at + 3) == "/":
        return None
    above, below = int(tokens[at].text), int(tokens[at + 2].text)
    if tokens[at + 1].gap or tokens[at + 2].gap or not below:
        return None
    return Fraction(above, below), at + 3


def read_scale(tokens: Sequence[Token], at: int, *, money: bool) -> tuple[int, int]:
    """The thousand, million or million million at token `at` (with a currency also k, m, bn), and what is behind it."""
    scale = 1
    while (word := text_at(tokens, at)) in SCALES and scale < SCALES["quintillion"]:
        scale *= SCALES[word]
        at += 1
    if scale == 1 and money and word in GLUED_SCALES:
        return GLUED_SCALES[word], at + 1
    return scale, at


def _second_scale(tokens: Sequence[Token], at: int) -> int:
    """10k, 5M, 1.5B where no currency tells that it is money."""
    if at >= len(tokens) or tokens[at].gap:
        return 1
    return GLUED_SCALES.get(tokens[at].text, 1)


def _is_plain(tokens: Sequence[Token], at: int) -> bool:
    text = text_at(tokens, at)
    return text.isdecimal() and len(text) < 13
