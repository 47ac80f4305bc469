"""How a row is read and judged beyond the equations: markup, flags, long predictions."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smile_lite.errors import UsageError
from smile_lite.metric import Smile
from smile_lite.report import RowScore
from smile_lite.rows import Row, json_line
from smile_lite.testing import FakeEncoder

SMILE = Smile(FakeEncoder())


def score(prediction: str, *references: str, question: str | None = None, smile: Smile = SMILE) -> RowScore:
    synthetic = (None,) * len(references)
    row = Row(id=1, prediction=prediction, references=references, question=question, synthetic=synthetic)
    return smile.score_rows([row]).rows[0]


MARKUP = [
    ("<think>Paris or Rome?</think>\nLyon", "Lyon", 1.0),
    ("<think>it must be Paris", "Paris", 0.0),
    ("**Final answer:** `a_b`", "a_b", 1.0),
    ("so it is $\\boxed{42}$", "42", 1.0),
    ("```python\nprint(1)\n```", "print(1)", 1.0),
    ("- Paris", "Paris", 1.0),
]


@pytest.mark.parametrize(("prediction", "reference", "exact"), MARKUP)
def test_the_answer_inside_its_markup_is_graded(prediction: str, reference: str, exact: float) -> None:
    assert score(prediction, reference).exact == exact


def test_markup_can_be_left_as_it_is_and_the_signature_tells() -> None:
    plain = Smile(FakeEncoder(), markup=False)
    thought = "<think>Paris</think> Lyon"
    assert score(thought, "Paris", smile=plain).exact == 1
    assert score(thought, "Paris").exact == 0
    assert "|markup:off|" in plain.score("a", "a").signature
    assert "|markup:m1|" in SMILE.score("a", "a").signature


def test_the_names_of_reasoning_tags_can_be_chosen_and_stand_in_the_signature() -> None:
    smile = Smile(FakeEncoder(), reasoning_tags=("musing",))
    assert score("<musing>Paris</musing> Lyon", "Paris", smile=smile).exact == 0
    assert score("<think>Paris</think> Lyon", "Paris", smile=smile).exact == 1
    assert "|markup:m1(musing)|" in smile.score("a", "a").signature
    with pytest.raises(UsageError, match="a reasoning tag is a name"):
        Smile(FakeEncoder(), reasoning_tags=("<think>",))


def test_nothing_but_reasoning_is_an_empty_prediction() -> None:
    row = score("<think>well, it could be Paris", "Paris")
    assert (row.score, row.reason, row.flags) == (0.0, "empty_prediction", ())


def test_the_published_profile_reads_the_text_as_it_is() -> None:
    smile = Smile(FakeEncoder(), profile="reference")
    assert "|markup:off|" in smile.score("a", "a").signature


FLAGGED = [
    ("There are 9.", "8", "How many?", "number_differs"),
    ("No, it is not.", "yes", "Is it?", "yes_no_opposite"),
    ("I'm sorry, I can't help with that.", "Paris", "Capital?", "refusal"),
    ("not disease causing", "disease causing", None, "negation_differs"),
]


@pytest.mark.parametrize(("prediction", "reference", "question", "flag"), FLAGGED)
def test_flags_are_on_the_row_and_change_nothing_unless_asked_to(
    prediction: str, reference: str, question: str | None, flag: str
) -> None:
    silent = score(prediction, reference, question=question)
    assert flag in silent.flags
    deciding = score(prediction, reference, question=question, smile=Smile(FakeEncoder(), guards=True))
    assert deciding.score == silent.score
    assert deciding.verdict == "incorrect"


def test_guards_turn_a_containment_into_a_refusal_of_it_and_the_signature_tells() -> None:
    smile = Smile(FakeEncoder(), guards=True)
    assert score("not disease causing", "disease causing").verdict == "correct"
    assert score("not disease causing", "disease causing", smile=smile).verdict == "incorrect"
    assert "|guards:g" in smile.score("a", "a").signature
    assert "|guards:off|" in SMILE.score("a", "a").signature


def test_guards_accept_an_equal_value_in_another_form() -> None:
    smile = Smile(FakeEncoder(), guards=True, threshold=0.9)
    row = score("$1.5B", "1,500 million USD", smile=smile)
    assert (row.flags, row.verdict) == (("equal_value",), "correct")


class Short(FakeEncoder):
    max_tokens = 8


LONG = " ".join([*(f"filler{number}" for number in range(30)), "the capital is Paris"])


def test_what_the_semantic_part_does_not_see_is_flagged_and_the_ngram_part_sees_all() -> None:
    row = score(LONG, "Paris", smile=Smile(Short()))
    assert row.flags == ("truncated",)
    assert row.exact == 1
    assert score("the capital is Paris", "Paris", smile=Smile(Short())).flags == ()


def test_a_window_over_a_long_prediction_finds_what_is_far_behind() -> None:
    window = Smile(Short(), long="window")
    far = score(LONG, "Paris", question="what is the capital", smile=window)
    cut = score(LONG, "Paris", question="what is the capital", smile=Smile(Short()))
    assert far.flags == ()
    assert (far.semantic or 0) > (cut.semantic or 0)
    assert "|len:8,window|" in far.signature
    with pytest.raises(UsageError, match="truncate, window"):
        Smile(Short(), long="middle")


def test_windows_make_no_difference_to_what_fits() -> None:
    rows = [Row(id=n, prediction=f"it is {n}", references=("it", "3"), synthetic=(None, None)) for n in range(5)]
    plain, window = (Smile(FakeEncoder(), long=long).score_rows(rows).scores for long in ("truncate", "window"))
    assert plain == window


def test_the_real_encoder_cuts_windows_that_it_reads_whole(smile: Smile) -> None:
    text = " ".join(f"word{number}" for number in range(400))
    pieces = smile.encoder.windows(text)  # type: ignore[attr-defined]
    assert len(pieces) > 3
    assert text.startswith(pieces[0])
    assert text.endswith(pieces[-1])
    assert all(piece in text for piece in pieces)
    beginning = smile.encoder.encode([text, pieces[0]])
    assert np.allclose(beginning[0], beginning[1], atol=1e-3)
    assert smile.encoder.windows("short") == ["short"]  # type: ignore[attr-defined]
    japanese = "日本の首都は東京です。" * 60
    assert "".join(dict.fromkeys(smile.encoder.windows(japanese)))  # type: ignore[attr-defined]
    assert score(text, "word399", smile=smile).flags == ("truncated",)


TEXTS = st.text(max_size=60) | st.text("aAbB12 .,-%$*_`<>\\{}東京가은\n\ud800", max_size=60)


@settings(max_examples=300)
@given(TEXTS)
def test_any_text_scores_one_against_itself_or_has_nothing_in_it(text: str) -> None:
    row = score(text, text)
    assert row.score == 1 or row.reason in ("empty_reference", "empty_prediction")
    assert not {"antonym", "number_differs", "yes_no_opposite", "negation_differs"} & set(row.flags)


@settings(max_examples=300)
@given(TEXTS, st.lists(TEXTS, max_size=3), TEXTS)
def test_any_row_gives_strict_json_and_parts_that_recombine_to_its_score(
    prediction: str, references: list[str], question: str
) -> None:
    row = score(prediction, *references, question=question)
    again = json.loads(json_line(row.to_dict()), parse_constant=lambda name: pytest.fail(name))
    if row.score is None:
        assert row.reason
        return
    parts = [again[name] for name in ("semantic", "lexical", "exact", "ngram_similarity")]
    assert all(0 <= part <= 1 for part in [*parts, row.score])
    assert again["lexical"] == pytest.approx((again["exact"] + again["ngram_similarity"]) / 2)
    assert row.score == pytest.approx(0.3 * parts[0] + 0.7 * parts[1])


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6), st.randoms())
def test_more_rows_and_another_order_never_change_a_row(pairs: list[tuple[str, str]], random: object) -> None:
    rows = [Row(id=n, prediction=p, references=(r,), synthetic=(None,)) for n, (p, r) in enumerate(pairs)]
    alone = {row.id: SMILE.score_rows([row]).rows[0] for row in rows}
    random.shuffle(rows)  # type: ignore[attr-defined]
    assert {row.id: row for row in SMILE.score_rows(rows).rows} == alone
