"""What a text says in numbers: quantities with units, dates, times of day, in the order they stand."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from smile_lite.guards.clocks import CLOCK_WORDS, Clock, read_clock
from smile_lite.guards.dates import DATE_WORDS, When, read_date
from smile_lite.guards.digits import NOTED_YEAR, read_digits, read_scale
from smile_lite.guards.lexer import text_at
from smile_lite.guards.numerals import NUMBER_WORDS, TIMES, number_words, roman
from smile_lite.guards.units import CURRENCY_MARKS, Unit, read_unit
from smile_lite.guards.words import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smile_lite.guards.lexer import Token

__all__ = ["Item", "Quantity", "read_items"]

_OF_A_RANGE = frozenset(("-", "to", "and", "or", "through", "until"))
_APPROXIMATE = frozenset(
    listed("about approximately around roughly nearly almost circa c ca ~ ≈ than over under least estimated")
)
_NUMBERED = frozenset(
    listed(
        "war part chapter volume vol book act scene phase type class stage grade level section article "
        "amendment bowl title figure table appendix season episode form schedule category generation mark no"
    )
)
_DIGITS = re.compile(r"\d+")
_LONGEST_NAME = 40
_CURRENCY_CODES = frozenset(listed("usd eur gbp jpy cny inr chf krw cad aud rs"))
_ROMAN_DIGITS = frozenset("IVXLCDM")
_OPENING = frozenset("([{\"'=:,;$€£¥₹~≈<>")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in tokens [first, end). `units`: its readings; `others`: values it may also have (3,500 may be 3.5).

    `ordinal`: first, 1st, and the VIII of Henry VIII. `weak`: too little to hold against an answer ("one", "first", a
    digit inside a name). `about`: said approximately.
    """

    value: Fraction
    first: int
    end: int
    units: tuple[Unit, ...] = ()
    others: tuple[Fraction, ...] = ()
    ordinal: bool = False
    weak: bool = False
    about: bool = False


Item = Quantity | When | Clock


def read_items(tokens: Sequence[Token]) -> list[Item]:
    """Every quantity, date and time of day, in one pass."""
    items: list[Item] = []
    at = 0
    while at < len(tokens):
        item = _read(tokens, at)
        if item is None:
            at += 1
            continue
        if items and isinstance(item, Quantity) and item.first <= items[-1].end + 1:
            if (whole := _as_one(tokens, items[-1], item)) is not None:
                items.pop()
                item = whole
            elif item.first == items[-1].end + 1:
                items[-1], item = _as_range(tokens, items[-1], item)
        items.append(item)
        at = item.end
    return items


def _read(tokens: Sequence[Token], at: int) -> Item | None:
    token = tokens[at]
    if token.kind == "mark" or (token.kind == "word" and not _may_begin(token)):
        return None
    if token.kind == "number" and at and tokens[at - 1].text == "^" and not token.gap:
        return None
    money = _money_before(tokens, at) if token.kind == "number" else ()
    if not money and (found := read_clock(tokens, at) or read_date(tokens, at)):
        return found
    if token.kind == "number":
        return _from_digits(tokens, at, money)
    numeral = number_words(tokens, at)
    if numeral:
        units, end = ((), numeral.end) if numeral.ordinal else read_unit(tokens, numeral.end)
        negative = _is_negative(tokens, at)
        value = -numeral.value if negative else numeral.value
        weak = numeral.weak and not units
        return Quantity(
            value, at - negative, end, units, ordinal=numeral.ordinal, weak=weak, about=_is_about(tokens, at)
        )
    if token.text in TIMES:
        return Quantity(Fraction(TIMES[token.text]), at, at + 1, weak=True)
    return _from_roman(tokens, at) or _inside_a_name(tokens, at)


def _may_begin(token: Token) -> bool:
    """Whether a word can begin an item at all; most cannot, and are passed over quickly."""
    return (
        token.text in NUMBER_WORDS
        or token.text in DATE_WORDS
        or token.text in CLOCK_WORDS
        or not token.text.isalpha()
        or (token.written[0] in _ROMAN_DIGITS and roman(token.written) is not None)
    )


def _from_digits(tokens: Sequence[Token], at: int, money: tuple[Unit, ...]) -> Quantity | None:
    read = read_digits(tokens, at, money=bool(money))
    if read is None:
        return None
    value, others, end, ordinal = read
    if text_at(tokens, end) == "," and text_at(tokens, end + 1) in CURRENCY_MARKS:
        units: tuple[Unit, ...] = ()
    else:
        units, end = read_unit(tokens, end)
    first = at - bool(money)
    if _is_negative(tokens, first):
        value, others, first = -value, tuple(-other for other in others), first - 1
    return Quantity(value, first, end, money or units, others, ordinal=ordinal, about=_is_about(tokens, at))


def _from_roman(tokens: Sequence[Token], at: int) -> Quantity | None:
    """World War II, Henry VIII, and III where it is all there is."""
    value = roman(tokens[at].written)
    if value is None:
        return None
    before = tokens[at - 1] if at else None
    if before is None:
        whole = len(tokens) == 1 or (len(tokens) == 2 and tokens[1].text == ".")
        fits = whole and len(tokens[at].text) > 1 and set(tokens[at].text) <= set("ivx")
    elif before.text in _NUMBERED:
        fits = True
    else:
        fits = before.kind == "word" and before.written[0].isupper() and len(tokens[at].text) > 1 and value < 40
    return Quantity(Fraction(value), at, at + 1, ordinal=True) if fits else None


def _inside_a_name(tokens: Sequence[Token], at: int) -> Quantity | None:
    """The digits behind letters: in1997, S01."""
    found = _DIGITS.search(tokens[at].text[:_LONGEST_NAME])
    if found is None or len(digits := found.group()) > 6:
        return None
    noted = (Fraction(digits[:4]),) if NOTED_YEAR.fullmatch(digits) else ()
    return Quantity(Fraction(digits), at, at + 1, others=noted, weak=True)


def _as_one(tokens: Sequence[Token], one: Item, other: Quantity) -> Quantity | None:
    """3 hours and 48 minutes, 6 feet 2 inches: one quantity, in the smaller unit."""
    if not isinstance(one, Quantity) or not one.units or not other.units:
        return None
    large, small = one.units[0], other.units[0]
    between = tokens[one.end].text if other.first > one.end else ""
    if between not in ("", "and", ",") or large.dimension != small.dimension or large.factor <= small.factor:
        return None
    if large.system != small.system or other.value * small.factor >= large.factor:
        return None
    return replace(other, value=one.value * large.factor / small.factor + other.value, first=one.first)


def _as_range(tokens: Sequence[Token], one: Item, other: Quantity) -> tuple[Item, Item]:
    """3 to 6%: the unit and the scale of the last belong to the first as well; 1632-53 ends in 1653."""
    joined = tokens[one.end].text
    if isinstance(one, When) and one.bare and one.year and joined in "-/" and 9 < other.value < 100 and not other.units:
        year = one.year // 100 * 100 + int(other.value)
        return one, When(other.first, other.end, year, year, bare=True)
    if not isinstance(one, Quantity) or joined not in _OF_A_RANGE:
        return one, other
    if other.units and not one.units:
        one = replace(one, units=other.units)
    scale, _ = read_scale(tokens, other.end - bool(other.units) - 1, money=bool(other.units))
    if scale > 1 and tokens[one.first].kind == "number" and one.end == one.first + 1:
        one = replace(one, others=(*one.others, one.value * scale))
    return one, other


def _money_before(tokens: Sequence[Token], at: int) -> tuple[Unit, ...]:
    word = text_at(tokens, at - 1) if at else ""
    if word in CURRENCY_MARKS:
        return (CURRENCY_MARKS[word],)
    return read_unit(tokens, at - 1)[0] if word in _CURRENCY_CODES else ()


def _is_negative(tokens: Sequence[Token], at: int) -> bool:
    before = text_at(tokens, at - 1)
    if before in ("minus", "negative"):
        return at < 2 or tokens[at - 2].kind != "number"
    if before != "-" or tokens[at].gap:
        return False
    return at < 2 or tokens[at - 1].gap or tokens[at - 2].text in _OPENING


def _is_about(tokens: Sequence[Token], at: int) -> bool:
    return any(token.text in _APPROXIMATE for token in tokens[max(0, at - 2) : at])
