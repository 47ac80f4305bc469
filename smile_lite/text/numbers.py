"""Numbers as words: one spelling for thousands separators, and the unit right behind a number is a word of its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SPACED_THOUSANDS", "one_spelling", "unit_at"]

_THOUSANDS = re.compile(
    r"""
    -? (?: [1-9]\d{0,2} (?:,\d{3})+ | [1-9]\d? (?:,\d{2})*,\d{3}      # 1,000,000 and the Indian 10,00,000
         | [1-9]\d{0,2} (?:'\d{3})+ | [1-9]\d{0,2} (?:\.\d{3}){2,} )   # the Swiss 1'000, the German 1.000.000
    (?! [\d,'] | \.\d{3}(?!\d) )
    """,
    re.VERBOSE,
)
# With plain spaces only where it can be nothing else: 10 000, 1 234 567; but 12 345 and 100 200 300 are several.
SPACED_THOUSANDS = r"""
    (?<![\w.,'/:]) (?<!\d[\ -]) [1-9]
    (?: \d{0,2} (?> (?:\ (?!000)\d{3})* \ 000 ) (?:\ \d{3})*+ | \d? (?:\ \d{3}){2,}+ )
    (?: [.,]\d+ )? (?! [\w'/:] | [\ .,-]\d )
"""
_INTERNET_ADDRESS = re.compile(r"(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|[1-9]?\d|1\d\d)")

# Abbreviations, in any case where they have two letters or more. Not here: 3rd, 1980s, 4K, 2x, 3D, 5G, B12, 1080p.
_UNIT_ROWS = """
kg kgs mg μg ug mcg lb lbs oz km kms cm mm nm μm ft in mi yd yds ml cl dl ha
hz khz mhz ghz kw mw gw kwh mwh gwh kv mv ma mah kj mj cal kcal pa kpa hpa mpa psi db mol mmol
kb mb gb tb pb kib mib gib bps kbps mbps gbps px dpi ppm ppb
ms ns μs min mins hr hrs sec secs yr yrs am pm ad bc ce bce mph kmh kph rpm fps bn mn tn usd eur gbp
"""
_UNITS = frozenset(_UNIT_ROWS.split())
_LETTERS = frozenset("gmhLlVW")  # written like this: 5 g is grams, 5G is not
_NUMBER_AND_UNIT = re.compile(r"[-+]?[\d.,:/'-]*\d([^\W\d_]{1,4})(?:\^-?\d)?")


def one_spelling(key: str) -> str:
    """The one spelling of a number: no thousands separators, a digit before the point."""
    grouped = _THOUSANDS.match(key)
    if grouped and not _INTERNET_ADDRESS.fullmatch(key):
        key = re.sub(r"[,'.]", "", grouped.group()) + key[grouped.end() :]
    return re.sub(r"^(-?)\.", r"\g<1>0.", key)


def unit_at(token: str, written: Callable[[int], str]) -> int:
    """Where in `token` a unit begins that stands right behind its number (5kg, 10:30am, 3m^2), or 0.

    `written(i)` is the character that became `token[i]`: case counts for units of one letter.
    """
    found = _NUMBER_AND_UNIT.fullmatch(token)
    if found and (found[1] in _UNITS or (len(found[1]) == 1 and written(found.start(1)) in _LETTERS)):
        return found.start(1)
    return 0
