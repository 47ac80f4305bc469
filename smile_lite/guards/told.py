"""What a prediction tells in numbers, ready to be asked how well it meets a number of the reference.

Values are exact fractions: 0.1 + 0.2 is 0.3 here. Only between the metric and the imperial system, where people
round, are two values equal within a hundredth, temperatures within six tenths of a degree.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from enum import IntEnum
from fractions import Fraction
from typing import TYPE_CHECKING

from smile_lite.guards.clocks import Clock
from smile_lite.guards.dates import When
from smile_lite.guards.units import PERCENT, Unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from smile_lite.guards.quantities import Item, Quantity

__all__ = ["Match", "Told"]

_ROUNDED = Fraction(1, 100)
_ROUNDED_DEGREES = Fraction(3, 5)
_NEARLY = 5  # so many times the rounding is too much to be equal and too little to be held against an answer
_APPROXIMATELY = Fraction(1, 10)
_MORE_EXACTLY = Fraction(11, 1000)  # 33.33 says 33 more exactly, 12.5 does not say 12
_SMALLEST_ROUNDED = 1000
_MOST_DIGITS = 8
_NONE = Unit("", Fraction(1))  # for numbers without a unit


class Match(IntEnum):
    """How well a number of the reference is met by the best one of the prediction."""

    NONE = 0
    OTHER_UNIT = 1
    POSSIBLE = 2
    AMBIGUOUS = 3
    EQUAL = 4


class Told:
    """The numbers of a prediction. Built in O(n log n), asked in O(log n)."""

    def __init__(self, items: Iterable[Item]) -> None:
        self.has_numbers = False
        self.has_weak = False
        self.has_years = False
        self.full_dates = False
        self._dates: dict[int | None, set[tuple[int | None, int | None, bool]]] = defaultdict(set)
        self._days: set[tuple[int | None, int | None]] = set()
        self._spans: set[tuple[int, int]] = set()
        self._clocks: set[tuple[int, ...]] = set()
        self._bare: set[Fraction] = set()
        self._with_unit: set[Fraction] = set()
        self._ordinals: set[Fraction] = set()
        self._loose: set[Fraction] = set()
        self._measures: dict[tuple[str, str], list[Fraction]] = defaultdict(list)
        for item in items:
            if isinstance(item, When):
                self._add_date(item)
            elif isinstance(item, Clock):
                self.has_numbers = True
                self._clocks.add(item.minutes)
            else:
                self._add_quantity(item)
        for values in self._measures.values():
            values.sort()

    def _add_date(self, item: When) -> None:
        self.has_numbers = True
        self.has_years |= item.year is not None
        self.full_dates |= item.is_full
        if item.year is not None and item.until is not None and item.is_span:
            self._spans.add((item.year, item.until))
            return
        if item.bare and item.year is not None:
            self._bare.add(Fraction(item.year))
        self._loose.update(Fraction(part) for part in (item.year, item.day) if part is not None)
        for year, month, day in item.readings:
            self._dates[year].add((month, day, item.swapped))
            self._days |= {(month, day), (month, None)}

    def _add_quantity(self, item: Quantity) -> None:
        self._loose.update((item.value, *item.others))
        if item.ordinal:
            self._ordinals.add(item.value)
        if item.weak:
            self.has_weak = True
            return
        self.has_numbers = True
        (self._with_unit if item.units else self._bare).add(item.value)
        for unit in item.units:
            self._measures[unit.dimension, unit.system].append(unit.base(item.value))
        if not item.units:
            self._measures[_NONE.dimension, _NONE.system].append(item.value)
        if not item.units and item.value.denominator > 1:  # half is 50%; but 20 is not 20%
            self._measures[PERCENT.dimension, PERCENT.system].append(item.value)

    def match(self, item: Item) -> Match:
        """How well `item` is met."""
        if isinstance(item, When):
            return self._match_date(item)
        if isinstance(item, Clock):
            return self._match_clock(item)
        return self._match_quantity(item)

    def _match_quantity(self, item: Quantity) -> Match:
        if item.units:
            best = max(self._measured(unit, item.value, about=item.about) for unit in item.units)
            if best is Match.NONE and item.value in self._bare:
                best = Match.POSSIBLE
            if best is Match.NONE and item.value in self._with_unit:
                return Match.OTHER_UNIT
        elif (
            item.value in self._bare or item.value in self._with_unit or (item.ordinal and item.value in self._ordinals)
        ) or (item.value.denominator > 1 and self._measured(PERCENT, 100 * item.value, about=False) is Match.EQUAL):
            best = Match.EQUAL
        else:
            best = self._measured(_NONE, item.value, about=item.about)
        loose = not self._loose.isdisjoint((item.value, *item.others))
        if best is Match.NONE and (loose or any(first <= item.value <= last for first, last in self._spans)):
            return Match.POSSIBLE
        return best

    def _measured(self, unit: Unit, value: Fraction, *, about: bool) -> Match:
        base, best = unit.base(value), Match.NONE
        rounded = _ROUNDED_DEGREES if unit.dimension == "temperature" else abs(base) * _ROUNDED
        for system in ("metric", "imperial"):
            across = system != unit.system
            for other in _nearest(self._measures.get((unit.dimension, system), ()), base):
                distance = abs(other - base)
                if distance <= (rounded if across else 0):
                    return Match.EQUAL
                if (
                    (across and distance <= _NEARLY * rounded)
                    or (about and distance <= abs(base) * _APPROXIMATELY)
                    or _is_rounded(value, other / unit.factor - unit.offset)
                    or (_is_rounded(other / unit.factor - unit.offset, value) and distance <= abs(base) * _MORE_EXACTLY)
                ):
                    best = Match.POSSIBLE
        return best

    def _match_date(self, item: When) -> Match:
        if item.is_span and item.year is not None and item.until is not None:
            if (item.year, item.until) in self._spans:
                return Match.EQUAL
            within = any(year in self._dates or year in self._loose for year in range(item.year, item.until + 1))
            return Match.POSSIBLE if within else Match.NONE
        if item.year is None:
            return Match.EQUAL if (item.month, item.day) in self._days else Match.NONE
        if item.bare and (item.year in self._bare or item.year in self._with_unit):
            return Match.EQUAL
        best = Match.NONE
        for year, month, day in item.readings:
            for other_month, other_day, swapped in self._dates.get(year, ()):
                if month in (None, other_month) and day in (None, other_day):
                    best = max(best, Match.AMBIGUOUS if (swapped or item.swapped) and month else Match.EQUAL)
                elif other_month in (None, month) and other_day in (None, day):
                    best = max(best, Match.POSSIBLE)
            if (month, day, False) in self._dates.get(None, ()):
                best = max(best, Match.POSSIBLE)
        in_span = any(first <= item.year <= last for first, last in self._spans)
        in_name = item.year in self._loose and item.year not in self._dates
        return max(best, Match.POSSIBLE) if in_span or in_name else best

    def _match_clock(self, item: Clock) -> Match:
        if any(other[0] == item.minutes[0] for other in self._clocks):
            return Match.EQUAL
        return Match.POSSIBLE if any(set(other) & set(item.minutes) for other in self._clocks) else Match.NONE


def _nearest(values: Sequence[Fraction], wanted: Fraction) -> Sequence[Fraction]:
    """Those of the sorted `values` on both sides of `wanted`."""
    at = bisect_left(values, wanted)
    return values[max(0, at - 1) : at + 1]


def _is_rounded(value: Fraction, other: Fraction) -> bool:
    """Whether `other` is `value` rounded to two digits or more: 760 for 759.96. Counts below 1000 are not rounded."""
    if value.denominator == 1 and abs(value) < _SMALLEST_ROUNDED:
        return False
    if Fraction(f"{float(other):.1g}") == other:
        return False
    for digits in range(2, _MOST_DIGITS):
        rounded = f"{float(other):.{digits}g}"
        if Fraction(rounded) == other:
            return f"{float(value):.{digits}g}" == rounded
    return False
