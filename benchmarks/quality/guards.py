"""How often each guard flag is raised on answers that people judged correct, and what `decide` does to containment.

python -m benchmarks.quality.guards --tune TUNE.jsonl --report REPORT.jsonl [--key-points KEY_POINTS.jsonl] --write

The rules were written and tuned on the first file only; the others are reported. A file of key points holds rows with
`key_points` and `kp_labels` (1 stated, 0 not): there each key point is a reference.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.record import write_result
from smile_lite.guards import FLAGS, decide, flags, row_flags
from smile_lite.rows import read_rows
from smile_lite.tasks import reference_words
from smile_lite.text import find, split_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CORRECT_FROM = 0.75  # a graded human label counts as correct from here


class Judged(NamedTuple):
    """A row as far as the guards go: its flags, whether people judged it correct, whether containment does."""

    flags: tuple[str, ...]
    correct: bool
    contained: bool


def main() -> None:
    """Flag the files, count, report, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tune", type=Path, required=True)
    parser.add_argument("--report", type=Path, action="append", default=[])
    parser.add_argument("--key-points", type=Path, action="append", default=[])
    parser.add_argument("--write", action="store_true", help="write results/quality_guards.json")
    arguments = parser.parse_args()
    figures: dict[str, Any] = {
        "effects": {name: flag.effect for name, flag in FLAGS.items()},
        "tuned_on": {arguments.tune.name: measured(list(judged_rows(arguments.tune)))},
        "reported_on": {path.name: measured(list(judged_rows(path))) for path in arguments.report},
        "key_points": {path.name: measured(list(judged_key_points(path))) for path in arguments.key_points},
    }
    for group in ("tuned_on", "reported_on", "key_points"):
        for file, values in figures[group].items():
            print(f"{file} ({group.replace('_', ' ')}): {values['correct']} correct, {values['incorrect']} incorrect")
            for name, counts in values["flags"].items():
                print(f"  {name:17}", counts)
            print("  containment", values["containment"])
    if arguments.write:
        print(write_result("quality_guards", figures))


def judged_rows(path: Path) -> Iterator[Judged]:
    """The rows of a file that have a human label, a reference and a prediction."""
    for row in read_rows(path):
        if row.human is not None and row.references and row.prediction is not None:
            yield Judged(
                row_flags(row.question, row.references, row.prediction),
                row.human >= CORRECT_FROM,
                contains(row.references, row.prediction),
            )


def judged_key_points(path: Path) -> Iterator[Judged]:
    """The key points of a file, each against the row's prediction."""
    for row in read_rows(path):
        for point, label in zip(row.extra.get("key_points", ()), row.extra.get("kp_labels", ()), strict=True):
            prediction = row.prediction or ""
            yield Judged(flags(row.question, point, prediction), bool(label), contains([point], prediction))


def contains(references: Sequence[str], prediction: str) -> bool:
    """Whether the words of one reference stand in the prediction in a row."""
    words = split_words(prediction).keys
    return any(find(reference_words(reference).keys, words) >= 0 for reference in references)


def measured(rows: Sequence[Judged]) -> dict[str, Any]:
    """Counts by flag, and the accuracy of containment before and after `decide`."""
    correct = sum(row.correct for row in rows)
    by_flag = Counter((name, row.correct) for row in rows for name in row.flags)
    return {
        "rows": len(rows),
        "correct": correct,
        "incorrect": len(rows) - correct,
        "flags": {name: by_label(by_flag[name, True], by_flag[name, False], correct) for name in FLAGS},
        "containment": containment(rows),
    }


def by_label(on_correct: int, on_incorrect: int, correct: int) -> dict[str, Any]:
    """One flag: how often on correct rows (false alarms, if it speaks against them), and how sure a sign it is that a
    row is incorrect.
    """
    raised = on_correct + on_incorrect
    return {
        "on_correct": on_correct,
        "share_of_correct": round(on_correct / correct, 5) if correct else None,
        "on_incorrect": on_incorrect,
        "precision_of_incorrect": round(on_incorrect / raised, 4) if raised else None,
    }


def containment(rows: Sequence[Judged]) -> dict[str, Any]:
    """Accuracy of "the reference's words stand in the prediction", alone and as `decide` leaves it."""
    verdicts = ["correct" if row.contained else "incorrect" for row in rows]
    decided = [decide(row.flags, verdict) for row, verdict in zip(rows, verdicts, strict=True)]
    turned: Counter[str] = Counter()
    for row, before, after in zip(rows, verdicts, decided, strict=True):
        if before != after:
            turned[f"turned_{after}_{'rightly' if (after == 'correct') == row.correct else 'wrongly'}"] += 1
    return {
        "accuracy": accuracy(rows, verdicts),
        "accuracy_with_guards": accuracy(rows, decided),
        **dict(sorted(turned.items())),
    }


def accuracy(rows: Sequence[Judged], verdicts: Sequence[str]) -> float:
    """The share of verdicts that agree with people."""
    hits = sum((verdict == "correct") == row.correct for row, verdict in zip(rows, verdicts, strict=True))
    return round(hits / len(rows), 4)


if __name__ == "__main__":
    main()
