from __future__ import annotations

import datetime as dt
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smile_lite.guards import FLAGS, flags
from smile_lite.guards.clocks import Clock
from smile_lite.guards.dates import When
from smile_lite.guards.lexer import tokenise
from smile_lite.guards.numerals import roman
from smile_lite.guards.quantities import Quantity, read_items


def raised(reference: str, prediction: str) -> set[str]:
    return set(flags(None, reference, prediction))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5mg, 1st", ["5", "mg", ",", "1", "st"]),
        ("1,234.5 and 1.234,5", ["1,234.5", "and", "1.234,5"]),
        ("10.12.2024", ["10", ".", "12", ".", "2024"]),
        ("May 1,1968", ["may", "1", ",", "1968"]),
        ("5 a.m. in the U.S.", ["5", "am", "in", "the", "us"]),
        ("isn’t .5 −3", ["isn't", ".5", "-", "3"]),
    ],
)
def test_text_is_cut_into_words_numbers_and_marks(text: str, expected: list[str]) -> None:
    assert [token.text for token in tokenise(text)] == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("twenty-one", 21),
        ("a hundred and five", 105),
        ("nineteen sixty-eight", 1968),
        ("nineteen oh five", 1905),
        ("two thousand and seventeen", 2017),
        ("one hundred twenty-three thousand four hundred fifty-six", 123456),
        ("thirty-five hundred", 3500),
        ("half a million", 500_000),
        ("one and a half million", 1_500_000),
        ("three point one four", Fraction(314, 100)),
        ("two thirds", Fraction(2, 3)),
        ("a quarter", Fraction(1, 4)),
        ("three dozen", 36),
        ("a thousand million", 10**9),
        ("twenty-first", 21),
        ("minus forty", -40),
        ("1,00,000", 100_000),
        ("1'000'000", 10**6),
        ("2.500.000", 2_500_000),
        ("3,5", Fraction(7, 2)),
        ("1.5e-3", Fraction(15, 10_000)),
        ("6.02×10²³", 602 * 10**21),
        ("2^10", 1024),
        ("2½", Fraction(5, 2)),
        ("7/8", Fraction(7, 8)),
        ("10 500 000", 10_500_000),
        ("40k", 40_000),
        ("3M", 3_000_000),
        ("2.5 crore", 25_000_000),
        ("Part IV", 4),
        ("Pope John XXIII", 23),
    ],
)
def test_a_number_has_its_value_however_it_is_written(text: str, value: Fraction) -> None:
    (item,) = read_items(tokenise(text))
    assert isinstance(item, Quantity)
    assert item.value == value


@pytest.mark.parametrize("text", ["x^2", "H", "mix", "I am", "Malcolm X", "CD", "march on"])
def test_what_is_no_number_is_none(text: str) -> None:
    assert read_items(tokenise(text)) == []


@pytest.mark.parametrize(
    ("written", "value"), [("XIV", 14), ("MCMXCIX", 1999), ("IIII", None), ("iv", None), ("", None)]
)
def test_roman_numerals(written: str, value: int | None) -> None:
    assert roman(written) == value


@pytest.mark.parametrize(
    ("text", "year", "month", "day"),
    [
        ("December 10, 2024", 2024, 12, 10),
        ("10 December 2024", 2024, 12, 10),
        ("10th of Dec. 2024", 2024, 12, 10),
        ("Dec 10th, 2024", 2024, 12, 10),
        ("10-Dec-2024", 2024, 12, 10),
        ("2024/12/10", 2024, 12, 10),
        ("25/12/2024", 2024, 12, 25),
        ("12/25/2024", 2024, 12, 25),
        ("25.12.24", 2024, 12, 25),
        ("the fourth of July 1776", 1776, 7, 4),
        ("Sept 1999", 1999, 9, None),
        ("44 BC", -44, None, None),
        ("AD 79", 79, None, None),
    ],
)
def test_dates(text: str, year: int, month: int | None, day: int | None) -> None:
    (item,) = read_items(tokenise(text))
    assert isinstance(item, When)
    assert (item.year, item.month, item.day, item.swapped) == (year, month, day, False)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [("1990s", 1990, 1999), ("the '80s", 1980, 1989), ("1800's", 1800, 1899), ("the nineties", 1990, 1999)],
)
def test_decades_and_centuries_are_spans(text: str, first: int, last: int) -> None:
    (item,) = read_items(tokenise(text))
    assert isinstance(item, When)
    assert (item.year, item.until) == (first, last)


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("10:30", (630, 1350)),
        ("22:30", (1350,)),
        ("10:30 p.m.", (1350,)),
        ("12 am", (0,)),
        ("noon", (720,)),
        ("7 o'clock", (420, 1140)),
        ("half past ten", (630, 1350)),
        ("quarter to 5", (285, 1005)),
    ],
)
def test_times_of_day(text: str, minutes: tuple[int, ...]) -> None:
    (item,) = read_items(tokenise(text))
    assert isinstance(item, Clock)
    assert item.minutes == minutes


@pytest.mark.parametrize(
    ("reference", "prediction"),
    [
        ("7", "There are seven of them."),
        ("2,500 million USD", "$2.5B"),
        ("USD 1.5bn", "$1,500,000,000"),
        ("30%", "thirty per cent"),
        ("25%", "0.25"),
        ("50%", "half of it"),
        ("0.75", "3/4"),
        ("World War I", "World War 1"),
        ("Henry VIII", "Henry the Eighth"),
        ("3 kg", "3000 grams"),
        ("90 minutes", "1 hour and 30 minutes"),
        ("5 ft 10 in", "70 inches"),
        ("10 miles", "16 km"),
        ("1 mile", "1760 yards"),
        ("100 °C", "212 °F"),
        ("54 Mbit/s", "54 Mbps"),
        ("$50", "50 dollars"),
        ("75 cents", "$0.75"),
        ("5 pounds", "£5"),
        ("2023-03-04", "4 March 2023"),
        ("March 4, 2023", "the 4th of March 2023"),
        ("22:15", "10:15 pm"),
        ("the 1980s", "the eighties"),
        ("1st", "first"),
        ("10-15", "between 10 and 15"),
        ("-40", "minus forty"),
        ("150,000,000", "1.5×10^8"),
        ("0.3", "0.30"),
        ("about 12", "a dozen"),
        ("11 May 1990", "It opened on Friday, May 11th, 1990."),
    ],
)
def test_the_same_value_in_another_form_is_equal(reference: str, prediction: str) -> None:
    assert raised(reference, prediction) == {"equal_value"}


@pytest.mark.parametrize(
    ("reference", "prediction"),
    [
        ("7 samurai", "seven dwarfs"),
        ("1990 Ford", "the nineteen ninety Toyota"),
        ("20%", "20"),
        ("I", "1"),
        ("1978", "December 1, 1978"),
        ("December 1, 1978", "1978"),
        ("December 1, 1978", "It was in December 1978."),
        ("4 May 2020", "4.5.2020"),
        ("the 1980s", "1984"),
        ("9:00", "9 pm"),
        ("1234", "1,234"),
        ("19th century", "1850"),
        ("Malcolm X", "Malcolm 10"),
    ],
)
def test_another_thing_or_a_vaguer_or_the_same_form_is_not(reference: str, prediction: str) -> None:
    assert not raised(reference, prediction) & {"equal_value", "number_differs", "number_missing", "date_differs"}


@pytest.mark.parametrize(
    ("reference", "prediction"),
    [
        ("7", "8"),
        ("4.5", "45"),
        ("12", "12.5"),
        ("-6", "6"),
        ("three cats", "two cats"),
        ("5 mg", "50 mg"),
        ("Take 5 mg for 10 days", "Take 50 mg for 10 days"),
        ("between 5 and 10", "5 to 12"),
        ("1 million", "1 billion"),
        ("5", "5 million"),
        ("2", "2 1/2"),
        ("7 p.m.", "7 a.m."),
        ("Apollo 11", "Apollo 13"),
        ("the first", "the second"),
        ("999", "1000"),
        ("0.3", "0.30000000000000004"),
        ("20%", "30%"),
    ],
)
def test_another_number_differs(reference: str, prediction: str) -> None:
    assert raised(reference, prediction) == {"number_differs"}


@pytest.mark.parametrize(
    ("reference", "prediction"),
    [
        ("7", "Seven, of 8"),
        ("3.14", "3.14159"),
        ("759.96", "about 760"),
        ("33%", "one third"),
        ("about 5000", "5,040"),
        ("1987", "It fell in19871."),
        ("the year 1987", "1986-87"),
        ("12,5", "12.5"),
        ("$3 to $5 million", "three to five million dollars"),
        ("224.7", "It takes 224. 7 days"),
        ("5 apples", "exactly 5 green apples"),
        ("3 or more", "three"),
    ],
)
def test_a_rounded_or_damaged_or_further_number_does_not(reference: str, prediction: str) -> None:
    assert not against(reference, prediction)


def against(reference: str, prediction: str) -> set[str]:
    return {name for name in raised(reference, prediction) if FLAGS[name].effect == "against"}


@pytest.mark.parametrize(
    ("reference", "prediction"),
    [
        ("7", "quite a lot"),
        ("42 km", "It is a long way."),
        ("1968", "Alaska"),
        ("May 2018", "in the spring"),
        ("three", "many"),
        ("20%", "a small part"),
        ("10:30", "in the morning"),
        ("Apollo 11", "Apollo"),
        ("$5", "It is cheap, as one would expect"),
    ],
)
def test_no_number_at_all_is_missing(reference: str, prediction: str) -> None:
    assert raised(reference, prediction) == {"number_missing"}


@pytest.mark.parametrize(
    ("reference", "prediction"),
    [
        ("Oslo", "It is far."),
        ("first aid", "aid"),
        ("one love", "love"),
        ("2", "both"),
        ("1", "a single one"),
        ("the Magna Carta of 1215", "the Magna Carta"),
        ("no", "It has none."),
        ("two", "a pair"),
    ],
)
def test_no_number_is_missing_where_none_counts(reference: str, prediction: str) -> None:
    assert "number_missing" not in raised(reference, prediction)


@pytest.mark.parametrize(
    ("reference", "prediction"),
    [
        ("7 mg", "7 g"),
        ("7 miles", "7 km"),
        ("2 hours", "2 days"),
        ("€50", "$50"),
        ("8 GB", "8 MB"),
        ("30 °C", "30 °F"),
        ("60 mph", "60 km/h"),
        ("10 minutes", "10 seconds"),
        ("3 square metres", "3 square feet"),
    ],
)
def test_the_same_number_with_another_unit_differs_in_unit(reference: str, prediction: str) -> None:
    assert raised(reference, prediction) == {"unit_differs"}


@pytest.mark.parametrize(
    ("reference", "prediction"),
    [
        ("7 mg", "7"),
        ("7", "7 mg"),
        ("7 mg", "7 milligrams"),
        ("5 lb", "5 pounds"),
        ("5 kg", "11 lb"),
        ("8 apples", "8 oranges"),
        ("10 minutes", "600 seconds"),
        ("5 km (3 miles)", "3 miles"),
        ("US$5", "5 dollars"),
    ],
)
def test_a_unit_unsaid_converted_or_spelled_out_does_not(reference: str, prediction: str) -> None:
    assert "unit_differs" not in raised(reference, prediction)


@pytest.mark.parametrize(
    ("reference", "prediction"),
    [
        ("1832", "It was in 1974."),
        ("December 1, 1968", "December 5, 1968"),
        ("2020-06-30", "2020-06-03"),
        ("4 May 2001", "4 May 2002"),
        ("in 1999", "In 1998, I believe."),
        ("44 BC", "44 AD"),
        ("the 1980s", "the 1970s"),
        ("19th century", "in the 1700s"),
        ("10/12/2024", "10/12/2023"),
    ],
)
def test_another_date_differs(reference: str, prediction: str) -> None:
    assert raised(reference, prediction) == {"date_differs"}


@pytest.mark.parametrize(
    ("reference", "prediction", "expected"),
    [
        ("03/04/2021", "2021-04-03", {"date_ambiguous"}),
        ("03/04/2021", "2021-03-04", {"date_ambiguous"}),
        ("2021-04-03", "3.4.2021", {"date_ambiguous"}),
        ("April 3, 2021", "It was on 04/03/2021", {"date_ambiguous"}),
        ("03/04/2021", "04/03/2021", {"date_ambiguous"}),
        ("03/04/21", "3 April 2021", {"date_ambiguous"}),
        ("03/04/2021", "5 June 2021", {"date_differs"}),
        ("13/04/2021", "2021-04-13", {"equal_value"}),
        ("04/04/2021", "2021-04-04", {"equal_value"}),
        ("03/04/2021", "03/04/2021", set()),
        ("03/04/2021", "in 2021", set()),
    ],
)
def test_a_date_with_two_readings_is_never_silently_equal(reference: str, prediction: str, expected: set[str]) -> None:
    assert raised(reference, prediction) == expected


@given(st.integers(0, 10**15))
def test_grouping_never_changes_a_value(number: int) -> None:
    assert raised(str(number), f"{number:,}") <= {"equal_value"}
    assert not against(f"{number:,}", str(number))


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_different_whole_numbers_below_a_thousand_are_told_apart(one: int, other: int) -> None:
    one, other = one % 1000, other % 1000
    found = against(f"{one} cats", f"{other} cats")
    assert found == (set() if one == other else {"number_differs"})


@given(st.dates(dt.date(1000, 1, 1)))
def test_a_date_is_the_same_in_every_unambiguous_writing(date: dt.date) -> None:
    iso = f"{date:%Y-%m-%d}"
    for form in ("%d %B %Y", "%B %d, %Y", "%b. %d, %Y", "%Y/%m/%d"):
        assert not against(iso, f"{date:{form}}")
