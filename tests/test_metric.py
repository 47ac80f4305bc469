from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smile_lite.errors import InputError, UsageError
from smile_lite.metric import Smile
from smile_lite.rows import Row
from smile_lite.testing import FakeEncoder

PAPER = Smile(FakeEncoder())


def one(prediction: str | None, *references: str, smile: Smile = PAPER, **fields: Any) -> Any:
    row = Row(id="r", references=references, prediction=prediction, **fields)
    return smile.score_rows([row]).rows[0]


def test_a_prediction_equal_to_its_reference_scores_exactly_one() -> None:
    row = one("The quick brown fox", "The quick brown fox", question="Q?")
    assert (row.score, row.semantic, row.exact, row.ngram_similarity) == (1.0, 1.0, 1.0, 1.0)
    assert row.bin == 5


@pytest.mark.parametrize(
    ("reference", "prediction", "exact"),
    [
        ("Paris", "It is Paris.", 1),
        ("the White House", "He lives in a white house", 1),
        ("A", "B", 0),
        ("A", "(A) is right", 1),
        ("A positive", "O positive", 0),
        ("A minor", "E minor", 0),
        ("The Who", "who knows", 0),
        ("The Beatles", "Beatles", 1),
        ("$5", "-$5", 0),
        ("-$5", "$5", 0),
        ("5", 'the value is "-5"', 0),
        ("0,125", "0125", 0),
        ("10000", "10\u202f000", 1),
        ("0.5", ".5", 1),
        ("ガ", "ｶﾞ", 1),
        ("The", "anything", 0),
        ("no", "nobody knows", 0),
        ("US", "us", 1),
        ("gas", "ga", 0),
        ("boss", "bos", 0),
        ("3.5", "35", 0),
        ("-5", "5", 0),
        ("1/2", "12", 0),
        ("10:30", "1030", 0),
        ("3-4", "34", 0),
        ("x^2", "x2", 0),
        ("100000", "100,000", 1),
        ("100000", "1,00,000", 1),
        ("C++", "C#", 0),
        ("hello world", "world hello", 0),
        ("東京", "日本の首都は東京です。", 1),
        ("《红楼梦》", "红楼梦。", 1),
        ("Straße", "STRASSE", 1),
        ("İstanbul", "istanbul", 1),
        ("ΣΊΣΥΦΟΣ", "σίσυφος", 1),
        ("a_b", "`a_b`", 1),
        ("SELECT *", "SELECT  *", 1),
        ("Orbit Stretchmax™ Band", "It is Orbit Stretchmax(TM) Band", 1),
        ("New York New York", "New York New York", 1),
        ("+", "+", 1),
        ("?", "what?", 0),
        ("None", "none", 1),
        ("{query}", "{document} {0}", 0),
        ("100%", "%s", 0),
    ],
)
def test_exact_match_is_containment_on_word_boundaries(reference: str, prediction: str, exact: int) -> None:
    assert one(prediction, reference).exact == exact


def test_strict_exact_match_wants_the_whole_prediction() -> None:
    strict = Smile(FakeEncoder(), exact="strict")
    assert one("It is Paris.", "Paris", smile=strict).exact == 0
    assert one("It is Paris.", "Paris", smile=strict).ngram_similarity == 1
    assert one("hello hello", "hello", smile=strict).exact == 0
    assert one("The Danube.", "the danube", smile=strict).exact == 1
    assert one("the Danube", "Danube", smile=strict).exact == 1
    assert "em:strict" in strict.score("a", "b").signature


def test_the_best_ngram_is_named_as_it_was_written() -> None:
    row = one("It was written by George Elliot, they say.", "George Eliot")
    assert row.best_ngram == "George Elliot"
    assert one("日本の首都は東京です。", "東京").best_ngram == "東京"
    assert one("Paris", "the capital city of France").best_ngram == "Paris"


def test_the_best_of_several_references_counts_and_is_named_by_its_index() -> None:
    row = one("Scadrial", "region called the Final Empire", "", "world called Scadrial")
    assert row.best_reference == 2
    assert one("b", "a", "b").best_reference == 1
    assert one("b", "b", "b").best_reference == 0


def test_a_further_reference_never_lowers_a_score() -> None:
    alone = one("It was Lyon", "Lyon", question="Where?")
    assert one("It was Lyon", "Paris", "Lyon", question="Where?").score == alone.score


def test_a_synthetic_answer_given_is_what_the_meaning_is_compared_with() -> None:
    given = one("It is Paris.", "Paris", synthetic=("It is Paris.",))
    assert given.semantic == 1.0
    assert "syn:given|" in given.signature


def test_without_a_synthetic_answer_the_nearer_of_reference_and_question_plus_reference_counts() -> None:
    question, reference, prediction = "Capital of France?", "Paris", "The capital of France is Paris"
    got = one(prediction, reference, question=question)
    either = [one(prediction, reference, synthetic=(text,)).semantic for text in (reference, f"{question} {reference}")]
    assert got.semantic == max(either)
    assert "syn:max(ref,question+ref)|" in got.signature
    assert one(prediction, reference, question=question, synthetic=("  ",)).semantic == got.semantic


def test_an_empty_prediction_scores_zero_in_every_part_with_a_reason() -> None:
    for prediction in ("", " \t\n\u00a0\u200b"):
        row = one(prediction, "good morning to all")
        assert (row.score, row.semantic, row.lexical, row.exact, row.ngram_similarity) == (0, 0, 0, 0, 0)
        assert (row.reason, row.verdict, row.bin) == ("empty_prediction", "incorrect", 0)


def test_the_worth_of_an_empty_prediction_is_the_user_s_to_choose() -> None:
    assert one("", "x", smile=Smile(FakeEncoder(), on_empty="null")).score is None
    with pytest.raises(InputError, match="the prediction is empty"):
        one("", "x", smile=Smile(FakeEncoder(), on_empty="error"))
    assert "empty:null" in Smile(FakeEncoder(), on_empty="null").score("a", "b").signature


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (Row(id=1, references=(), prediction="x"), "empty_reference"),
        (Row(id=1, references=("", " \u200b"), prediction="x"), "empty_reference"),
        (Row(id=1, references=("",), prediction=""), "empty_reference"),
        (Row(id=1, references=("a",), prediction=None), "missing_prediction"),
        (Row(id=1, reason="bad_row"), "bad_row"),
    ],
)
def test_a_row_that_cannot_be_scored_has_null_and_a_reason(row: Row, reason: str) -> None:
    scored = PAPER.score_rows([row]).rows[0]
    assert (scored.score, scored.verdict, scored.bin, scored.reason) == (None, None, None, reason)


def test_unscored_rows_keep_their_place_and_are_never_averaged_in() -> None:
    report = PAPER.score(["A B C", "", "x", "C D E"], ["A B C", "B C D", None, "C D E"], ids=list("abcd"))
    assert [row.id for row in report.rows] == ["a", "b", "c", "d"]
    assert report.scores == [1.0, 0.0, None, 1.0]
    assert report.mean == pytest.approx(2 / 3)
    assert report.summary.n_scored == 3


def test_a_str_is_one_item() -> None:
    assert len(PAPER.score("swag", "swags").scores) == 1


def test_rows_do_not_change_one_another() -> None:
    rows = [
        Row(
            id=number,
            references=(f"w{number % 7} x",),
            prediction=f"a w{number} x b {number}",
            question=f"q{number % 3}",
        )
        for number in range(60)
    ]
    whole = PAPER.score_rows(rows).scores
    assert [PAPER.score_rows([row]).scores[0] for row in rows] == whole
    assert PAPER.score_rows(rows[::-1]).scores == whole[::-1]


def test_a_long_reference_costs_what_is_linear_in_the_prediction() -> None:
    encoder = FakeEncoder()
    smile = Smile(encoder)
    prediction = " ".join(f"p{number}" for number in range(4000))
    row = one(prediction, " ".join(f"r{number}" for number in range(2000)), smile=smile)
    assert row.score is not None
    assert len(encoder.texts) < 100
    assert max(len(text.split()) for text in encoder.texts if text != prediction) <= 2000
    tail = " ".join(prediction.split()[-2000:])
    assert one(prediction, tail, smile=smile).exact == 1
    assert one(prediction + " end", tail + " stop", smile=smile).best_ngram.split()[-1] == "end"


def test_chunks_do_not_change_a_score(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [Row(id=number, references=("x y",), prediction=f"a {number} y") for number in range(10)]
    whole = PAPER.score_rows(rows).scores
    monkeypatch.setattr("smile_lite.metric._ROWS_PER_CHUNK", 3)
    assert PAPER.score_rows(rows).scores == whole


def test_every_part_is_shown_for_every_reference() -> None:
    row = Row(id=1, references=("Paris", "", "Lyon"), prediction="It is Lyon", question="Q?")
    score, pairs = PAPER.explain(row)
    assert [pair.reference for pair in pairs] == [0, 2]
    assert score.score == max(pair.score for pair in pairs)
    assert PAPER.explain(Row(id=1, references=("a",), prediction=""))[1] == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"profile": "other"}, "no profile is called 'other'"),
        ({"weight": 1.5}, "between 0 and 1"),
        ({"exact": "fraction"}, "knows no exact match 'fraction'"),
        ({"on_empty": "skip"}, "on_empty is one of"),
        ({"threshold": 2}, "a threshold lies between 0 and 1"),
        ({"threshold": 0.5, "verdict": "paper"}, "not by both"),
        ({"verdict": "calibrated"}, "there is no calibration"),
    ],
)
def test_settings_that_do_not_exist_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Smile(FakeEncoder(), **options)


def test_a_scorer_survives_pickling() -> None:
    assert pickle.loads(pickle.dumps(PAPER)).score("a b", "a").scores == PAPER.score("a b", "a").scores  # noqa: S301


ANYTHING = st.text(st.characters(exclude_categories=()))


@settings(deadline=None)
@given(ANYTHING, ANYTHING, ANYTHING, st.none() | ANYTHING)
def test_any_row_gives_a_score_in_bounds_whose_parts_add_up(
    question: str, reference: str, prediction: str, synthetic: str | None
) -> None:
    row = one(prediction, reference, question=question, synthetic=(synthetic,))
    json.dumps(row.to_dict(), allow_nan=False)
    if row.score is None:
        assert row.reason == "empty_reference"
        return
    assert 0 <= row.score <= 1
    assert row.score == pytest.approx(0.3 * row.semantic + 0.7 * (row.exact + row.ngram_similarity) / 2, abs=1e-12)
    assert row.lexical == (row.exact + row.ngram_similarity) / 2
    assert row.bin == min(5, int(6 * row.score))
    assert row.score <= 0.65 + 1e-12 if not row.exact else row.score >= 0.70 - 1e-12 or row.reason is not None


@settings(deadline=None)
@given(ANYTHING, ANYTHING)
def test_any_text_against_itself_scores_one_unless_it_is_blank(text: str, question: str) -> None:
    assert one(text, text, question=question).score in ((None,) if not one(text, "x").score else (1.0,))
