"""Times of day, in the ways English writes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from smile_lite.guards.lexer import integer_at, text_at
from smile_lite.guards.numerals import number_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smile_lite.guards.lexer import Token

__all__ = ["CLOCK_WORDS", "Clock", "read_clock"]

_NOON_AND_MIDNIGHT = {"noon": 720, "midday": 720, "midnight": 0}
_PARTS_OF_HOUR = {"half": 30, "quarter": 15}
CLOCK_WORDS = frozenset((*_NOON_AND_MIDNIGHT, *_PARTS_OF_HOUR))
_HALF_DAY = 720


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day in minutes; two where neither am nor pm is said, the 24-hour reading first."""

    first: int
    end: int
    minutes: tuple[int, ...]


def read_clock(tokens: Sequence[Token], at: int) -> Clock | None:
    """The time of day that begins at token `at`, or None: 10:30, 10.30 pm, 10 a.m., 10 o'clock, noon."""
    word = tokens[at].text
    if word in _NOON_AND_MIDNIGHT:
        return Clock(at, at + 1, (_NOON_AND_MIDNIGHT[word],))
    if word in _PARTS_OF_HOUR and text_at(tokens, at + 1) in ("past", "to"):
        numeral = number_words(tokens, at + 2) if at + 2 < len(tokens) else None
        hour = int(numeral.value) if numeral else integer_at(tokens, at + 2, 1, 12)
        if hour is None or not 0 < hour < 13:
            return None
        minutes = 60 * hour + _PARTS_OF_HOUR[word] * (1 if text_at(tokens, at + 1) == "past" else -1)
        return Clock(at, numeral.end if numeral else at + 3, _either_half(*divmod(minutes, 60)))
    hour = integer_at(tokens, at, 0, 23)
    minute, end = 0, at + 1
    if hour is None:
        hour_part, _, minute_part = word.partition(".")
        if not (hour_part.isdecimal() and minute_part.isdecimal() and len(minute_part) == 2 and len(hour_part) < 3):
            return None
        hour, minute = int(hour_part), int(minute_part)
        if hour > 12 or minute > 59 or not _half_of_day(tokens, end)[0]:
            return None
    elif text_at(tokens, end) == ":" and not tokens[end].gap:
        read = integer_at(tokens, end + 1, 0, 59)
        if read is None or tokens[end + 1].gap or len(tokens[end + 1].text) != 2:
            return None
        minute, end = read, end + 2
        if text_at(tokens, end) == ":" and not tokens[end].gap and integer_at(tokens, end + 1, 0, 59) is not None:
            end += 2
    elif text_at(tokens, end) == "o'clock":
        return Clock(at, end + 1, _either_half(hour, 0))
    elif not _half_of_day(tokens, end)[0]:
        return None
    half, behind = _half_of_day(tokens, end)
    if half and hour < 13:
        return Clock(at, behind, (hour % 12 * 60 + minute + (_HALF_DAY if half == "pm" else 0),))
    return Clock(at, end, _either_half(hour, minute))


def _half_of_day(tokens: Sequence[Token], at: int) -> tuple[str, int]:
    """Whether "am" or "pm" stands at token `at`, also as "a. m.", and the token behind it."""
    word = text_at(tokens, at)
    if word in ("am", "pm"):
        return word, at + 1
    if word in ("a", "p") and text_at(tokens, at + 1) == "." and text_at(tokens, at + 2) == "m":
        return f"{word}m", at + 3
    return "", at


def _either_half(hour: int, minute: int) -> tuple[int, ...]:
    minutes = hour * 60 + minute
    return (minutes, (minutes + _HALF_DAY) % (2 * _HALF_DAY)) if 0 < hour < 13 else (minutes,)
