"""Units: what is the same measure, and how one turns into another. Exact fractions; one table, one reader.

Definitions: SI brochure (9th edition) and the international yard and pound agreement of 1959 (1 lb = 0.45359237 kg,
1 yd = 0.9144 m); US gallon 231 cubic inches; thermochemical calorie 4.184 J.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from smile_lite.guards.lexer import text_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smile_lite.guards.lexer import Token

__all__ = ["CURRENCY_MARKS", "PERCENT", "Unit", "read_unit"]


class Unit(NamedTuple):
    """`(value + offset) * factor` is the value in the dimension's base unit. Between two `system`s people round."""

    dimension: str
    factor: Fraction
    system: str = "metric"
    offset: Fraction = Fraction(0)

    def base(self, value: Fraction) -> Fraction:
        """`value` of this unit, in the base unit of its dimension."""
        return (value + self.offset) * self.factor


_ROWS = """
mass        0.000001    metric    μg ug mcg microgram micrograms
mass        0.001       metric    mg milligram milligrams
mass        1           metric    g gram grams gramme grammes
mass        1000        metric    kg kgs kilo kilos kilogram kilograms
mass        1000000     metric    tonne tonnes
mass        28.349523125 imperial oz ounce ounces
mass        453.59237   imperial  lb lbs pound pounds
mass        6350.29318  imperial  stone
mass        1000000     metric    ton tons
mass        907184.74   imperial  ton tons
length      0.000000001 metric    nm nanometer nanometers nanometre nanometres
length      0.000001    metric    μm micron microns micrometer micrometers micrometre micrometres
length      0.001       metric    mm millimeter millimeters millimetre millimetres
length      0.01        metric    cm centimeter centimeters centimetre centimetres
length      1           metric    m meter meters metre metres
length      1000        metric    km kms kilometer kilometers kilometre kilometres
length      0.0254      imperial  inch inches
length      0.3048      imperial  ft foot feet
length      0.9144      imperial  yd yds yard yards
length      1609.344    imperial  mi mile miles
length^2    10000       metric    ha hectare hectares
length^2    4046.8564224 imperial acre acres
length^3    0.000001    metric    ml milliliter milliliters millilitre millilitres cc
length^3    0.00001     metric    cl centiliter centiliters centilitre centilitres
length^3    0.0001      metric    dl deciliter deciliters decilitre decilitres
length^3    0.001       metric    l liter liters litre litres
length^3    0.003785411784 imperial gal gallon gallons
length^3    0.00454609  imperial  gal gallon gallons
length^3    0.000473176473 imperial pint pints
length^3    0.000946352946 imperial quart quarts
time        0.001       metric    ms millisecond milliseconds
time        1           metric    s sec secs second seconds
time        60          metric    min mins minute minutes
time        3600        metric    h hr hrs hour hours
time        86400       metric    day days
time        604800      metric    week weeks
months      1           metric    month months
months      12          metric    year years yr yrs
months      120         metric    decade decades
data        1           metric    bit bits
data        1000        metric    kbit kilobit kilobits
data        1000000     metric    mbit megabit megabits
data        1000000000  metric    gbit gigabit gigabits
data        8           metric    byte bytes
data        8000        metric    kb kilobyte kilobytes
data        8000000     metric    mb megabyte megabytes
data        8000000000  metric    gb gigabyte gigabytes
data        8000000000000 metric  tb terabyte terabytes
data/time   1000        metric    kbps
data/time   1000000     metric    mbps
data/time   1000000000  metric    gbps
length/time 0.44704     imperial  mph
length/time 1000/3600   metric    kph kmh kmph
energy      1           metric    joule joules
energy      1000        metric    kj kilojoule kilojoules
energy      4.184       metric    cal calorie calories
energy      4184        metric    kcal kcals kilocalorie kilocalories calorie calories
energy      3600000     metric    kwh
power       1           metric    watt watts
power       1000        metric    kw kilowatt kilowatts
power       1000000     metric    megawatt megawatts
power       1000000000  metric    gw gigawatt gigawatts
frequency   1           metric    hz hertz
frequency   1000        metric    khz kilohertz
frequency   1000000     metric    mhz megahertz
frequency   1000000000  metric    ghz gigahertz
voltage     1           metric    volt volts
voltage     1000        metric    kv kilovolt kilovolts
ratio       0.01        metric    percent pct
dollar      1           metric    dollar dollars buck bucks usd aud cad hkd nzd
dollar      0.01        metric    cent cents
euro        1           metric    euro euros eur
euro        0.01        metric    cent cents
sterling    1           metric    pound pounds gbp quid
sterling    0.01        metric    pence
yen         1           metric    yen jpy
yuan        1           metric    yuan cny rmb
rupee       1           metric    rupee rupees inr rs
won         1           metric    won krw
franc       1           metric    franc francs chf
ruble       1           metric    ruble rubles rub rouble roubles
"""
_CELSIUS = Unit("temperature", Fraction(1), "metric", Fraction("273.15"))
_FAHRENHEIT = Unit("temperature", Fraction(5, 9), "imperial", Fraction("459.67"))
_DEGREES = {
    **dict.fromkeys(("c", "celsius", "centigrade"), (_CELSIUS,)),
    **dict.fromkeys(("f", "fahrenheit"), (_FAHRENHEIT,)),
}
# Symbols that differ by case only, or are a unit in one case only.
_SYMBOLS = {
    "Mb": (Unit("data", Fraction(10**6)), Unit("data", Fraction(8 * 10**6))),
    "Gb": (Unit("data", Fraction(10**9)), Unit("data", Fraction(8 * 10**9))),
    "mW": (Unit("power", Fraction(1, 1000)),),
    "MW": (Unit("power", Fraction(10**6)),),
    "W": (Unit("power", Fraction(1)),),
    "V": (Unit("voltage", Fraction(1)),),
    "J": (Unit("energy", Fraction(1)),),
    "K": (Unit("temperature", Fraction(1)),),
    "kelvin": (Unit("temperature", Fraction(1)),),
}
PERCENT = Unit("ratio", Fraction(1, 100))
CURRENCY_MARKS = {
    "$": Unit("dollar", Fraction(1)),
    "¢": Unit("dollar", Fraction(1, 100)),
    "€": Unit("euro", Fraction(1)),
    "£": Unit("sterling", Fraction(1)),
    "¥": Unit("yen", Fraction(1)),
    "₹": Unit("rupee", Fraction(1)),
    "₩": Unit("won", Fraction(1)),
    "₽": Unit("ruble", Fraction(1)),
}
_POWERS = {"square": 2, "sq": 2, "cubic": 3}
_ADJECTIVES = frozenset(("us", "american", "imperial", "metric", "short", "long", "nautical", "fluid"))


def _table() -> dict[str, tuple[Unit, ...]]:
    found: dict[str, tuple[Unit, ...]] = {}
    for row in _ROWS.strip().splitlines():
        dimension, factor, system, *names = row.split()
        above, _, below = factor.partition("/")
        unit = Unit(dimension, Fraction(above) / Fraction(below or 1), system)
        for name in names:
            found[name] = (*found.get(name, ()), unit)
    return found


_NAMES = _table()


def read_unit(tokens: Sequence[Token], at: int) -> tuple[tuple[Unit, ...], int]:
    """The readings of the unit at token `at` (a pound is a mass or money), and the token behind it; else ((), at)."""
    start = at
    if text_at(tokens, at) == "-" and not tokens[at].gap:  # a 5-mile run
        at += 1
    units, end = _one_unit(tokens, at)
    if not units:
        return (), start
    if text_at(tokens, end) in ("/", "per") or (text_at(tokens, end) in ("a", "an") and units[0].dimension == "length"):
        below, behind = _one_unit(tokens, end + 1)
        if below:
            dimension = f"{units[0].dimension}/{below[0].dimension}"
            return (Unit(dimension, units[0].factor / below[0].factor, units[0].system),), behind
    return units, end


def _one_unit(tokens: Sequence[Token], at: int) -> tuple[tuple[Unit, ...], int]:
    word = text_at(tokens, at)
    if word == "%":
        return (PERCENT,), at + 1
    if word == "per" and text_at(tokens, at + 1) == "cent":
        return (PERCENT,), at + 2
    if word == "percentage" and text_at(tokens, at + 1) in ("point", "points"):
        return (PERCENT,), at + 2
    units: tuple[Unit, ...]
    if word in ("°", "degree", "degrees"):
        units = _DEGREES.get(text_at(tokens, at + 1), ())
        return (units, at + 2) if units else ((), at)
    if word in CURRENCY_MARKS:
        return (CURRENCY_MARKS[word],), at + 1
    if word in _ADJECTIVES:
        units, end = _one_unit(tokens, at + 1) if text_at(tokens, at + 1) in _NAMES else ((), at)
        return units, end
    if word in _POWERS:
        return _raised(_NAMES.get(text_at(tokens, at + 1), ()), _POWERS[word]), at + 2
    if word in ("celsius", "fahrenheit"):
        return _DEGREES[word], at + 1
    if word == "in" and (not tokens[at].gap or text_at(tokens, at + 1) in ("", ".", ",", ")", ";")):
        return _NAMES["inch"], at + 1
    written = tokens[at].written if word else ""
    units = _SYMBOLS.get(written) or _NAMES.get(word, ())
    if units and text_at(tokens, at + 1) == "^" and text_at(tokens, at + 2) in ("2", "3"):
        return _raised(units, int(tokens[at + 2].text)), at + 3
    return units, at + 1 if units else at


def _raised(units: tuple[Unit, ...], power: int) -> tuple[Unit, ...]:
    return tuple(
        Unit(f"length^{power}", unit.factor**power, unit.system) for unit in units if unit.dimension == "length"
    )
