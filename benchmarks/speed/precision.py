"""The int8 forms against fp32: speed in turn in one run, fidelity of the vectors, effect on scores, bins and verdicts.

python -m benchmarks.speed.precision --rows nq301_unique.jsonl --write
python -m benchmarks.speed.precision --shape ember-v1 --write      # random weights of that shape: speed and size only
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import save_file

from benchmarks.record import write_result
from smile_lite.encoder import OnnxEncoder
from smile_lite.manifest import Architecture, load_manifest
from smile_lite.metric import Smile
from smile_lite.models import get_model
from smile_lite.rows import read_rows
from smile_lite.text import ngrams, sentence, split_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smile_lite.rows import Row

PRECISIONS = ("fp32", "int8", "int8-token")


def main() -> None:
    """Measure and print; with --write also write a result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, default=Path(__file__).parents[2] / "smile_lite" / "sample.jsonl")
    parser.add_argument("--limit", type=int, default=0, help="so many rows, evenly taken; 0 for all")
    parser.add_argument("--texts", type=int, default=0, help="time so many texts; default 1,500, or 96 with --shape")
    parser.add_argument("--shape", help="a manifest's name: random weights of its shape instead of minilm")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    rows = [row for row in read_rows(arguments.rows) if row.prediction]
    if arguments.limit:
        rows = rows[:: max(1, len(rows) // arguments.limit)][: arguments.limit]
    texts = texts_of(rows)
    with tempfile.TemporaryDirectory() as folder:
        model = random_checkpoint(arguments.shape, Path(folder)) if arguments.shape else "minilm"
        home = Path(folder) / "home" if arguments.shape else None
        figures: dict[str, Any] = {"model": arguments.shape or "minilm", "rows_file": arguments.rows.name, "threads": 1}
        encoders = {}
        for precision in PRECISIONS:
            start = time.perf_counter()
            pulled = get_model(model, precision=precision, home=home)
            encoders[precision] = OnnxEncoder(pulled, precision=precision, threads=1)
            size = sum(path.stat().st_size for path in pulled.folder.glob(f"{precision}.*"))
            if precision == "fp32":
                size += pulled.path(pulled.manifest.weights).stat().st_size
            figures[precision] = {
                "megabytes": round(size / 1e6, 1),
                "ready_seconds": round(time.perf_counter() - start, 1),
            }
        count = arguments.texts or (96 if arguments.shape else 1500)
        timed = [texts[index] for index in np.random.default_rng(0).permutation(len(texts))[:count]]
        figures["timed_texts"] = len(timed)
        figures["times_as_fast_as_fp32"] = speed(encoders, timed, arguments.runs)
        if not arguments.shape:
            compare(encoders, texts, rows, figures)
    print(json.dumps(figures, indent=1))
    if arguments.write:
        print(write_result(f"speed_precision_{figures['model']}", figures))


def texts_of(rows: list[Row]) -> list[str]:
    """The sentences and n-grams that grading the rows takes."""
    texts: dict[str, None] = {}
    for row in rows:
        words = split_words(row.prediction or "").keys
        texts[sentence(row.prediction or "")] = None
        for reference in row.references:
            texts[sentence(f"{row.question or ''} {reference}")] = None
            for gram in ngrams(words, max(1, len(split_words(reference)))):
                texts[gram] = None
    return list(texts)


def speed(encoders: dict[str, OnnxEncoder], texts: list[str], runs: int) -> dict[str, list[float]]:
    """[min, median, max] over runs of CPU time of fp32 / CPU time of the form, all in turn after a warm-up."""
    ratios: dict[str, list[float]] = {}
    for number in range(runs + 1):
        seconds = {}
        for precision, encoder in encoders.items():
            start = time.process_time()
            encoder.encode(texts)
            seconds[precision] = time.process_time() - start
        for precision, taken in seconds.items():
            if number and precision != "fp32":
                ratios.setdefault(precision, []).append(seconds["fp32"] / taken)
    return {
        precision: [round(min(all_), 2), round(statistics.median(all_), 2), round(max(all_), 2)]
        for precision, all_ in ratios.items()
    }


def compare(encoders: dict[str, OnnxEncoder], texts: list[str], rows: list[Row], figures: dict[str, Any]) -> None:
    """Cosines of all vectors to fp32's, and what changes in scores, bins and verdicts."""
    exact = encoders["fp32"].encode(texts)
    reference = Smile(encoders["fp32"])
    base = reference.score_rows(rows).rows
    for precision, encoder in encoders.items():
        if precision == "fp32":
            continue
        cosines = cosine_rows(exact, encoder.encode(texts))
        scored = Smile(encoder, threshold=reference.rule.threshold).score_rows(rows).rows
        changes = np.array([abs((a.score or 0) - (b.score or 0)) for a, b in zip(base, scored, strict=True)])
        figures[precision] |= {
            "texts": len(texts),
            "cosine_mean_p1_min": [
                round(float(value), 5) for value in (cosines.mean(), np.quantile(cosines, 0.01), cosines.min())
            ],
            "score_change_mean_max": [round(float(changes.mean()), 5), round(float(changes.max()), 5)],
            "changed_bins_percent": share(a.bin != b.bin for a, b in zip(base, scored, strict=True)),
            "changed_verdicts_percent": share(a.verdict != b.verdict for a, b in zip(base, scored, strict=True)),
        }


def cosine_rows(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float64]:
    """The cosine of each row of `a` with that of `b`."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    return np.asarray((x * y).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1))


def share(flags: Any) -> float:
    """Per cent that are true."""
    listed = list(flags)
    return round(100 * float(np.mean(listed)), 3)


def random_checkpoint(name: str, folder: Path) -> str:
    """A checkpoint folder of the shape of manifest `name`: random weights, minilm's tokenizer."""
    manifest = load_manifest(name)
    if manifest.architecture is None:
        raise SystemExit(f"{name} states no architecture")
    shape = manifest.architecture
    target = folder / f"{name}-shaped"
    target.mkdir()
    minilm = get_model("minilm")
    (target / "tokenizer.json").write_bytes(minilm.path("tokenizer.json").read_bytes())
    save_file(random_tensors(shape), target / "model.safetensors")
    config = {
        "model_type": "bert",
        "num_hidden_layers": shape.layers,
        "hidden_size": shape.hidden_size,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.intermediate_size,
        "vocab_size": shape.vocabulary_size,
        "max_position_embeddings": shape.max_positions,
    }
    (target / "config.json").write_text(json.dumps(config))
    (target / "1_Pooling").mkdir()
    pooling = {f"pooling_mode_{'cls_token' if manifest.encoding.pooling == 'cls' else 'mean_tokens'}": True}
    (target / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    return str(target)


def random_tensors(shape: Architecture) -> dict[str, NDArray[np.float32]]:
    """BERT's tensors, drawn as a fresh model's are."""
    random = np.random.default_rng(0)
    hidden, inner = shape.hidden_size, shape.intermediate_size

    def draw(*size: int) -> NDArray[np.float32]:
        return random.standard_normal(size, dtype=np.float32) * np.float32(0.02)

    tensors = {
        "embeddings.word_embeddings.weight": draw(shape.vocabulary_size, hidden),
        "embeddings.position_embeddings.weight": draw(shape.max_positions, hidden),
        "embeddings.token_type_embeddings.weight": draw(shape.segments, hidden),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(shape.layers):
        base = f"encoder.layer.{layer}."
        sizes = {f"attention.self.{one}": (hidden, hidden) for one in ("query", "key", "value")}
        sizes |= {"attention.output.dense": (hidden, hidden)}
        sizes |= {"intermediate.dense": (inner, hidden), "output.dense": (hidden, inner)}
        for part, size in sizes.items():
            tensors[f"{base}{part}.weight"], tensors[f"{base}{part}.bias"] = draw(*size), draw(size[0])
        norms += [f"{base}attention.output.LayerNorm", f"{base}output.LayerNorm"]
    for norm in norms:
        tensors[f"{norm}.weight"], tensors[f"{norm}.bias"] = np.ones(hidden, np.float32), np.zeros(hidden, np.float32)
    return tensors


if __name__ == "__main__":
    main()
