"""Numbers as they are written: digits of every grouping, English number words, ordinals, fractions, Roman numerals."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from smile_lite.guards.lexer import text_at
from smile_lite.guards.words import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smile_lite.guards.lexer import Token

__all__ = ["GLUED_SCALES", "NUMBER_WORDS", "SCALES", "TIMES", "Numeral", "literal", "number_words", "roman"]

_SMALL = {
    word: value
    for value, word in enumerate(
        listed(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
            "sixteen seventeen eighteen nineteen"
        )
    )
}
_TENS = {
    word: 10 * value
    for value, word in enumerate(listed("twenty thirty forty fifty sixty seventy eighty ninety"), start=2)
}
SCALES = {
    "hundred": 100,
    "thousand": 10**3,
    "lakh": 10**5,
    "lakhs": 10**5,
    "million": 10**6,
    "millions": 10**6,
    "crore": 10**7,
    "crores": 10**7,
    "billion": 10**9,
    "billions": 10**9,
    "trillion": 10**12,
    "quadrillion": 10**15,
    "quintillion": 10**18,
    "dozen": 12,
}
# Behind digits without a space; the second group only where a currency stands before the digits, or as a second
# reading: 5m is five metres, $5m five million.
GLUED_SCALES = {"k": 10**3, "mn": 10**6, "mil": 10**6, "m": 10**6, "b": 10**9, "bn": 10**9, "tn": 10**12, "t": 10**12}
_ORDINALS = {
    **{
        word: value
        for value, word in enumerate(
            listed(
                "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
                "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
            ),
            start=1,
        )
    },
    **{
        word: 10 * value
        for value, word in enumerate(
            listed("twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth hundredth"), start=2
        )
    },
}
_PARTS = {
    "half": 2,
    "halves": 2,
    "quarter": 4,
    "quarters": 4,
    **{word: value for word, value in _ORDINALS.items() if 2 < value < 11 or value == 100},
    **{f"{word}s": value for word, value in _ORDINALS.items() if 2 < value < 11 or value == 100},
}
# Words that say how many without being a numeral: enough to find a number not missing, too little to prove one.
TIMES = {
    "once": 1,
    "single": 1,
    "sole": 1,
    "twice": 2,
    "both": 2,
    "pair": 2,
    "couple": 2,
    "double": 2,
    "thrice": 3,
    "triple": 3,
    "trio": 3,
    "no": 0,
    "none": 0,
    "nil": 0,
    "never": 0,
}
NUMBER_WORDS = frozenset(("a", "an", "half", "halves", *_SMALL, *_TENS, *_ORDINALS, *TIMES))
_LONGEST_LITERAL = 40
_MOST_DECIMALS = 20
_LARGEST = 10**30
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?|\d{1,3}(?:'\d{3})+(?:\.\d+)?")
_GROUPED_BY_POINTS = re.compile(r"\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?|\d{1,3}(?:\.\d{3})+,\d+")
_THREE_BEHIND = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")
_ROMAN = re.compile(r"(?=.)M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


class Numeral(NamedTuple):
    """A value, the token behind it, and whether it was an ordinal; `weak`: the word may mean something else."""

    value: Fraction
    end: int
    ordinal: bool = False
    weak: bool = False


@lru_cache(maxsize=4096)
def literal(digits: str) -> tuple[Fraction, ...]:
    """The readings of a number token, the likeliest first: 3,500 may be 3.5 to a German; () where it is too long."""
    if len(digits) > _LONGEST_LITERAL:
        return ()
    if _GROUPED.fullmatch(digits):
        first = Fraction(re.sub("[,']", "", digits))
    elif _GROUPED_BY_POINTS.fullmatch(digits):
        first = Fraction(digits.replace(".", "").replace(",", "."))
    else:
        first = Fraction(digits.replace(",", "."))
    if _THREE_BEHIND.fullmatch(digits):
        return (first, first / 1000 if "," in digits else first * 1000)
    return (first,)


def roman(written: str) -> int | None:
    """The value of a Roman numeral in capitals, or None."""
    if not _ROMAN.fullmatch(written):
        return None
    values = [_ROMAN_DIGITS[letter] for letter in written]
    return sum(-one if one < after else one for one, after in zip(values, [*values[1:], 0], strict=True))


def number_words(tokens: Sequence[Token], at: int) -> Numeral | None:
    """The number in words that begins at token `at`: "twenty-one", "a hundred and five", "two thirds", "half a
    million", "nineteen sixty-eight", "twenty-first".
    """
    if tokens[at].text in ("half", "halves"):
        return _half(tokens, at)
    if tokens[at].text in ("a", "an"):
        if text_at(tokens, at + 1) in SCALES or text_at(tokens, at + 1) in ("quarter", "third"):
            return _cardinal(tokens, at + 1, Fraction(1))
        return None
    return _cardinal(tokens, at, None)


def _half(tokens: Sequence[Token], at: int) -> Numeral:
    end = at + 2 if text_at(tokens, at + 1) in ("a", "an") else at + 1
    scale = SCALES.get(text_at(tokens, end))
    return Numeral(Fraction(scale, 2), end + 1) if scale else Numeral(Fraction(1, 2), at + 1)


def _cardinal(tokens: Sequence[Token], at: int, group: Fraction | None) -> Numeral | None:
    """`group`: 1 behind "a", else None; it is what has been read since the last thousand or million."""
    total, smallest_scale, start = Fraction(0), 10**20, at
    last = "" if group is None else "article"
    group = group or Fraction(0)
    while at < len(tokens):
        word = tokens[at].text
        if (
            word in _SMALL
            and _SMALL[word] < 10
            and (last in ("", "hundred", "scale") or (last == "tens" and word != "zero"))
        ):
            group, last = group + _SMALL[word], "small"
        elif _two_digits(word) and last in ("", "hundred", "scale"):
            group, last = group + _two_digits(word), "tens" if word in _TENS else "teen"
        elif _two_digits(word) and total == 0 and 9 < group < 100 and last != "article":  # nineteen sixty-eight
            group, last = 100 * group + _two_digits(word), "tens" if word in _TENS else "teen"
        elif (
            word in ("oh", "o") and 9 < group < 21 and 0 < _SMALL.get(text_at(tokens, at + 1), 0) < 10
        ):  # nineteen oh five
            group, last, at = 100 * group + _SMALL[text_at(tokens, at + 1)], "small", at + 1
        elif word in ("hundred", "dozen") and last not in ("", "hundred", "scale"):
            group, last = group * SCALES[word], "hundred"
        elif word in SCALES and last == "scale" and group == 0 and total < _LARGEST:  # a thousand million
            total *= SCALES[word]
        elif word in SCALES and last and 100 < SCALES[word] < smallest_scale and group:
            smallest_scale, last = SCALES[word], "scale"
            total, group = total + group * smallest_scale, Fraction(0)
        elif word in _ORDINALS and last == "small" and word in _PARTS and total == 0:  # one third
            break
        elif word in _ORDINALS and (last in ("", "hundred", "scale") or (last == "tens" and _ORDINALS[word] < 10)):
            if not last and word == "hundredth":
                return None
            return Numeral(total + group + _ORDINALS[word], at + 1, ordinal=True, weak=not last)
        elif word in _PARTS and last == "article":
            return Numeral(Fraction(1, _PARTS[word]), at + 1)
        else:
            break
        at += 1
        if text_at(tokens, at) == "-" or (text_at(tokens, at) == "and" and last in ("hundred", "scale")):
            behind = text_at(tokens, at + 1)
            if behind in _SMALL or behind in _TENS or (behind in _ORDINALS and last in ("tens", "hundred", "scale")):
                at += 1
    if at == start:
        return None
    value = total + group
    return _with_fraction(tokens, Numeral(value, at, weak=at == start + 1 and value == 1))


def _with_fraction(tokens: Sequence[Token], whole: Numeral) -> Numeral:
    """Behind a whole number: "two thirds", "five and a half", "three point five"."""
    at, value = whole.end, whole.value
    hyphen = text_at(tokens, at) == "-"
    part = _PARTS.get(text_at(tokens, at + hyphen))
    if part and value < 100 and not (value == 1 and part == 2 and not hyphen):
        return Numeral(value / part, at + hyphen + 1)
    if text_at(tokens, at) == "and" and text_at(tokens, at + 1) in ("a", "one") and text_at(tokens, at + 2) in _PARTS:
        value += Fraction(1, _PARTS[text_at(tokens, at + 2)])
        scale = SCALES.get(text_at(tokens, at + 3), 1)
        return Numeral(value * scale, at + 3 + (scale > 1))
    if text_at(tokens, at) == "point" and text_at(tokens, at + 1) in _SMALL:
        at, place = at + 1, Fraction(1)
        behind = at + _MOST_DECIMALS
        while at < behind and _SMALL.get(text_at(tokens, at), 10) < 10:
            place /= 10
            value += place * _SMALL[text_at(tokens, at)]
            at += 1
        scale = SCALES.get(text_at(tokens, at), 1)
        return Numeral(value * scale, at + (scale > 1))
    return whole


def _two_digits(word: str) -> int:
    value = _TENS.get(word) or _SMALL.get(word, 0)
    return value if value > 9 else 0
