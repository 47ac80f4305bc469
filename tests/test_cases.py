"""Inputs that broke programs like this one (shared/inputs/cases.jsonl): rows, files and the command line.

Those about models, processors and generators are in test_cases_models.py; `NOT_RUN` of case_runner.py lists the rest.
"""

from __future__ import annotations

import csv
import io
import json
import re
import resource
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from smile_lite.errors import InputError
from smile_lite.metric import Smile
from smile_lite.rows import FieldMap, row_from_mapping
from smile_lite.store import PulledModel
from smile_lite.testing import FakeEncoder

from . import test_cases_models
from .case_runner import ASSERTED, FILE, NOT_RUN, Case, all_cases, asserts, find_case, jsonl, program
from .conftest import Run, shared

README = Path(__file__).resolve().parent.parent / "README.md"


@pytest.fixture
def case(request: pytest.FixtureRequest) -> Case:
    return find_case(request.param)


def test_every_case_is_asserted_or_listed_with_a_reason() -> None:
    shared(FILE)
    assert test_cases_models.__name__ in sys.modules  # its cases are in the table
    assert not set(ASSERTED) & set(NOT_RUN)
    assert set(ASSERTED) | set(NOT_RUN) == set(all_cases())
    assert len(NOT_RUN) <= 30
    assert all(reason.startswith(("later issue: ", "out of scope: ")) for reason in NOT_RUN.values())


def test_every_row_of_every_case_is_graded_within_bounds() -> None:
    shared(FILE)
    for case in all_cases().values():
        for row in case.grade() if case.rows else ():
            json.dumps(row.to_dict(), allow_nan=False)
            assert row.score is None or 0 <= row.score <= 1, case.id
            assert row.score is not None or row.reason, case.id


# What many cases have in common: a value for each of their rows.

EXACT: dict[str, list[int | None]] = {  # None: the case does not say
    "EMP-011": [0, 0, 0],
    "LEX-044": [1],
    "LEX-045": [1, 0, 0],
    "LEX-047": [0],
    "NUM-052": [1],
    "NUM-055": [0, 0, 0, 0, 0, 0],
    "POL-064": [0, 0, None, 0],
    "UNI-029": [1, 0],
    "UNI-030": [1],
    "UNI-036": [1],
    "UNI-037": [1, 1, 1],
    "MAR-067": [1],
    "MAR-071": [1, 1],
    "MAR-072": [1, 1, 1],
    "MAR-073": [1, 1],
    "MAR-076": [1, 1, 1],
    "MAR-077": [0, 0],
    "DAT-088": [1, 1],
}
REASONS = {
    "EMP-002": ["empty_prediction"],
    "EMP-003": ["empty_prediction", "empty_reference", "empty_reference"],
    "EMP-004": [None, "empty_reference", None],
    "EMP-005": ["empty_prediction", None, None],
    "EMP-006": ["empty_prediction", "empty_prediction"],
    "EMP-007": ["empty_prediction"],
    "EMP-008": ["empty_reference"],
    "NAN-013": [None, "missing_reference"],
    "NAN-018": ["empty_reference", None],
    "MAR-066": [None, "empty_prediction"],
    "DAT-086": [None, None, "empty_reference"],
}
FLAGS = {
    "LEX-043": [("hedged",)],
    "NUM-054": [("equal_value",)],
    "NUM-056": [("equal_value",), ("equal_value",), ("equal_value",)],
    "NUM-058": [("equal_value",), ("date_ambiguous",)],
    "POL-060": [("antonym",), ()],
    "POL-061": [("negation_differs",)],
    "POL-062": [("antonym",)],
    "POL-064": [("yes_no_opposite",), ("yes_no_opposite",), ("yes_no_both",), ()],
    "POL-065": [("negation_differs",)],
}
VERDICTS: dict[str, list[str | None]] = {  # where the flags have a say; None: the case does not say
    "LEX-043": ["incorrect"],
    "NUM-054": ["correct"],
    "NUM-056": ["correct", "correct", "correct"],
    "NUM-058": ["correct", "incorrect"],
    "POL-060": ["incorrect", None],  # that row 2 ranks above row 1 belongs to the ranking of groups
    "POL-061": ["incorrect"],
    "POL-062": ["incorrect"],
    "POL-064": ["incorrect", "incorrect", "incorrect", "incorrect"],
    "POL-065": ["incorrect"],
}
BEST = {"DAT-086": [0, 2, None], "DAT-087": [1]}  # index of the reference that counts


@asserts(*EXACT)
def test_exact_match_is_what_the_case_expects(case: Case) -> None:
    assert where_said([row.exact for row in case.grade()], EXACT[case.id]) == EXACT[case.id]


def where_said(values: Sequence[object], expected: Sequence[object]) -> list[object]:
    return [None if wanted is None else value for value, wanted in zip(values, expected, strict=True)]


@asserts(*REASONS)
def test_reasons_are_what_the_case_expects(case: Case) -> None:
    rows = case.grade()
    assert [row.reason for row in rows] == REASONS[case.id]
    for row in rows:
        if row.reason == "empty_prediction":
            assert (row.score, row.semantic, row.lexical, row.exact, row.ngram_similarity) == (0, 0, 0, 0, 0)
        elif row.reason is not None:
            assert (row.score, row.verdict) == (None, None)


@asserts(*FLAGS)
def test_flags_and_the_verdict_they_decide_are_what_the_case_expects(case: Case) -> None:
    rows = case.grade(guards=True)
    assert [row.flags for row in rows] == FLAGS[case.id]
    assert where_said([row.verdict for row in rows], VERDICTS[case.id]) == VERDICTS[case.id]
    assert [row.flags for row in case.grade()] == FLAGS[case.id]  # they are shown although they decide nothing


@asserts(*BEST)
def test_the_best_reference_is_what_the_case_expects(case: Case) -> None:
    assert [row.best_reference for row in case.grade()] == BEST[case.id]


@asserts("RAN-019", "RAN-028", "NAN-015", "DAT-095")
def test_equal_texts_score_exactly_one(case: Case, smile: Smile) -> None:
    for grader in (Smile(FakeEncoder()), smile):
        row = case.grade(grader)[0]
        assert (row.score, row.exact, row.verdict) == (1.0, 1, "correct")


# Empty and missing texts.


@asserts("EMP-001")
def test_an_empty_prediction_scores_zero_and_leaves_other_rows_alone(case: Case, smile: Smile) -> None:
    reference, prediction = case.rows[0]
    around = ["Hello World.", prediction, "Good night."]
    rows = smile.score(around, [reference] * 3).rows
    assert (rows[1].score, rows[1].reason) == (0.0, "empty_prediction")
    alone = [smile.score(text, reference).rows[0].score for text in around]
    assert [row.score for row in rows] == pytest.approx(alone, abs=1e-6)


@asserts("EMP-003")
@pytest.mark.usefixtures("minilm")
def test_what_an_empty_prediction_is_worth_is_configured_alike_in_both_interfaces(case: Case, tmp_path: Path) -> None:
    path = case.write(tmp_path)
    for setting, worth in (("zero", 0.0), ("null", None)):
        rows = case.grade(on_empty=setting)
        told = program(tmp_path, "score", path, "--on-empty", setting).rows
        assert [row.score for row in rows] == [row["score"] for row in told] == [worth, None, None]
        assert [row.reason for row in rows] == [row["reason"] for row in told]
        assert all(f"|empty:{setting}|" in signature for signature in (rows[0].signature, told[0]["signature"]))
    with pytest.raises(InputError, match="the prediction is empty"):
        case.grade(on_empty="error")
    assert program(tmp_path, "score", path, "--on-empty", "error").code == 2
    assert "--on-empty zero|null|error" in README.read_text(encoding="utf-8")


@asserts("EMP-005")
def test_an_empty_prediction_keeps_its_place_and_counts_in_the_mean(case: Case) -> None:
    references, predictions = zip(*case.rows, strict=True)
    report = Smile(FakeEncoder()).score(predictions, references)
    assert report.scores == [0.0, 1.0, 1.0]
    assert report.mean == pytest.approx(2 / 3)


@asserts("EMP-006")
def test_a_reference_never_takes_the_place_of_an_empty_prediction(case: Case) -> None:
    rows = case.grade()
    assert [row.score for row in rows] == [0.0, 0.0]
    assert [row.best_ngram for row in rows] == ["", ""]


@asserts("EMP-007")
def test_what_cannot_be_seen_is_graded_as_nothing(case: Case) -> None:
    reference, prediction = case.rows[0]
    assert prediction
    fake = Smile(FakeEncoder())
    assert fake.score(prediction, reference, ids=1).rows == fake.score("", reference, ids=1).rows


@asserts("EMP-012")
def test_nothing_a_refusal_and_another_answer_are_told_apart(case: Case) -> None:
    nothing, refusal, other = case.grade(guards=True)
    assert (nothing.reason, nothing.flags) == ("empty_prediction", ())
    assert (refusal.reason, refusal.flags, refusal.verdict) == (None, ("refusal",), "incorrect")
    assert (other.reason, other.flags, other.verdict) == (None, ("number_differs",), "incorrect")


@asserts("NAN-013")
def test_the_mean_is_over_scored_rows_and_the_others_are_counted(case: Case) -> None:
    references, predictions = zip(*case.rows, strict=True)
    report = Smile(FakeEncoder()).score(predictions, references)
    summary = report.summary.to_dict()
    assert report.scores == [1.0, None]
    assert report.verdicts == ["correct", None]
    assert (summary["mean"], summary["n_scored"], summary["n_unscored"]) == (1.0, 1, 1)
    assert summary["reasons"] == {"missing_reference": 1}


@asserts("NAN-015", "RAN-028")
def test_the_summary_of_one_row_holds_one_and_nothing_that_is_not_finite(case: Case) -> None:
    references, predictions = zip(*case.rows, strict=True)
    report = Smile(FakeEncoder()).score(predictions, references)
    json.dumps(report.to_dict(), allow_nan=False)
    assert (report.summary.n_scored, report.mean) == (1, 1.0)
    assert "mean 1.0000, correct 1 (100.0%)" in str(report)


@asserts("NAN-018")
@pytest.mark.usefixtures("minilm")
def test_what_is_written_is_strict_json(case: Case, tmp_path: Path) -> None:
    path = case.write(tmp_path)

    def refuse(constant: str) -> Any:
        raise AssertionError(constant)

    lines = program(tmp_path, "score", path, "--summary", "s.json").rows  # Run.rows refuses NaN and Infinity
    whole = json.loads(program(tmp_path, "score", path, "--format", "json").out, parse_constant=refuse)
    assert lines == whole
    assert [row["score"] for row in lines] == [None, 1.0]
    json.loads((tmp_path / "s.json").read_text(), parse_constant=refuse)
    assert all(type(row.score) in (float, type(None)) for row in case.grade())


# Bounds.


class RandomEncoder(FakeEncoder):
    """Random directions in 384 dimensions: the float32 square of such a vector is above 1 about one time in six."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        drawn = [np.random.default_rng(zlib.crc32(text.encode())).standard_normal(384) for text in texts]
        vectors = np.array(drawn).astype(np.float32)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


@asserts("RAN-020")
def test_two_thousand_texts_score_one_against_themselves_and_never_more(case: Case) -> None:
    texts = [f"text {number} of {number % 7}" for number in range(2000)]
    raw = RandomEncoder().encode(texts)
    assert (np.einsum("nd,nd->n", raw, raw) > 1).any()  # the trap is there
    report = Smile(RandomEncoder()).score(texts, texts, synthetic=texts)
    assert all(score is not None and 1 - 1e-6 <= score <= 1 for score in report.scores)
    assert all(row.semantic is not None and row.semantic <= 1 for row in report.rows)


@asserts("RAN-021")
@pytest.mark.usefixtures("minilm")
def test_identical_answers_pass_every_gate_at_one(case: Case, tmp_path: Path) -> None:
    texts = ("Paris", "The quick brown fox", "東京", "3.5 mg", "สวัสดี", "C++", "word " * 300)
    (tmp_path / "same.jsonl").write_text(jsonl(*({"answer": text, "pred": text} for text in texts)))
    gates = ("--threshold", "1.0", "--min-pass-rate", "1.0", "--fail-under", "1.0")
    assert program(tmp_path, "score", "same.jsonl", *gates).code == 0


# Scripts, words, numbers, polarity.


@asserts("UNI-029")
def test_thai_words_are_told_apart(case: Case, smile: Smile) -> None:
    same, other = case.grade(smile)
    assert same.score == 1.0
    assert other.score is not None
    assert other.score < 0.7
    assert same.best_ngram
    assert other.best_ngram


@asserts("UNI-030")
def test_a_word_is_found_and_shown_inside_an_unspaced_sentence(case: Case) -> None:
    row = case.grade()[0]
    assert (row.lexical, row.best_ngram) == (1.0, "東京")


@asserts("LEX-041")
def test_strict_exact_match_keeps_order_and_count_and_leaves_nearness_to_the_ngrams(case: Case) -> None:
    rows = case.grade(exact="strict")
    assert [row.exact for row in rows] == [0, 0]
    assert all(row.ngram_similarity is not None and row.ngram_similarity > 0.8 for row in rows)


@asserts("LEX-043")
def test_a_hedged_enumeration_gets_no_full_credit(case: Case) -> None:
    row = case.grade(guards=True)[0]
    assert row.score is not None
    assert row.score < 1
    assert row.verdict == "incorrect"


@asserts("LEX-044")
def test_a_trade_mark_sign_is_no_obstacle(case: Case) -> None:
    assert case.grade()[0].lexical == 1.0


@asserts("LEX-047")
def test_a_prediction_shorter_than_its_reference_is_one_ngram(case: Case) -> None:
    row = case.grade()[0]
    assert row.best_ngram == "Paris"
    assert row.score is not None


@asserts("NUM-052")
def test_a_number_is_the_same_however_it_is_grouped(case: Case) -> None:
    reference, prediction = case.rows[0]
    report = Smile(FakeEncoder()).score([prediction, "1,00,000"], [reference] * 2)
    assert [row.exact for row in report.rows] == [1, 1]


@asserts("NUM-055")
def test_numbers_that_lose_a_mark_are_other_numbers(case: Case) -> None:
    rows = case.grade(guards=True)
    assert all(row.score is not None and row.score < 1 for row in rows)
    assert "correct" not in {row.verdict for row in rows}


@asserts("POL-060", "POL-061", "POL-065")
def test_what_the_embedder_does_not_see_of_polarity_is_documented_and_flagged(case: Case, smile: Smile) -> None:
    row = case.grade(smile)[0]
    assert row.score is not None
    assert 0.6 < row.score < 1  # near, whatever the words say
    assert row.flags
    assert re.search(r"embedder\s+knows\s+little\s+of\s+negation", README.read_text(encoding="utf-8"))


# Markup: what a prediction comes wrapped in.


@asserts("MAR-066")
def test_reasoning_is_no_answer_and_its_tags_can_be_chosen(case: Case) -> None:
    closed, unclosed = case.grade()
    assert (closed.score, closed.best_ngram) == (1.0, "Lyon")
    assert unclosed.reason == "empty_prediction"
    ours = Smile(FakeEncoder(), reasoning_tags=("musing",))
    assert ours.score("<musing>maybe Paris</musing>\nLyon", "Lyon").scores == [1.0]
    assert case.grade(ours)[1].reason is None


@asserts("MAR-067")
def test_reasoning_without_its_opening_tag_is_stripped(case: Case) -> None:
    assert case.grade()[0].score == 1.0


@asserts("MAR-068")
@pytest.mark.usefixtures("minilm")
def test_a_shouted_tag_over_several_lines_is_stripped_and_the_prediction_is_kept_as_it_came(
    case: Case, tmp_path: Path
) -> None:
    row = program(tmp_path, "score", case.write(tmp_path)).rows[0]
    assert (row["score"], row["exact"]) == (1.0, 1)
    assert row["prediction"] == case.rows[0][1]


@asserts("MAR-076")
def test_code_is_graded_as_it_stands_inside_its_fence(case: Case) -> None:
    rows = case.grade()
    assert [row.score for row in rows] == [1.0, 1.0, 1.0]
    assert rows[1].best_ngram == "a_b"


@asserts("MAR-077")
def test_braces_and_percent_signs_are_data(case: Case, smile: Smile) -> None:
    for row in (*case.grade(smile), *case.grade(synthetic_free(smile))):
        assert row.score is not None
        assert row.exact == 0
    texts = [text for pair in case.rows for text in pair]
    assert Smile(FakeEncoder()).score(texts, texts).scores == [1.0] * len(texts)


def synthetic_free(smile: Smile) -> Smile:
    return Smile(smile.encoder, markup=False)


@asserts("LEN-081")
def test_a_very_long_prediction_takes_bounded_time_and_memory(case: Case, smile: Smile) -> None:
    before, started = peak_memory(), time.process_time()
    row = case.grade(smile)[0]
    assert row.flags == ("truncated",)
    assert row.score is not None
    assert row.ngram_similarity is not None
    assert Smile(smile.encoder, long="window").score(case.rows[0][1], "字").rows[0].exact == 1
    assert time.process_time() - started < 20
    assert peak_memory() - before < 300e6


def peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


# Data: Python values and files.


@asserts("DAT-087")
def test_the_best_of_all_references_counts(case: Case) -> None:
    references, prediction = case.rows[0]
    fake = Smile(FakeEncoder())
    question = case.input["question"]
    alone = [fake.score(prediction, reference, question).rows[0].score for reference in references]
    assert case.grade(fake)[0].score == max(score for score in alone if score is not None)


@asserts("DAT-089")
def test_a_bare_text_is_one_item(case: Case) -> None:
    fake = Smile(FakeEncoder())
    assert len(fake.score(predictions="swag", references="swags").rows) == 1
    assert fake.score("swag", "swags").scores == fake.score(["swag"], ["swags"]).scores


FILES: dict[str, Callable[[Run], bool]] = {
    "UNI-039": lambda done: done.code == 0 and [row["exact"] for row in done.rows] == [1],
    "DAT-090": lambda done: done.code == 2 and "line 2: id 'dup' was already used in line 1" in done.err,
    "DAT-091": lambda done: done.rows[0]["score"] == 1.0 and "\ufeff" not in done.out,
    "DAT-092": lambda done: done.rows[0]["score"] == 1.0 and "\ufeff" not in done.out,
    "DAT-093": lambda done: (
        done.code == 2 and not done.out and "not UTF-8" in done.err and "looks like UTF-16: use --encoding" in done.err
    ),
    "DAT-094": lambda done: [row["exact"] for row in done.rows] == [1, 1, 1, 0, 1],
    "DAT-097": lambda done: done.code == 0 and [row["score"] for row in done.rows] == [1.0, 1.0],
    "DAT-098": lambda done: done.code == 2 and "line 2: this is not JSON" in done.err,
    "DAT-103": lambda done: [row["score"] for row in done.rows] == [1.0],
}


@asserts(*FILES)
@pytest.mark.usefixtures("minilm")
def test_files_are_read_or_refused_as_the_case_expects(case: Case, tmp_path: Path) -> None:
    done = program(tmp_path, "score", case.write(tmp_path))
    assert FILES[case.id](done), done


@asserts("DAT-090")
@pytest.mark.usefixtures("minilm")
def test_ids_may_stand_twice_where_that_is_allowed_and_both_rows_count(case: Case, tmp_path: Path) -> None:
    done = program(tmp_path, "score", case.write(tmp_path), "--allow-duplicate-ids")
    assert [row["exact"] for row in done.rows] == [1, 0]
    assert "2 of 2 rows scored" in done.err
    assert "correct 1 (50.0%)" in done.err


@asserts("DAT-093")
@pytest.mark.usefixtures("minilm")
def test_a_file_in_another_encoding_is_read_when_it_is_named(case: Case, tmp_path: Path) -> None:
    done = program(tmp_path, "score", case.write(tmp_path), "--encoding", "utf-16")
    assert [(row["score"], row["prediction"]) for row in done.rows] == [(1.0, "café")]


@asserts("DAT-094")
@pytest.mark.usefixtures("minilm")
def test_an_empty_cell_is_an_empty_text_and_no_missing_one(case: Case, tmp_path: Path) -> None:
    path = case.write(tmp_path)
    with path.open("a") as file:
        file.write("Paris,\n")
    rows = program(tmp_path, "score", path).rows
    assert [row["references"][0] for row in rows[:5]] == ["None", "N/A", "null", "NA", "nan"]
    assert (rows[5]["prediction"], rows[5]["reason"]) == ("", "empty_prediction")


@asserts("DAT-098")
@pytest.mark.usefixtures("minilm")
def test_a_malformed_line_can_be_skipped_and_is_counted(case: Case, tmp_path: Path) -> None:
    done = program(tmp_path, "score", case.write(tmp_path), "--skip-bad-rows")
    assert [(row["score"], row["reason"]) for row in done.rows] == [(1.0, None), (None, "bad_row"), (1.0, None)]
    assert "bad_row 1" in done.err


@asserts("DAT-099")
def test_a_missing_file_is_named_and_never_graded_as_text(case: Case, tmp_path: Path) -> None:
    done = program(tmp_path, "score", "no_such_file.jsonl")
    assert (done.code, done.out) == (2, "")
    assert "no_such_file.jsonl: there is no such file" in done.err


@asserts("DAT-100")
@pytest.mark.usefixtures("minilm")
def test_output_appears_whole_in_new_folders_or_not_at_all(case: Case, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(jsonl({"answer": "a", "pred": "a"}))
    for target in ("out.jsonl", "new/folder/out.jsonl"):
        assert program(tmp_path, "score", "in.jsonl", "-o", target).code == 0
        assert len((tmp_path / target).read_text().splitlines()) == 1
        assert not list((tmp_path / target).parent.glob("*.part"))
    before = (tmp_path / "out.jsonl").read_bytes()
    (tmp_path / "in.jsonl").write_text(jsonl({"answer": "b", "pred": "c"}) + "{\n")
    assert program(tmp_path, "score", "in.jsonl", "-o", "out.jsonl").code == 2
    assert (tmp_path / "out.jsonl").read_bytes() == before


@asserts("DAT-101")
@pytest.mark.usefixtures("minilm")
def test_columns_are_found_by_their_common_names_or_the_names_that_are_given(case: Case, tmp_path: Path) -> None:
    reference, prediction = case.rows[0]
    for one in ("answer", "reference", "target", "ground_truth", "expected"):
        for other in ("pred", "prediction", "response", "output"):
            row = row_from_mapping({one: reference, other: prediction}, FieldMap(), number=1)
            assert (row.references, row.prediction) == ((reference,), prediction)
    question, of_reference, of_prediction = case.input["columns"]
    (tmp_path / "a.csv").write_text(f"{question},{of_reference},{of_prediction}\nCapital?,{reference},{prediction}\n")
    (tmp_path / "b.csv").write_text(f"x,y\n{reference},{prediction}\n")
    found = program(tmp_path, "score", "a.csv")
    named = program(tmp_path, "score", "b.csv", "--field", "reference=x", "--field", "prediction=y")
    for done in (found, named):
        assert (done.code, done.rows[0]["score"]) == (0, 1.0)
        assert (done.rows[0]["references"], done.rows[0]["prediction"]) == ([reference], prediction)
    assert found.rows[0]["question"] == "Capital?"


@asserts("DAT-102")
@pytest.mark.usefixtures("minilm")
def test_ids_join_whether_they_are_written_as_numbers_or_as_text(case: Case, tmp_path: Path) -> None:
    huge = 2**70 + 1
    (tmp_path / "gold.jsonl").write_text(jsonl({"id": 1, "answer": "Paris"}, {"id": huge, "answer": "Rome"}))
    (tmp_path / "preds.jsonl").write_text(jsonl({"id": str(huge), "pred": "Rome"}, {"id": "1", "pred": "Paris"}))
    done = program(tmp_path, "score", "gold.jsonl", "--predictions", "preds.jsonl")
    assert [(row["id"], row["score"]) for row in done.rows] == [(1, 1.0), (huge, 1.0)]


@asserts("DAT-104")
@pytest.mark.usefixtures("minilm")
def test_a_spreadsheet_runs_nothing_of_what_is_written(case: Case, tmp_path: Path) -> None:
    path = case.write(tmp_path)
    cells = next(iter(csv.DictReader(io.StringIO(program(tmp_path, "score", path, "--format", "csv").out))))
    assert not [cell for cell in cells.values() if cell.startswith(("=", "+", "-", "@"))]
    assert cells["prediction"] == f"'{case.rows[0][1]}"
    assert program(tmp_path, "score", path).rows[0]["prediction"] == case.rows[0][1]


# The command line.


@asserts("CLI-165")
@pytest.mark.usefixtures("minilm")
def test_a_gate_decides_the_exit_code(case: Case, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text(jsonl({"answer": "Paris", "pred": "Lyon"}))
    (tmp_path / "good.jsonl").write_text(jsonl({"answer": "Paris", "pred": "Paris"}))
    failed = program(tmp_path, "score", "bad.jsonl", "--fail-under", "0.9")
    assert failed.code == 1
    assert "gate failed: mean score" in failed.err
    assert program(tmp_path, "score", "good.jsonl", "--fail-under", "0.9").code == 0


@asserts("CLI-166")
@pytest.mark.usefixtures("minilm")
def test_verdict_and_exit_code_agree_and_each_threshold_has_a_flag_of_its_own(case: Case, tmp_path: Path) -> None:
    rows = [{"answer": "Paris", "pred": "Paris" if number < 28 else "a bicycle"} for number in range(31)]
    (tmp_path / "rows.jsonl").write_text(jsonl(*rows))

    def score(*gates: str) -> Run:
        return program(tmp_path, "score", "rows.jsonl", "--threshold", "0.8", "--summary", "s.json", *gates)

    plain = score()
    mean = json.loads((tmp_path / "s.json").read_text())["mean"]
    assert 0.9 < mean < 0.99
    assert plain.code == 0
    assert [row["verdict"] for row in plain.rows] == ["correct"] * 28 + ["incorrect"] * 3
    assert "correct 28 (90.3%)" in plain.err
    for gates, code in (
        (("--min-pass-rate", "0.9"), 0),
        (("--min-pass-rate", "0.91"), 1),
        (("--fail-under", f"{mean - 0.01}"), 0),
        (("--fail-under", f"{mean + 0.01}"), 1),
    ):
        done = score(*gates)
        assert (done.code, "gate failed" in done.err) == (code, bool(code))


@asserts("CLI-171")
def test_an_interrupted_run_keeps_its_rows_and_resumes(case: Case, minilm: PulledModel, tmp_path: Path) -> None:
    rows = [{"id": number, "answer": f"alpha {number}", "pred": f"beta {number}"} for number in range(700)]
    text = jsonl(*rows)
    (tmp_path / "in.jsonl").write_text(text)
    process = subprocess.Popen(
        [sys.executable, "-m", "smile_lite", "score", "-", "-o", "out.jsonl"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    )
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write("".join(text.splitlines(keepends=True)[:600]).encode())  # and there it waits for the others
    process.stdin.flush()
    part = tmp_path / "out.jsonl.part"
    deadline = time.monotonic() + 60
    while not (part.exists() and part.read_bytes().count(b"\n")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert b"Traceback" not in process.stderr.read()
    process.stdin.close()
    process.stderr.close()
    finished = [json.loads(line) for line in part.read_text().splitlines()]
    assert 0 < len(finished) < 700
    done = program(tmp_path, "score", "in.jsonl", "-o", "out.jsonl", "--resume")
    assert done.code == 0
    assert f"going on behind {len(finished)} rows" in done.err
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert written[: len(finished)] == finished
    assert [row["id"] for row in written] == list(range(700))
    assert not part.exists()


@asserts("CLI-172")
def test_help_comes_at_once(case: Case) -> None:
    command = [sys.executable, "-m", "smile_lite", "--help"]
    loaded = subprocess.run([command[0], "-X", "importtime", *command[1:]], capture_output=True, text=True, check=True)
    names = {line.rpartition("|")[2].strip().partition(".")[0] for line in loaded.stderr.splitlines()}
    assert "smile_lite" in names
    assert not names & {"numpy", "onnxruntime", "tokenizers"}
    taken = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(taken) < 0.3  # of the processor: the clock on the wall also counts what else this machine does


@asserts("CLI-173")
@pytest.mark.usefixtures("minilm")
def test_a_table_has_no_colours_and_whole_numbers(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    rows = [{"id": f"{number}" * 30, "answer": "long " * 40, "pred": f"{'words ' * 40}{number}"} for number in range(3)]
    done = program(tmp_path, "score", "-", "--format", "table", stdin=jsonl(*rows))
    scores = [row["score"] for row in program(tmp_path, "score", "-", stdin=jsonl(*rows)).rows]
    assert "\x1b" not in done.out + done.err
    lines = done.out.splitlines()[2:]
    assert [line.split()[1] for line in lines] == [f"{score:.3f}" for score in scores]
    assert all(len(re.findall(r"\b\d\.\d{3}\b", line)) == 4 for line in lines)
