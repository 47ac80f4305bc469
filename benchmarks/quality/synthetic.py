"""Do synthetic answers help? Agreement with people of SMILE with those of a generator, of the template, with the bare
reference, and without any (the nearer of reference and question + reference): see README.md beside this file.

python -m benchmarks.quality.synthetic --fit TUNE.jsonl --report A.jsonl --report B.jsonl --work FOLDER --write
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import kendalltau, pearsonr

from benchmarks.quality.threshold import CORRECT_FROM, Flags, Scores, best_threshold, by_question
from benchmarks.record import write_result
from benchmarks.replies import KeptReplies
from smile_lite.generate.generator import ChatGenerator
from smile_lite.generate.known import Settings, load_generator
from smile_lite.metric import Smile
from smile_lite.prepare import prepare
from smile_lite.prepared import join_prepared
from smile_lite.rows import Row, read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

RESAMPLES = 1000
REFERENCE, FALLBACK, GIVEN = "reference", "max(ref,question+ref)", "given"


def main() -> None:
    """Prepare the files with every generator, score, fit on one file, report on the others, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fit", type=Path, required=True)
    parser.add_argument("--report", type=Path, action="append", default=[])
    parser.add_argument("--generator", action="append", default=[], help="default: smollm2-135m-instruct and template")
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", type=Path, required=True, help="folder for the prepared sets; a second run uses them")
    parser.add_argument("--write", action="store_true", help="write results/quality_synthetic_<model>.json")
    arguments = parser.parse_args()
    files = [arguments.fit, *arguments.report]
    smile = Smile.from_pretrained(arguments.model, threads=arguments.threads, verdict="paper")
    ways: dict[str, dict[str, Graded]] = {}
    making: dict[str, Any] = {}
    for name in arguments.generator or ["smollm2-135m-instruct", "template"]:
        ways[name] = {}
        for path in files:
            made, ways[name][path.name] = generated(smile, name, path, arguments.work, arguments.threads)
            making.setdefault(name, {})[path.name] = made
    for name, variant in ((REFERENCE, bare), (FALLBACK, without), (GIVEN, given)):
        found = {path.name: variant(list(read_rows(path))) for path in files}
        ways[name] = {file: graded(smile, rows) for file, rows in found.items() if rows}
    figures: dict[str, Any] = {
        "signature": smile.score("a", "b").signature,
        "making": making,
        "thresholds": {},
        "agreement": {path.name: {} for path in files},
        "difference": {path.name: {} for path in files},
    }
    for name, by_file in ways.items():
        tune = by_file.get(arguments.fit.name) or ways[FALLBACK][arguments.fit.name]
        figures["thresholds"][name] = threshold = round(best_threshold(tune.scores, tune.labels), 4)
        for file, one in by_file.items():
            figures["agreement"][file][name] = agreement(one, threshold)
    for name, by_file in ways.items():
        for file, one in by_file.items():
            if name != FALLBACK:
                other = ways[FALLBACK][file]
                limits = figures["thresholds"][name], figures["thresholds"][FALLBACK]
                figures["difference"][file][name] = difference(one, other, limits)
    for file, by_name in figures["agreement"].items():
        for name, values in by_name.items():
            print(file, name, values, figures["difference"][file].get(name, ""))
    if arguments.write:
        print(write_result(f"quality_synthetic_{arguments.model}", figures))


@dataclass(frozen=True)
class Graded:
    """The rows of a file that have a human label and a score."""

    rows: list[Row]
    scores: Scores
    human: Scores

    @property
    def labels(self) -> Flags:
        """Which rows people judged correct."""
        return self.human >= CORRECT_FROM


def graded(smile: Smile, rows: list[Row]) -> Graded:
    """Score the rows."""
    kept = [(row, one.score) for row, one in smile.stream(rows) if row.human is not None and one.score is not None]
    human = np.array([row.human for row, _ in kept], dtype=np.float64)
    return Graded([row for row, _ in kept], np.array([score for _, score in kept], dtype=np.float64), human)


def without(rows: list[Row]) -> list[Row]:
    """No synthetic answers: what the metric does by itself."""
    return [replace(row, synthetic=(None,) * len(row.references)) for row in rows]


def bare(rows: list[Row]) -> list[Row]:
    """Each reference as its own synthetic answer."""
    return [replace(row, synthetic=row.references) for row in rows]


def given(rows: list[Row]) -> list[Row]:
    """The synthetic answers of the file; nothing where it has none."""
    return rows if any(any(row.synthetic) for row in rows) else []


def generated(smile: Smile, name: str, path: Path, work: Path, threads: int) -> tuple[dict[str, Any], Graded]:
    """The file graded with the synthetic answers of a generator, and how those came about."""
    rows = list(read_rows(path))
    generator = load_generator(name, Settings(threads=threads))
    kept = None
    if isinstance(generator, ChatGenerator):
        work.mkdir(parents=True, exist_ok=True)
        kept = generator.model = KeptReplies(generator.model, work / f"replies-{generator.model.name}.jsonl")
    prepared = prepare(without(rows), work / f"{path.stem}-{name}", generator=generator, resume=True, force=True)
    joined = join_prepared(prepared, (replace(row, synthetic=()) for row in rows), by="id", file=path.name)
    one = graded(smile, list(joined.rows))
    counts = prepared.manifest["counts"]
    shares = {how: round(counts[how] / counts["references"], 4) for how in ("first", "retry", "fallback")}
    made: dict[str, Any] = {"name": prepared.synthetic_name, "references": counts["references"], **shares}
    made["refused"] = prepared.manifest["refused"]
    made["replies_asked_now"] = 0 if kept is None else kept.asked
    return made, one


def measures(scores: Scores, human: Scores, verdicts: Flags) -> tuple[float, float, float]:
    """Pearson and Kendall's tau-b with the human labels; balanced accuracy of the verdicts."""
    labels = human >= CORRECT_FROM
    balanced = (verdicts[labels].mean() + (~verdicts[~labels]).mean()) / 2 if 0 < labels.sum() < len(labels) else np.nan
    return float(pearsonr(scores, human)[0]), float(kendalltau(scores, human)[0]), float(balanced)


NAMES = ("pearson", "tau_b", "balanced_accuracy")


def agreement(one: Graded, threshold: float) -> dict[str, Any]:
    """The measures, each with a 95% interval by bootstrap over questions."""
    verdicts = one.scores >= threshold
    values = measures(one.scores, one.human, verdicts)
    draws = np.array([measures(one.scores[i], one.human[i], verdicts[i]) for i in resampled(one.rows)])
    accuracy = round(float((verdicts == one.labels).mean()), 4)
    return {"rows": len(one.rows), **with_intervals(values, draws), "accuracy": accuracy, "threshold": threshold}


def difference(one: Graded, other: Graded, thresholds: tuple[float, float]) -> dict[str, Any]:
    """The measures of `one` minus those of `other`, on the same resamples."""
    verdicts = one.scores >= thresholds[0], other.scores >= thresholds[1]

    def minus(i: Any) -> list[float]:
        ours = measures(one.scores[i], one.human[i], verdicts[0][i])
        theirs = measures(other.scores[i], other.human[i], verdicts[1][i])
        return [a - b for a, b in zip(ours, theirs, strict=True)]

    values = minus(np.arange(len(one.rows)))
    return with_intervals(values, np.array([minus(i) for i in resampled(one.rows)]))


def with_intervals(values: Any, draws: Any) -> dict[str, Any]:
    """Each value under its name, with its interval under name_95."""
    low, high = np.nanquantile(draws, [0.025, 0.975], axis=0)
    found: dict[str, Any] = {}
    for index, name in enumerate(NAMES):
        found[name] = round(float(values[index]), 4)
        found[f"{name}_95"] = [round(float(low[index]), 4), round(float(high[index]), 4)]
    return found


def resampled(rows: list[Row]) -> Iterator[Any]:
    """Row indices of bootstrap samples of questions."""
    groups = by_question(rows)
    random = np.random.default_rng(0)
    for _ in range(RESAMPLES):
        yield np.concatenate([groups[index] for index in random.integers(0, len(groups), len(groups))])


if __name__ == "__main__":
    main()
