"""What the plan saves: grading rows with it against one encode for every n-gram, same encoder, same run.

    python -m benchmarks.speed.plan --rows FILE --write

The alternative is the published way of going about it, on our encoder: per row, every n-gram, the reference, the
prediction and what stands in for the synthetic answer, repeats and all, also where the reference stands in the
prediction. CPU time of the process, the two in turn, after one warm-up of each.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.record import write_result
from smile_lite.encoder import OnnxEncoder
from smile_lite.metric import Smile
from smile_lite.rows import Row, read_rows
from smile_lite.tasks import reference_words
from smile_lite.text import join, ngrams, sentence, split_words

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    """Measure and print; with --write also write results/speed_plan_<file>.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=200, help="so many rows, evenly taken from the file")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    rows = [row for row in read_rows(arguments.rows) if row.prediction]
    rows = rows[:: max(1, len(rows) // arguments.limit)][: arguments.limit]
    encoder = OnnxEncoder.from_pretrained("minilm", threads=1)
    smile = Smile(encoder, verdict="paper")
    ratios, ours, theirs = [], [], []
    for number in range(arguments.runs + 1):
        seconds, scores = timed(lambda: smile.score_rows(rows).scores)
        plain_seconds, plain_scores = timed(lambda: [one_by_one(encoder, row) for row in rows])
        assert np.allclose(scores, plain_scores, atol=1e-5)  # noqa: S101 - a benchmark of unequal things is none
        if number:
            ours.append(seconds)
            theirs.append(plain_seconds)
            ratios.append(plain_seconds / seconds)
    figures: dict[str, Any] = {
        "rows_file": arguments.rows.name,
        "rows": len(rows),
        "threads": 1,
        "cpu_seconds_plan": [round(min(ours), 3), round(statistics.median(ours), 3), round(max(ours), 3)],
        "cpu_seconds_one_encode_per_ngram": [
            round(min(theirs), 3),
            round(statistics.median(theirs), 3),
            round(max(theirs), 3),
        ],
        "ratio_min_median_max": [round(min(ratios), 2), round(statistics.median(ratios), 2), round(max(ratios), 2)],
        "rows_per_second": round(len(rows) / statistics.median(ours), 1),
    }
    print(figures)
    if arguments.write:
        print(write_result(f"speed_plan_{arguments.rows.stem}", figures))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of `work` and what it gave."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def one_by_one(encoder: OnnxEncoder, row: Row) -> float:
    """One row without a plan."""
    prediction = row.prediction or ""
    words = split_words(prediction)
    best = 0.0
    for index, reference in enumerate(row.references):
        wanted = reference_words(reference)
        grams = ngrams(words.keys, len(wanted))
        synthetic = row.synthetic[index]
        alone = sentence(reference)
        against = [synthetic] if synthetic else [alone, f"{sentence(row.question or '')} {alone}"]
        texts = [*grams, join(wanted.keys), sentence(prediction), *map(sentence, against)]
        vectors = np.concatenate(
            [encode_all(encoder, texts[start : start + 32]) for start in range(0, len(texts), 32)]
        ).astype(np.float64)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        count = len(grams)
        ngram = (1 + (vectors[:count] @ vectors[count]).max()) / 2
        semantic = (1 + (vectors[count + 2 :] @ vectors[count + 1]).max()) / 2
        exact = float(join(wanted.keys) in grams)
        best = max(best, 0.3 * semantic + 0.7 * (exact + ngram) / 2)
    return best


def encode_all(encoder: OnnxEncoder, texts: list[str]) -> Any:
    """Encode repeats too: the encoder would compute equal texts once."""
    seen: dict[str, int] = {}
    rounds: list[list[int]] = []
    for position, text in enumerate(texts):
        turn = seen[text] = seen.get(text, -1) + 1
        if turn == len(rounds):
            rounds.append([])
        rounds[turn].append(position)
    vectors = np.empty((len(texts), 384), dtype=np.float32)
    for positions in rounds:
        vectors[positions] = encoder.encode([texts[position] for position in positions])
    return vectors


if __name__ == "__main__":
    main()
