"""The parity gate: every artefact of an exported folder against torch, on the texts that SMILE encodes.

The texts are those that the metric asks for when it scores the rows: questions with references, synthetic answers,
predictions and their n-grams. What is allowed is one table, GATES; what was measured is written beside it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib import resources
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from smile_lite.encoder import OnnxEncoder
from smile_lite.errors import GateFailed, UsageError
from smile_lite.metric import Smile
from smile_lite.rows import read_rows
from smile_lite.tokenizer import load_tokenizer, token_ids
from smile_lite.verdict import PAPER_THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from smile_lite.encoder import Encoder
    from smile_lite.report import RowScore
    from smile_lite.rows import Row
    from smile_lite.store import PulledModel

__all__ = [
    "GATES",
    "Figures",
    "Gate",
    "Reference",
    "format_table",
    "gate_of",
    "judge",
    "measure",
    "parity_rows",
    "parity_table",
    "raise_if_failed",
]

_NEIGHBOURS = 64
_LENGTHS = 4  # how many lengths of text the test of neighbours takes


@dataclass(frozen=True, slots=True)
class Gate:
    """What an artefact may differ from torch; None where nothing is asked. `fit` is False for what no score may use."""

    largest_difference: float | None = None
    mean_cosine: float | None = None
    min_cosine: float | None = None
    score_change: float | None = None
    changed_bins: float | None = None
    batch_difference: float | None = None
    fit: bool = True


# int8-token-7: activations of 7 bits, for processors whose products of 8 bits saturate.
GATES: Mapping[str, Gate] = {
    "fp32": Gate(largest_difference=1e-5, batch_difference=1e-6),
    "int8": Gate(min_cosine=0.998, score_change=0.005, changed_bins=0.01, batch_difference=0.0),
    "int8-token": Gate(mean_cosine=0.999, min_cosine=0.997, score_change=0.01, changed_bins=0.01, batch_difference=0.0),
    "int8-token-7": Gate(
        mean_cosine=0.9975, min_cosine=0.99, score_change=0.015, changed_bins=0.02, batch_difference=0.0
    ),
    "int8-dynamic": Gate(fit=False),
}
_FLOORS = ("mean_cosine", "min_cosine")


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured. Differences are absolute; bins and verdicts are shares of the scored rows."""

    texts: int
    rows: int
    largest_difference: float
    mean_cosine: float
    min_cosine: float
    worst_text: str
    score_change: float
    changed_bins: float
    changed_verdicts: float
    batch_difference: float


class _Recorder:
    """An encoder that keeps every vector that it gave."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.name, self.precision, self.max_tokens = encoder.name, encoder.precision, encoder.max_tokens
        self.vectors: dict[str, NDArray[np.float32]] = {}

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        new = [text for text in dict.fromkeys(texts) if text not in self.vectors]
        if new:
            self.vectors.update(zip(new, self._encoder.encode(new), strict=True))
        return np.stack([self.vectors[text] for text in texts])


class Reference:
    """What torch says of some rows: the vector of each text that SMILE needs, and the score of each row."""

    def __init__(self, encoder: Encoder, rows: Sequence[Row], *, threshold: float = PAPER_THRESHOLD) -> None:
        if not rows:
            raise UsageError("there are no rows to compare on")
        recorder = _Recorder(encoder)
        self.rows, self.threshold, self.name = rows, threshold, encoder.name
        self.scores: list[RowScore] = list(Smile(recorder).score_rows(rows).rows)
        self.vectors = recorder.vectors
        if not self.vectors:
            raise UsageError("the rows hold nothing that an encoder would be asked for")


def parity_rows(path: Path | None, limit: int | None = None) -> list[Row]:
    """The rows of a file, or of the sample that comes with the package."""
    if path is not None:
        return list(islice(read_rows(path), limit))
    with resources.as_file(resources.files("smile_lite") / "sample.jsonl") as sample:
        return list(islice(read_rows(sample), limit))


def measure(model: PulledModel, precision: str, reference: Reference, *, threads: int | None = None) -> Figures:
    """Run the artefact of `precision` over the texts and rows of `reference`."""
    encoder = OnnxEncoder(model, precision=precision, threads=threads)
    recorder = _Recorder(encoder)
    scores = Smile(recorder).score_rows(reference.rows).rows
    texts = list(reference.vectors)
    wanted = np.stack([reference.vectors[text] for text in texts]).astype(np.float64)
    got = recorder.encode(texts).astype(np.float64)
    cosines = (wanted * got).sum(axis=1) / (np.linalg.norm(wanted, axis=1) * np.linalg.norm(got, axis=1))
    pairs = [
        (one.score, other.score, one.bin == other.bin)
        for one, other in zip(reference.scores, scores, strict=True)
        if one.score is not None and other.score is not None
    ]
    verdicts = [(one >= reference.threshold) != (other >= reference.threshold) for one, other, _ in pairs]
    return Figures(
        texts=len(texts),
        rows=len(pairs),
        largest_difference=float(np.abs(wanted - got).max()),
        mean_cosine=float(cosines.mean()),
        min_cosine=float(cosines.min()),
        worst_text=texts[int(cosines.argmin())][:80],
        score_change=max((abs(one - other) for one, other, _ in pairs), default=0.0),
        changed_bins=float(np.mean([not same for _, _, same in pairs])) if pairs else 0.0,
        changed_verdicts=float(np.mean(verdicts)) if pairs else 0.0,
        batch_difference=_batch_difference(model, precision, texts, threads),
    )


def _batch_difference(model: PulledModel, precision: str, texts: Sequence[str], threads: int | None) -> float:
    """The largest difference of a number of a text's vector, alone and among others of its length."""
    manifest = model.manifest
    tokens = token_ids(load_tokenizer(model.path(manifest.tokenizer), manifest.encoding), texts, manifest.encoding)
    by_length: dict[int, dict[tuple[int, ...], str]] = {}
    for one, text in zip(tokens, texts, strict=True):
        by_length.setdefault(len(one), {}).setdefault(one, text)
    commonest = sorted(by_length.values(), key=len, reverse=True)[:_LENGTHS]
    chosen = [text for group in commonest for text in islice(group.values(), _NEIGHBOURS + 1)]
    among = OnnxEncoder(
        model, precision=precision, threads=threads, batch_size=_NEIGHBOURS + 1, tokens_per_batch=1 << 20
    )
    alone = OnnxEncoder(model, precision=precision, threads=threads, batch_size=1)
    return float(np.abs(among.encode(chosen) - alone.encode(chosen)).max())


def gate_of(precision: str, activation_bits: int = 8) -> Gate:
    """The row of GATES that holds for an artefact. Raises UsageError for a precision that has none."""
    name = f"{precision}-7" if precision == "int8-token" and activation_bits == 7 else precision
    if name not in GATES:
        raise UsageError(f"no gate is known for the precision {precision!r}: there are {', '.join(GATES)}")
    return GATES[name]


def judge(figures: Figures, gate: Gate) -> list[str]:
    """What the figures break of the gate, in words; empty where they pass."""
    broken = []
    for name, limit in asdict(gate).items():
        if name == "fit" or limit is None:
            continue
        value = getattr(figures, name)
        if not (value >= limit if name in _FLOORS else value <= limit):
            broken.append(f"{name} is {value:.6g}, {'under' if name in _FLOORS else 'over'} {limit:g}")
    return broken


def parity_table(measured: Mapping[str, tuple[Figures, Gate]], reference: str) -> dict[str, dict[str, Any]]:
    """Figures and limits as they go into a manifest and into --json."""
    return {
        precision: {
            "reference": reference,
            "fit": gate.fit,
            "passed": gate.fit and not judge(figures, gate),
            "broken": judge(figures, gate),
            **{key: _short(value) for key, value in asdict(figures).items()},
            "limits": {key: value for key, value in asdict(gate).items() if key != "fit" and value is not None},
        }
        for precision, (figures, gate) in measured.items()
    }


def format_table(table: Mapping[str, Mapping[str, Any]]) -> str:
    """The table for a terminal."""
    columns = ("mean_cosine", "min_cosine", "largest_difference", "score_change", "changed_bins", "changed_verdicts")
    lines = [f"{'':<13}" + "".join(f"{name:>19}" for name in columns) + "   alone = among 64"]
    for precision, row in table.items():
        verdict = "" if row["fit"] else "  unfit: its vectors depend on the batch"
        verdict = "  FAILED" if row["fit"] and not row["passed"] else verdict
        same = "identical" if row["batch_difference"] == 0 else f"{row['batch_difference']:.1e}"
        lines.append(f"{precision:<13}" + "".join(f"{row[name]:>19.6g}" for name in columns) + f"   {same}{verdict}")
    return "\n".join(lines)


def raise_if_failed(table: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises GateFailed that names every artefact past its limits, and by what."""
    failures = [f"{name}: {'; '.join(row['broken'])}" for name, row in table.items() if row["fit"] and row["broken"]]
    if failures:
        raise GateFailed(f"parity with torch was not reached: {' | '.join(failures)}")


def _short(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value
