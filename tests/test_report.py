from __future__ import annotations

import json
from typing import Any

import pytest

from smile_lite.errors import UsageError
from smile_lite.manifest import Calibration
from smile_lite.metric import Smile
from smile_lite.report import Report, format_table, merge_signatures, plain
from smile_lite.signature import differences
from smile_lite.testing import FakeEncoder
from smile_lite.verdict import verdict_rule

SMILE = Smile(FakeEncoder())


@pytest.fixture
def report() -> Report:
    return SMILE.score(["Paris", "", "x"], ["Paris", "Rome", ""], ids=["a", "b", "c"])


def test_the_signature_names_everything_that_decides_the_number() -> None:
    assert SMILE.score("a", "a").signature == (
        "smile-lite|smile|w:0.3|em:contain|syn:max(ref,question+ref)|markup:m1|words:v2|refs:max"
        "|empty:zero|model:fake@00000000|prec:fp32|len:512|verdict:paper|guards:off|v:0.1.0"
    )


def test_rows_of_two_kinds_are_counted_in_the_signature() -> None:
    merged = merge_signatures({"p|m|w:1|syn:given|v:1": 2, "p|m|w:1|syn:none|v:1": 3})
    assert merged == "p|m|w:1|syn:given*2+none*3|v:1"
    assert merge_signatures({}) == ""


def test_two_signatures_differ_in_named_fields() -> None:
    assert differences("smile-lite|smile|w:0.3|v:1", "smile-lite|smile|w:0.5|v:1") == ["w: 0.3, 0.5"]
    assert differences("smile-lite|smile|w:0.3", "smile-lite|smile|w:0.3") == []
    assert differences("smile-lite|smile|w:0.3", "smile-lite|smile|v:1") == ["w: 0.3, absent", "v: absent, 1"]


def test_counts_add_up(report: Report) -> None:
    summary = report.to_dict()
    assert (summary["n_rows"], summary["n_scored"], summary["n_unscored"]) == (3, 2, 1)
    assert summary["bins"] == [1, 0, 0, 0, 0, 1]
    assert summary["mean"] == 0.5
    assert summary["pass_rate"] == 0.5
    assert summary["reasons"] == {"empty_prediction": 1, "empty_reference": 1}
    assert {"onnxruntime", "tokenizers", "numpy", "encoder", "python"} <= summary["environment"].keys()


def test_a_report_is_strict_json(report: Report) -> None:
    def refuse(constant: str) -> Any:
        raise AssertionError(constant)

    assert json.loads(report.format("json"), parse_constant=refuse)["rows"][2]["score"] is None
    assert SMILE.score([], []).to_dict()["mean"] is None


def test_a_table_is_aligned_and_says_what_the_numbers_are_called(report: Report) -> None:
    lines = report.format("table").splitlines()
    assert lines[0].split() == ["id", "score", "meaning", "exact", "n-gram", "bin", "verdict", "best", "n-gram"]
    assert "empty_prediction" in lines[3]
    assert lines[-1] == report.signature
    with pytest.raises(UsageError, match="no format"):
        report.format("yaml")


def test_a_table_is_no_wider_than_it_may_be_and_cuts_no_number() -> None:
    rows = SMILE.score("x " * 200, "東京" * 30).rows
    table = format_table(rows, inputs=[("東京" * 30, "x " * 200)], width=80)
    assert all(len(line) <= 80 for line in table.splitlines())
    assert f"{rows[0].score:.3f}" in table
    assert "…" in table


def test_a_terminal_is_not_told_what_to_do() -> None:
    assert plain("\x1b[31mred\x1b[0m\nnext\u202eevil") == "[31mred[0m nextevil"


CALIBRATION = Calibration(threshold=0.586, data="d", rows=1, accuracy=0.9, date="2026-01-01")


def test_a_verdict_is_calibrated_where_it_can_be_and_the_paper_s_elsewhere() -> None:
    assert verdict_rule(None, calibration=CALIBRATION).name == "calibrated@0.586"
    assert verdict_rule(None).name == "paper"
    assert verdict_rule("paper", calibration=CALIBRATION)(0.66) == "incorrect"
    assert verdict_rule("calibrated", calibration=CALIBRATION)(0.586) == "correct"
    assert verdict_rule(None, threshold=1.0)(1.0) == "correct"
    with pytest.raises(UsageError, match="no verdict is called"):
        verdict_rule("mine")


def test_a_calibration_holds_only_for_the_metric_it_was_fitted_to() -> None:
    class Calibrated(FakeEncoder):
        class manifest:  # noqa: N801 - stands in for a Manifest
            calibrations = {"fp32": CALIBRATION}  # noqa: RUF012

    assert Smile(Calibrated()).rule.kind == "calibrated"
    assert Smile(Calibrated(), weight=0.5).rule.kind == "paper"
    assert Smile(Calibrated(), exact="strict").rule.kind == "paper"
