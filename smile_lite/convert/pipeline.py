"""A checkpoint into the graph of a precision: read, check, quantise where wanted, build, and try it on known texts."""

from __future__ import annotations

import tempfile
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from smile_lite.convert.bert import build_bert
from smile_lite.convert.checkpoint_file import CheckpointFile, save_tensors
from smile_lite.convert.forms import PRECISIONS, SMOOTHING, FloatForm, Form, TokenForm, WeightForm
from smile_lite.convert.graph import Graph
from smile_lite.convert.quantise import quantise_for_tokens, quantise_weights, smoothing_factors
from smile_lite.errors import ModelError
from smile_lite.extras import require
from smile_lite.rows import read_rows
from smile_lite.session import exact_length_batches, new_session
from smile_lite.text import ngrams, split_words
from smile_lite.tokenizer import load_tokenizer, pair_ids, token_ids

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smile_lite.manifest import Architecture, Manifest

__all__ = ["activation_bits", "convert_bert"]


def convert_bert(manifest: Manifest, weights: Path, graph: Path, *, precision: str = "fp32") -> list[Path]:
    """Write the graph of `manifest` in `precision` over `weights` (safetensors) to `graph`; returns the files written.

    fp32 points into `weights`, beside which the graph must live, or into `<graph>.safetensors` where they were stored
    in half precision; the int8 forms point into `<graph>.safetensors`. Raises ModelError where the checkpoint is not
    the BERT that the manifest describes.
    """
    if precision not in PRECISIONS:
        raise ModelError(f"no precision is called {precision!r}: there are {', '.join(PRECISIONS)}")
    shape = manifest.architecture
    if shape is None:
        raise ModelError(f"{manifest.name} states no architecture, so there is nothing to convert")
    checkpoint = CheckpointFile(weights)
    checkpoint.check_shapes(manifest, shape)
    positions = manifest.encoding.max_tokens + shape.position_offset
    beside = graph.with_name(f"{graph.stem}.safetensors")
    form: Form = FloatForm()
    if precision != "fp32":
        largest = _largest_inputs(manifest, shape, checkpoint, weights.parent)
        factors = smoothing_factors(checkpoint, largest, SMOOTHING[precision])
        by_token = precision == "int8-token"
        form = TokenForm(activation_bits()) if by_token else WeightForm()
        quantise = quantise_for_tokens if by_token else quantise_weights
        save_tensors(quantise(checkpoint, factors, positions), beside)
    elif checkpoint.is_half_precision:
        save_tensors({name: checkpoint.read(name) for name in checkpoint.names}, beside)
    written = [graph]
    if beside.exists():
        checkpoint = CheckpointFile(beside)
        written.append(beside)
    graph.write_bytes(build_bert(manifest, shape, Graph(checkpoint), form))
    return written


def activation_bits() -> int:
    """8 where this processor's products of uint8 and int8 are exact, 7 where they saturate (AVX2 without VNNI).

    Found by trying: rows of the largest values, in shapes that take each of the kernels.
    """
    onnx = require("onnx", extra="convert", purpose="converting a model")
    helper, types = onnx.helper, onnx.TensorProto
    inputs = [helper.make_tensor_value_info("x", types.UINT8, ["n", 256])]
    outputs = [helper.make_tensor_value_info("y", types.INT32, ["n", 48])]
    weights = onnx.numpy_helper.from_array(np.full((256, 48), 127, np.int8), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["x", "w"], ["y"])], "probe", inputs, outputs, [weights]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    session = new_session(model.SerializeToString(), 1)
    exact = all(
        (session.run(None, {"x": np.full((rows, 256), 255, np.uint8)})[0] == 255 * 127 * 256).all()
        for rows in (1, 2, 5, 16, 64)
    )
    return 8 if exact else 7


def _largest_inputs(
    manifest: Manifest, shape: Architecture, checkpoint: CheckpointFile, folder: Path
) -> dict[str, NDArray[np.float32]]:
    """The largest absolute value of every input channel of every site, over texts that come with the package."""
    form = FloatForm(tapped=True)
    model = build_bert(manifest, shape, Graph(checkpoint), form)
    tokenizer = load_tokenizer(folder / manifest.tokenizer, manifest.encoding)
    texts = sample_texts()
    if manifest.head is None:
        feeds = [(one, one) for one in token_ids(tokenizer, texts, manifest.encoding)]
    else:
        feeds = pair_ids(tokenizer, list(pairwise(texts)), manifest.encoding)
    largest: dict[str, Any] = dict.fromkeys(form.taps, np.float32(0))
    with tempfile.NamedTemporaryFile(dir=checkpoint.path.parent, suffix=".onnx") as file:
        file.write(model)
        file.flush()
        session = new_session(Path(file.name), threads=None)
        names = {one.name for one in session.get_inputs()}
        for members in exact_length_batches([len(ids) for ids, _ in feeds]):
            feed = {"input_ids": np.array([feeds[one][0] for one in members], dtype=np.int64)}
            if "token_type_ids" in names:
                feed["token_type_ids"] = np.array([feeds[one][1] for one in members], dtype=np.int64)
            for tap, value in zip(form.taps, session.run(list(form.taps), feed), strict=True):
                largest[tap] = np.maximum(largest[tap], np.abs(value).max(axis=0))
    return {site: largest[tap] for site, tap in form.sites.items()}


def sample_texts() -> list[str]:
    """Sentences and n-grams of the sample that comes with the package: what smoothing is measured on."""
    texts: list[str] = []
    with resources.as_file(resources.files("smile_lite") / "sample.jsonl") as path:
        for row in read_rows(path):
            prediction = row.prediction or ""
            texts += [row.question or "", prediction, *row.references, *(one for one in row.synthetic if one)]
            texts += [gram for size in (1, 3) for gram in ngrams(split_words(prediction).keys, size)]
    return list(dict.fromkeys(texts))
