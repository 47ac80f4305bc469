"""Dates, in the ways English writes them and in ISO 8601; what is ambiguous stays ambiguous."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from smile_lite.guards.lexer import integer_at, text_at
from smile_lite.guards.numerals import number_words
from smile_lite.guards.words import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smile_lite.guards.lexer import Token

__all__ = ["DATE_WORDS", "When", "read_date"]

_MONTH_NAMES = (
    listed("january february march april may june july august september october november december"),
    listed("jan feb mar apr may jun jul aug sep oct nov dec"),
)
_MONTHS = {name: number for names in _MONTH_NAMES for number, name in enumerate(names, start=1)} | {"sept": 9}
_DECADES = {
    word: 1900 + 10 * tens
    for tens, word in enumerate(listed("twenties thirties forties fifties sixties seventies eighties nineties"), 2)
}
_BEFORE_CHRIST = frozenset(("bc", "bce"))
_AFTER_CHRIST = frozenset(("ad", "ce"))
_SUFFIXES = frozenset(("st", "nd", "rd", "th"))
DATE_WORDS = frozenset((*_MONTHS, *_DECADES, *_AFTER_CHRIST))
# Behind a bare number of four digits these speak for a year; another word ("2000 people") against it.
_BEFORE_YEAR = frozenset(
    listed(
        "in since by from until till before after during circa of around early late mid year spring summer "
        "autumn fall winter season"
    )
)
_BEHIND_YEAR = frozenset(
    listed(
        "and or to when with by as at in on for after before until till because but while which where who "
        "that the it he she they was is were during from of season"
    )
)


@dataclass(frozen=True, slots=True)
class When:
    """A date as far as it is told: years `year` to `until` (before Christ negative), month, day; tokens [first, end).

    `swapped`: month and day are two numbers of which either may be the other, as in 10/12/2024. `bare`: nothing but a
    number that is probably a year.
    """

    first: int
    end: int
    year: int | None = None
    until: int | None = None
    month: int | None = None
    day: int | None = None
    swapped: bool = False
    bare: bool = False

    @property
    def is_full(self) -> bool:
        """Whether year, month and day are told."""
        return None not in (self.year, self.month, self.day)

    @property
    def is_span(self) -> bool:
        """Whether it is a decade or a century."""
        return self.year != self.until

    @property
    def readings(self) -> tuple[tuple[int | None, int | None, int | None], ...]:
        """(year, month, day): one, or two where month and day may be swapped."""
        told = (self.year, self.month, self.day)
        return (told, (self.year, self.day, self.month)) if self.swapped else (told,)


def read_date(tokens: Sequence[Token], at: int) -> When | None:
    """The date that begins at token `at`, or None."""
    token = tokens[at]
    if token.kind == "word":
        if token.text in _MONTHS and (token.text not in ("may", "march") or token.written[0].isupper()):
            return _from_month(tokens, at)
        if token.text in _DECADES:
            return When(at, at + 1, _DECADES[token.text], _DECADES[token.text] + 9)
        if token.text in _AFTER_CHRIST and token.written.isupper() and (year := integer_at(tokens, at + 1, 1, 2100)):
            return When(at, at + 2, year, year)
        numeral = number_words(tokens, at)
        if numeral and numeral.ordinal:
            return _from_ordinal(tokens, at, numeral.end, int(numeral.value))
        return None
    if token.kind != "number":
        return None
    return _of_numbers(tokens, at) or _from_day(tokens, at) or _span(tokens, at) or _year(tokens, at)


def _from_month(tokens: Sequence[Token], at: int) -> When | None:
    """December 10, 2024; Dec. 10th; December 2024; May first."""
    when = When(at, at + 1, month=_MONTHS[tokens[at].text])
    end = _past(tokens, at + 1, (".", "the"))
    day, behind = _day(tokens, end)
    if day:
        when = replace(when, end=behind, day=day)
        end = _past(tokens, behind, (".", ",", "of", "in"))
    else:
        end = _past(tokens, end, (",", "of", "in"))
    return _with_year(tokens, when, end) or (when if when.day or tokens[at].text not in ("may", "march") else None)


def _from_day(tokens: Sequence[Token], at: int) -> When | None:
    """10 December 2024; the 10th of December; 10-Dec-2024; 2024 December 10."""
    number, end = _day(tokens, at)
    if number:
        return _from_ordinal(tokens, at, end, number)
    year = integer_at(tokens, at, 1000, 2999)
    month = _MONTHS.get(text_at(tokens, _past(tokens, at + 1, (",",))))
    if year and month and tokens[_past(tokens, at + 1, (",",))].written[0].isupper():
        end = _past(tokens, at + 1, (",",)) + 1
        day, behind = _day(tokens, end)
        return When(at, behind if day else end, year, year, month, day or None)
    return None


def _from_ordinal(tokens: Sequence[Token], at: int, end: int, number: int) -> When | None:
    if text_at(tokens, end) in ("century", "centuries") or (
        text_at(tokens, end) == "-" and text_at(tokens, end + 1) == "century"
    ):
        end += 1 + (text_at(tokens, end) == "-")
        if number > 40:
            return None
        if text_at(tokens, end) in _BEFORE_CHRIST:
            return When(at, end + 1, -100 * number, -100 * (number - 1) - 1)
        return When(at, end, 100 * (number - 1), 100 * number)
    behind = _past(tokens, end, ("of", "-", "day"))
    behind = _past(tokens, behind, ("of",))
    month = _MONTHS.get(text_at(tokens, behind))
    if not month or not 0 < number < 32 or not (tokens[behind].written[0].isupper() or month not in (3, 5)):
        return None
    when = When(at, behind + 1, month=month, day=number)
    return _with_year(tokens, when, _past(tokens, behind + 1, (".", ",", "-", "in"))) or when


def _of_numbers(tokens: Sequence[Token], at: int) -> When | None:
    """2024-12-10, 2024/12/10, 10/12/2024, 10.12.2024, 10/12/24."""
    if at + 4 >= len(tokens) or any(token.gap for token in tokens[at + 1 : at + 5]):
        return None
    if tokens[at + 1].text not in ("-", "/", ".") or tokens[at + 3].text != tokens[at + 1].text:
        return None
    year = integer_at(tokens, at, 1000, 2999)
    month, day = integer_at(tokens, at + 2, 1, 12), integer_at(tokens, at + 4, 1, 31)
    if year:
        return When(at, at + 5, year, year, month, day) if month and day else None
    one, other = integer_at(tokens, at, 1, 31), integer_at(tokens, at + 2, 1, 31)
    year = integer_at(tokens, at + 4, 1000, 2999)
    if year is None and len(tokens[at + 4].text) == 2 and (short := integer_at(tokens, at + 4, 0, 99)) is not None:
        year = short + (2000 if short < 50 else 1900)
    if not (one and other and year):
        return None
    if one > 12 or other > 12:
        return None if one > 12 and other > 12 else When(at, at + 5, year, year, min(one, other), max(one, other))
    return When(at, at + 5, year, year, one, other, swapped=one != other)


def _span(tokens: Sequence[Token], at: int) -> When | None:
    """1990s, 1990's, the '90s, 1800s (a century); a note's number may stick to it: 1890s1."""
    end = at + 2 if text_at(tokens, at + 1) == "'" and not tokens[at + 1].gap else at + 1
    word = text_at(tokens, end)
    if not (word == "s" or (word[:1] == "s" and word[1:].isdecimal())) or tokens[end].gap:
        return None
    year = integer_at(tokens, at, 10, 2990)
    if year is None or year % 10 or 100 <= year < 1000:
        return None
    if year < 100:
        return When(at, end + 1, 1900 + year, 1909 + year) if year >= 20 else None
    return When(at, end + 1, year, year + (99 if year % 100 == 0 else 9))


def _year(tokens: Sequence[Token], at: int) -> When | None:
    """A number before BC or AD, or one that looks like a year and stands where a year may stand."""
    word = text_at(tokens, at + 1)
    number = integer_at(tokens, at, 1, 9999)
    if number and word in _BEFORE_CHRIST:
        return When(at, at + 2, -number, -number)
    if number and word in _AFTER_CHRIST:
        return When(at, at + 2, number, number)
    if text_at(tokens, at - 1) == "'" and tokens[at - 1].gap and len(tokens[at].text) == 2:  # '95
        short = integer_at(tokens, at, 0, 99) or 0
        short += 2000 if short < 30 else 1900
        return When(at, at + 1, short, short)
    year = integer_at(tokens, at, 1000, 2100)
    if year is None or len(tokens[at].text) != 4:
        return None
    behind = tokens[at + 1] if at + 1 < len(tokens) else None
    before = tokens[at - 1] if at else None
    expected = before is not None and (before.text in _BEFORE_YEAR or before.text in _MONTHS)
    alone = behind is None or (behind.kind == "mark" and behind.text not in "%°$€£/^") or behind.text in _BEHIND_YEAR
    glued = behind is not None and not behind.gap and behind.kind == "word"
    return When(at, at + 1, year, year, bare=True) if (expected or alone) and not glued else None


def _with_year(tokens: Sequence[Token], when: When, at: int) -> When | None:
    year = integer_at(tokens, at, 1, 2999)
    if year is None or (len(tokens[at].text) < 3 and text_at(tokens, at + 1) not in _BEFORE_CHRIST | _AFTER_CHRIST):
        return None
    if text_at(tokens, at + 1) in _BEFORE_CHRIST:
        return replace(when, end=at + 2, year=-year, until=-year)
    behind = at + 2 if text_at(tokens, at + 1) in _AFTER_CHRIST else at + 1
    return replace(when, end=behind, year=year, until=year)


def _day(tokens: Sequence[Token], at: int) -> tuple[int, int]:
    """A day of a month and the token behind it, or 0."""
    if day := integer_at(tokens, at, 1, 31):
        return day, at + 2 if text_at(tokens, at + 1) in _SUFFIXES and not tokens[at + 1].gap else at + 1
    numeral = number_words(tokens, at) if at < len(tokens) and tokens[at].kind == "word" else None
    if numeral and numeral.ordinal and numeral.value < 32:
        return int(numeral.value), numeral.end
    return 0, at


def _past(tokens: Sequence[Token], at: int, skipped: tuple[str, ...]) -> int:
    return at + 1 if text_at(tokens, at) in skipped else at
