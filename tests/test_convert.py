from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from smile_lite.checkpoint import manifest_from_checkpoint
from smile_lite.convert import convert_bert
from smile_lite.convert.pipeline import activation_bits
from smile_lite.encoder import OnnxEncoder
from smile_lite.errors import ModelError, ModelUnavailable
from smile_lite.health import check_golden
from smile_lite.manifest import load_manifest
from smile_lite.models import get_model
from smile_lite.store import PulledModel

from . import tiny

TEXTS = ["the cat", "the cat sat on a mat", "paris", "what is the capital of france", "3 4 5", "it"]


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("prefix", ["", "bert."])
def test_the_graph_computes_bert(tmp_path: Path, home: Path, pooling: str, prefix: str) -> None:
    folder = tiny.write_checkpoint(tmp_path / "m", pooling=pooling, prefix=prefix)
    encoder = OnnxEncoder(get_model(str(folder)), threads=1)
    assert encoder.manifest.encoding.pooling == pooling
    ids = [encoding.ids for encoding in encoder._tokenizer.encode_batch(TEXTS)]
    expected = [tiny.forward(tiny.tensors(), one, pooling=pooling) for one in ids]
    assert np.abs(encoder.encode(TEXTS) - np.array(expected)).max() < 2e-6


@pytest.mark.parametrize("dtype", [np.float16])
def test_weights_in_half_precision_are_widened(tmp_path: Path, home: Path, dtype: type) -> None:
    folder = tiny.write_checkpoint(tmp_path / "half", dtype=dtype)
    model = get_model(str(folder))
    assert "fp32.safetensors" in model.files
    encoder = OnnxEncoder(model, threads=1)
    ids = encoder._tokenizer.encode("the cat sat").ids
    expected = tiny.forward(tiny.tensors(dtype=dtype), ids, pooling="mean")
    assert np.abs(encoder.encode(["the cat sat"])[0] - expected).max() < 2e-6


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_vector_does_not_depend_on_its_batch_or_the_threads(
    tmp_path: Path, home: Path, pooling: str, threads: int
) -> None:
    model = get_model(str(tiny.write_checkpoint(tmp_path / "m", pooling=pooling)))
    texts = [f"{word} {number} cat" for number in (3, 4, 5) for word in tiny.WORDS]
    whole = OnnxEncoder(model, threads=1).encode(texts)
    for size in (1, 2, 3, 7):
        got = OnnxEncoder(model, threads=threads, batch_size=size).encode(texts)
        assert np.abs(got - whole).max() <= 1e-6


def test_the_weights_are_not_copied(tmp_path: Path, home: Path) -> None:
    model = get_model(str(tiny.write_checkpoint(tmp_path / "m")))
    graph = onnx.load(str(model.path("fp32.onnx")), load_external_data=False)
    outside = {
        entry.value for tensor in graph.graph.initializer for entry in tensor.external_data if entry.key == "location"
    }
    assert outside == {"model.safetensors"}
    assert [one.name for one in graph.graph.input] == ["input_ids"]
    assert [one.name for one in graph.graph.output] == ["embedding"]


def test_conversion_is_deterministic(checkpoint: Path, tmp_path: Path) -> None:
    manifest = manifest_from_checkpoint(checkpoint)
    for name in ("a.onnx", "b.onnx"):
        convert_bert(manifest, checkpoint / "model.safetensors", checkpoint / name)
    assert (checkpoint / "a.onnx").read_bytes() == (checkpoint / "b.onnx").read_bytes()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("bytes", "this is not safetensors"),
        ("shape", r"word_embeddings.weight has the shape \(3, 3\)"),
        ("missing", "the tensor encoder.layer.1.output.dense.weight is missing"),
        ("layers", "more than the 2 layers"),
        ("names", "this is no BERT encoder"),
    ],
)
def test_a_checkpoint_that_is_not_the_bert_described_is_refused(checkpoint: Path, damage: str, message: str) -> None:
    from safetensors.numpy import save_file

    weights = tiny.tensors()
    if damage == "shape":
        weights["embeddings.word_embeddings.weight"] = np.zeros((3, 3), np.float32)
    if damage == "missing":
        del weights["encoder.layer.1.output.dense.weight"]
    if damage == "layers":
        weights["encoder.layer.2.output.dense.weight"] = weights["encoder.layer.1.output.dense.weight"]
    if damage == "names":
        weights = {f"other.{name}": value for name, value in weights.items()}
    path = checkpoint / "model.safetensors"
    save_file(weights, path)
    if damage == "bytes":
        path.write_bytes(b"\xff" * 100)
    with pytest.raises(ModelError, match=message):
        convert_bert(manifest_from_checkpoint(checkpoint), path, checkpoint / "x.onnx")


def test_a_checkpoint_that_states_no_pooling_is_refused_unless_it_is_given(tmp_path: Path, home: Path) -> None:
    folder = tiny.write_checkpoint(tmp_path / "bare", pooling=None)
    with pytest.raises(ModelError, match="state it with --pooling"):
        manifest_from_checkpoint(folder)
    assert manifest_from_checkpoint(folder, pooling="cls").encoding.pooling == "cls"


def test_a_module_that_would_be_left_out_is_refused_and_a_default_prompt_is_kept(checkpoint: Path) -> None:
    prompts = {"prompts": {"query": "query: "}, "default_prompt_name": "query"}
    (checkpoint / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    assert manifest_from_checkpoint(checkpoint).encoding.prefix == "query: "
    modules = json.loads((checkpoint / "modules.json").read_text())
    modules.append({"type": "sentence_transformers.models.Dense", "path": "2_Dense"})
    (checkpoint / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(ModelError, match=r"modules.json lists Dense"):
        manifest_from_checkpoint(checkpoint)


def test_a_checkpoint_of_another_family_is_refused(checkpoint: Path) -> None:
    (checkpoint / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(ModelError, match="'llama' cannot be converted without torch"):
        manifest_from_checkpoint(checkpoint)
    (checkpoint / "config.json").unlink()
    with pytest.raises(ModelUnavailable, match=r"config.json is missing"):
        manifest_from_checkpoint(checkpoint)


def test_minilm_agrees_with_torch(minilm: PulledModel) -> None:
    golden = load_manifest("minilm").golden
    assert golden is not None
    vectors = OnnxEncoder(minilm, threads=1).encode(golden.texts).astype(np.float64)
    for index, (head, cosines) in enumerate(zip(golden.heads, golden.cosines, strict=True)):
        assert vectors[index, :8] == pytest.approx(head, abs=1e-5)
        for other, cosine in enumerate(cosines):
            assert vectors[index] @ vectors[other] == pytest.approx(cosine, abs=1e-5)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_roberta_s_positions_begin_behind_its_padding(tmp_path: Path, home: Path, pooling: str) -> None:
    encoder = OnnxEncoder(get_model(str(tiny.write_roberta(tmp_path / "r", pooling=pooling))), threads=1)
    assert encoder.manifest.architecture is not None
    assert encoder.manifest.architecture.position_offset == 2
    ids = [encoding.ids for encoding in encoder._tokenizer.encode_batch(TEXTS)]
    expected = [tiny.forward(tiny.tensors(segments=1), one, pooling=pooling, offset=2) for one in ids]
    assert np.abs(encoder.encode(TEXTS) - np.array(expected)).max() < 2e-6


@pytest.mark.parametrize("precision", ["int8", "int8-token"])
@pytest.mark.parametrize("write", [tiny.write_checkpoint, tiny.write_roberta])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_int8_forms_are_faithful_small_and_independent_of_the_batch(
    tmp_path: Path, home: Path, precision: str, write: Callable[..., Path], pooling: str
) -> None:
    model = get_model(str(write(tmp_path / "m", pooling=pooling)), precision=precision)
    exact = OnnxEncoder(get_model(str(tmp_path / "m")), threads=1).encode(TEXTS)
    model = get_model(str(tmp_path / "m"), precision=precision)
    encoder = OnnxEncoder(model, precision=precision, threads=1)
    got = encoder.encode(TEXTS)
    assert (got * exact).sum(axis=1).min() > 0.99
    assert np.abs(got - exact).max() > 1e-6  # it is quantised
    assert encoder.precision.startswith(precision)
    others = [f"{text} {word}" for text in TEXTS for word in tiny.WORDS]
    among = encoder.encode([*others, *TEXTS])[len(others) :]
    alone = np.vstack([encoder.encode([text]) for text in TEXTS])
    assert (alone == among).all()
    assert stat.S_IMODE(model.path(f"{precision}.safetensors").stat().st_mode) & 0o444 == 0o444


def test_minilm_in_int8_fits_24_megabytes_and_stays_near(minilm: PulledModel) -> None:
    texts = [*TEXTS, "A whole sentence about the river Danube, which flows through Vienna.", "42.195 kilometres"]
    exact = OnnxEncoder(minilm, threads=1).encode(texts)
    # Seven bits are what a processor without exact integer products gets; measured .9923 at least (export/README.md).
    for precision, least in (("int8", 0.998), ("int8-token", 0.997 if activation_bits() == 8 else 0.985)):
        model = get_model("minilm", precision=precision)
        got = OnnxEncoder(model, precision=precision, threads=1).encode(texts)
        assert (got * exact).sum(axis=1).min() >= least
        assert sum(model.path(f"{precision}.{end}").stat().st_size for end in ("onnx", "safetensors")) <= 24e6
        worst = check_golden(model, precision=precision)
        assert worst is not None
        assert 1e-5 < worst < 0.03


def test_activations_have_the_bits_that_this_processor_multiplies_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    assert activation_bits() in (7, 8)

    class Saturating:
        def run(self, _: object, feed: dict[str, np.ndarray[tuple[int, int], np.dtype[np.uint8]]]) -> list[object]:
            return [np.full((len(feed["x"]), 48), 32767 * 128, np.int32)]

    monkeypatch.setattr("smile_lite.convert.pipeline.new_session", lambda *_: Saturating())
    assert activation_bits() == 7


def test_seven_bit_activations_have_a_name_of_their_own(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("smile_lite.convert.pipeline.activation_bits", lambda: 7)
    folder = str(tiny.write_checkpoint(tmp_path / "m"))
    encoder = OnnxEncoder(get_model(folder, precision="int8-token"), precision="int8-token", threads=1)
    assert encoder.precision == "int8-token-a7"
    exact = OnnxEncoder(get_model(folder), threads=1).encode(TEXTS)
    assert (encoder.encode(TEXTS) * exact).sum(axis=1).min() > 0.98
