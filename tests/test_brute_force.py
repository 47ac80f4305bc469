"""The whole against a second implementation, written plainly: one encode an n-gram, float64, no plan, no shortcuts."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from smile_lite.encoder import OnnxEncoder
from smile_lite.metric import Smile
from smile_lite.rows import Row, read_rows
from smile_lite.store import PulledModel
from smile_lite.text import split_words, unwrap, unwrap_reference

from .conftest import Run, shared

Runner = Callable[..., Run]
ARTICLES = ("a", "an", "the", "The")


class BruteForce:
    """SMILE as its equations read. It shares with the product words, markup and encoder, nothing else."""

    def __init__(self, encoder: OnnxEncoder) -> None:
        self._encoder = encoder
        self._known: dict[str, NDArray[np.float64]] = {}

    def vector(self, text: str) -> NDArray[np.float64]:
        if text not in self._known:
            row = self._encoder.encode([text])[0].astype(np.float64)
            self._known[text] = row / np.sqrt((row**2).sum())
        return self._known[text]

    def similarity(self, a: str, b: str) -> float:
        return (1 + float(self.vector(a) @ self.vector(b))) / 2

    def score(self, row: dict[str, Any]) -> float:
        return max(self.pair(row, index) for index in range(len(row["references"])))

    def pair(self, row: dict[str, Any], index: int) -> float:
        prediction = " ".join(unwrap(row["prediction"]).split())
        reference = " ".join(unwrap_reference(row["references"][index]).split())
        words, wanted = list(split_words(prediction).keys), list(split_words(reference).keys)
        if len(wanted) > 1 and reference.split()[0] in ARTICLES:
            wanted = wanted[1:]
        size = len(wanted)
        windows = [words[at : at + size] for at in range(max(1, len(words) - size + 1))]
        exact = float(wanted in windows)
        ngram = max(self.similarity(" ".join(window), " ".join(wanted)) for window in windows)
        synthetic = row.get("synthetic")
        against = [synthetic] if synthetic else [reference, " ".join(f"{row['question']} {reference}".split())]
        semantic = max(self.similarity(prediction, text) for text in against)
        return 0.3 * semantic + 0.7 * (exact + ngram) / 2


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_nq301_equals_brute_force(run: Runner, minilm: PulledModel, tmp_path: Path) -> None:
    source = shared("data/nq301_unique.jsonl")
    done = run("score", source, "-o", "out.jsonl", "--threads", "2")
    assert done.code == 0, done.err
    rows, scored = lines(source), lines(tmp_path / "out.jsonl")
    assert len(scored) == 1490
    assert [row["id"] for row in scored] == [row["id"] for row in rows]
    brute = BruteForce(OnnxEncoder(minilm, threads=2))
    expected = [brute.score(row) for row in rows]
    got = [row["score"] for row in scored]
    assert got == pytest.approx(expected, abs=1e-5)
    assert np.mean(got) == pytest.approx(np.mean(expected), abs=1e-5)
    assert [row["bin"] for row in scored] == [min(5, int(6 * score)) for score in expected]


def test_given_synthetic_answers_equal_brute_force(minilm: PulledModel) -> None:
    rows = lines(shared("data/smile_human225.jsonl"))[:80]
    encoder = OnnxEncoder(minilm, threads=2)
    report = Smile(encoder).score(
        [row["prediction"] for row in rows],
        [row["references"] for row in rows],
        questions=[row["question"] for row in rows],
        synthetic=[row.get("synthetic") for row in rows],
    )
    brute = BruteForce(encoder)
    assert report.scores == pytest.approx([brute.score(row) for row in rows], abs=1e-5)


@pytest.fixture(scope="module")
def varied() -> list[Row]:
    sample = Path(__file__).resolve().parent.parent / "smile_lite" / "sample.jsonl"
    return list(read_rows(sample))


def score(minilm: PulledModel, rows: list[Row], *, threads: int = 1, batch_size: int = 64) -> dict[Any, Any]:
    smile = Smile(OnnxEncoder(minilm, threads=threads, batch_size=batch_size))
    return {row.id: row.to_dict() for row in smile.score_rows(rows).rows}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [1, 7, 64])
def test_a_row_s_score_depends_on_neither_batch_size_nor_threads_nor_order(
    minilm: PulledModel, varied: list[Row], size: int, threads: int
) -> None:
    whole = score(minilm, varied)
    shuffled = random.Random(size).sample(varied, len(varied))
    again = score(minilm, shuffled, threads=threads, batch_size=size)
    for name, row in whole.items():
        assert again[name]["score"] == pytest.approx(row["score"], abs=1e-6)
        assert again[name]["bin"] == row["bin"]


def test_a_row_alone_scores_as_it_does_in_the_file(minilm: PulledModel, varied: list[Row]) -> None:
    whole = score(minilm, varied)
    for row in varied:
        assert score(minilm, [row])[row.id]["score"] == pytest.approx(whole[row.id]["score"], abs=1e-6)
