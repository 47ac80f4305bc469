from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from smile_lite.encoder import OnnxEncoder
from smile_lite.errors import ModelError
from smile_lite.models import get_model
from smile_lite.pairs import OnnxPairScorer, PairScorer
from smile_lite.testing import FakePairScorer

from . import tiny

PAIRS = [("the cat sat", "it sat"), ("paris", "what is the capital of france"), ("a", "a"), ("lyon is it", "3 4 5")]
LABELS = ("contradiction", "entailment", "neutral")


@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize("labels", [LABELS, ("relevant",)])
def test_a_cross_encoder_gives_its_logits_in_the_order_of_its_labels(
    tmp_path: Path, home: Path, family: str, labels: tuple[str, ...]
) -> None:
    folder = tiny.write_cross_encoder(tmp_path / "c", labels, family=family)
    scorer = OnnxPairScorer.from_pretrained(folder, threads=1)
    assert scorer.labels == labels
    weights = tiny.tensors(prefix=f"{family}.", segments=2 if family == "bert" else 1, labels=len(labels))
    expected = []
    for pair in PAIRS:
        encoding = scorer._tokenizer.encode(*pair)
        segments = encoding.type_ids if family == "bert" else [0] * len(encoding.ids)
        expected.append(tiny.classify(weights, encoding.ids, segments, family=family))
    assert np.abs(scorer.score(PAIRS) - np.array(expected)).max() < 1e-5


@pytest.mark.parametrize("precision", ["fp32", "int8", "int8-token"])
def test_a_pair_s_logits_do_not_depend_on_the_other_pairs(tmp_path: Path, home: Path, precision: str) -> None:
    folder = tiny.write_cross_encoder(tmp_path / "c", LABELS)
    scorer = OnnxPairScorer.from_pretrained(folder, precision=precision, threads=1)
    exact = OnnxPairScorer.from_pretrained(folder, threads=1).score(PAIRS)
    whole = scorer.score(PAIRS * 5)
    seven_bits = scorer.precision.endswith("-a7")  # activations on processors whose integer products saturate
    assert np.abs(whole[:4] - exact).max() < (0.4 if seven_bits else 0.2)
    alone = np.vstack([scorer.score([pair]) for pair in PAIRS])
    assert np.abs(whole[:4] - alone).max() <= 1e-6
    assert scorer.score([]).shape == (0, 3)


def test_an_encoder_is_no_pair_scorer_nor_the_other_way_round(tmp_path: Path, home: Path, checkpoint: Path) -> None:
    with pytest.raises(ModelError, match="scores no pairs"):
        OnnxPairScorer(get_model(str(checkpoint)))
    folder = tiny.write_cross_encoder(tmp_path / "c", LABELS)
    with pytest.raises(ModelError, match="it is no encoder"):
        OnnxEncoder(get_model(str(folder)))


def test_finished_graphs_are_taken_as_they_are_and_fed_what_they_ask_for(tmp_path: Path, home: Path) -> None:
    """As the repositories of some cross-encoders hold them: no architecture, a mask among the inputs."""
    onnx = pytest.importorskip("onnx")
    helper, types = onnx.helper, onnx.TensorProto
    names = ("input_ids", "attention_mask", "token_type_ids")
    cast = [helper.make_node("Cast", [name], [f"{name}_f"], to=types.FLOAT) for name in names]
    total = helper.make_node("Sum", [f"{name}_f" for name in names[1:]], ["marks"])
    summed = helper.make_node("ReduceSum", ["marks", "axis"], ["logits"], keepdims=1)
    graph = helper.make_graph(
        [*cast[1:], total, summed],
        "sum",
        [helper.make_tensor_value_info(name, types.INT64, ["b", "t"]) for name in names],
        [helper.make_tensor_value_info("logits", types.FLOAT, ["b", 1])],
        [onnx.numpy_helper.from_array(np.array([1]), "axis")],
    )
    folder = tmp_path / "repository"
    folder.mkdir()
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), folder / "m.onnx")
    tiny.write_tokenizer(folder / "tokenizer.json")
    (tmp_path / "ready.toml").write_text(
        f"""
schema = 1
name = "ready"
title = "a finished graph"
licence = "Apache-2.0"
weights = "int8.onnx"
precisions = ["int8"]
[encoding]
pooling = "cls"
normalise = false
max_tokens = 16
[head]
labels = ["relevant"]
activation = "sigmoid"
[files."int8.onnx"]
[files."tokenizer.json"]
[[sources]]
kind = "folder"
location = '{folder}'
[sources.files]
"int8.onnx" = "m.onnx"
"tokenizer.json" = "tokenizer.json"
"""
    )
    scorer = OnnxPairScorer.from_pretrained(tmp_path / "ready.toml", precision="int8", threads=1)
    # [CLS] the cat [SEP] it [SEP]: six tokens under the mask, two of the second text.
    assert scorer.score([("the cat", "it")]).tolist() == [[8.0]]


def test_it_survives_pickling_and_both_keep_the_protocol(tmp_path: Path, home: Path) -> None:
    scorer = OnnxPairScorer.from_pretrained(tiny.write_cross_encoder(tmp_path / "c", LABELS), threads=1)
    again = pickle.loads(pickle.dumps(scorer))  # noqa: S301
    assert (again.score(PAIRS) == scorer.score(PAIRS)).all()
    assert isinstance(scorer, PairScorer)
    assert isinstance(FakePairScorer(), PairScorer)
    assert FakePairScorer().score([("it is paris", "paris"), ("lyon", "paris")])[:, 0].tolist() == [5.0, -5.0]
