"""Fit the verdict's threshold on one human-labelled file and report it on others: see README.md beside this file.

python -m benchmarks.quality.threshold --fit TUNE.jsonl --report A.jsonl --report B.jsonl --write
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.record import write_result
from smile_lite.metric import Smile
from smile_lite.rows import Row, read_rows

Flags = NDArray[np.bool_]
Scores = NDArray[np.float64]
CORRECT_FROM = 0.75  # a graded human label counts as correct from here
RESAMPLES = 2000


def main() -> None:
    """Score the files, fit, report, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fit", type=Path, required=True)
    parser.add_argument("--report", type=Path, action="append", default=[])
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--write", action="store_true", help="write results/quality_threshold_<model>.json")
    arguments = parser.parse_args()
    smile = Smile.from_pretrained(arguments.model, precision=arguments.precision, verdict="paper")
    rows, scores, labels = graded(smile, arguments.fit)
    threshold = round(best_threshold(scores, labels), 4)
    figures: dict[str, Any] = {
        "signature": smile.score("a", "b").signature,
        "objective": "balanced accuracy",
        "threshold": threshold,
        "fitted_on": {"file": arguments.fit.name, **agreement(scores, labels, threshold)},
        "held_out_by_question": cross_validated(rows, scores, labels),
        "reported_on": {},
    }
    for path in arguments.report:
        rows, scores, labels = graded(smile, path)
        figures["reported_on"][path.name] = {
            "calibrated": with_interval(rows, scores, labels, threshold),
            "paper": with_interval(rows, scores, labels, 4 / 6),
        }
    for name in ("threshold", "fitted_on", "held_out_by_question"):
        print(name, figures[name])
    for file, by_rule in figures["reported_on"].items():
        for rule, values in by_rule.items():
            print(file, rule, values)
    if arguments.write:
        form = "" if arguments.precision == "fp32" else f"_{arguments.precision}"
        print(write_result(f"quality_threshold_{arguments.model}{form}", figures))


def graded(smile: Smile, path: Path) -> tuple[list[Row], Scores, Flags]:
    """The rows of a file that have a human label and can be scored, with scores and labels."""
    kept = [
        (row, result.score)
        for row, result in smile.stream(read_rows(path))
        if row.human is not None and result.score is not None
    ]
    labels = np.array([row.human is not None and row.human >= CORRECT_FROM for row, _ in kept])
    return [row for row, _ in kept], np.array([score for _, score in kept]), labels


def best_threshold(scores: Scores, labels: Flags) -> float:
    """The threshold (half way between two scores) of the greatest balanced accuracy, which unlike plain accuracy does
    not lean to the share of right answers in the file it is fitted on.
    """
    values = np.unique(scores)
    candidates = (values[1:] + values[:-1]) / 2
    right, wrong = np.sort(scores[labels]), np.sort(scores[~labels])
    kept = 1 - np.searchsorted(right, candidates) / len(right)
    refused = np.searchsorted(wrong, candidates) / len(wrong)
    return float(candidates[np.argmax(kept + refused)])


def agreement(scores: Scores, labels: Flags, threshold: float) -> dict[str, float]:
    """Accuracy, balanced accuracy and Cohen's kappa of `scores >= threshold` with the labels."""
    verdicts = scores >= threshold
    accuracy = float((verdicts == labels).mean())
    chance = verdicts.mean() * labels.mean() + (1 - verdicts.mean()) * (1 - labels.mean())
    balanced = (verdicts[labels].mean() + (~verdicts[~labels]).mean()) / 2
    return {
        "rows": len(labels),
        "accuracy": round(accuracy, 4),
        "balanced_accuracy": round(float(balanced), 4),
        "kappa": round(float((accuracy - chance) / (1 - chance)), 4),
    }


def with_interval(rows: list[Row], scores: Scores, labels: Flags, threshold: float) -> dict[str, Any]:
    """`agreement`, with a bootstrap interval of the accuracy over questions (rows of one question are not
    independent).
    """
    groups = by_question(rows)
    hits = np.array([((scores[group] >= threshold) == labels[group]).sum() for group in groups])
    sizes = np.array([len(group) for group in groups])
    draws = np.random.default_rng(0).integers(0, len(groups), (RESAMPLES, len(groups)))
    low, high = np.quantile(hits[draws].sum(1) / sizes[draws].sum(1), [0.025, 0.975])
    return {**agreement(scores, labels, threshold), "accuracy_95": [round(float(low), 4), round(float(high), 4)]}


def cross_validated(rows: list[Row], scores: Scores, labels: Flags, folds: int = 5) -> dict[str, Any]:
    """Accuracy on questions that the threshold was not fitted on, and the thresholds of the folds."""
    groups = by_question(rows)
    order = np.random.default_rng(0).permutation(len(groups))
    verdicts = np.empty(len(labels), dtype=bool)
    thresholds = []
    for fold in range(folds):
        held = np.concatenate([groups[index] for index in order[fold::folds]])
        rest = np.setdiff1d(np.arange(len(labels)), held)
        thresholds.append(best_threshold(scores[rest], labels[rest]))
        verdicts[held] = scores[held] >= thresholds[-1]
    return {
        "folds": folds,
        "accuracy": round(float((verdicts == labels).mean()), 4),
        "thresholds": [round(one, 4) for one in thresholds],
    }


def by_question(rows: list[Row]) -> list[NDArray[np.int64]]:
    """The indices of the rows of each question."""
    found: dict[str | None, list[int]] = {}
    for index, row in enumerate(rows):
        found.setdefault(row.question, []).append(index)
    return [np.array(group, dtype=np.int64) for group in found.values()]


if __name__ == "__main__":
    main()
