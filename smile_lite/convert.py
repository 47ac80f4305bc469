"""BERT-family safetensors into an ONNX graph made for this job, without torch (extra `convert`).

The graph takes `input_ids` [batch, tokens] alone: a batch holds texts of one length, so there is no padding and no
mask. Pooling and normalisation are inside; it gives `embedding` [batch, dim], unit rows. With CLS pooling the last
layer is computed for the CLS row only. The weights are not copied: the graph names their place in the checkpoint's
own safetensors file (ONNX external data), which onnxruntime maps, so the bytes that run are those whose hash was
published.

Three choices are measured ones (onnxruntime 1.32, one thread): Gemm with the weights as stored is as fast as MatMul
with them transposed; LayerNormalization beside a plain Add beats the fused SkipLayerNormalization; and the mean over
tokens is a product with ones, because ReduceMean sums in another order for a batch of one, and a text's vector must
not depend on its batch.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from smile_lite.errors import ModelError
from smile_lite.extras import require

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from smile_lite.manifest import Manifest

__all__ = ["CONVERTER_VERSION", "convert_bert"]

CONVERTER_VERSION = 1
_OPSET, _IR_VERSION = 18, 9
_PREFIXES = ("", "bert.", "model.", "0.auto_model.")
_ACTIVATION_OPS = {
    "gelu": ("Gelu", "com.microsoft"),
    "gelu_new": ("FastGelu", "com.microsoft"),
    "relu": ("Relu", ""),
}


def convert_bert(manifest: Manifest, weights: Path, graph: Path, *, precision: str = "fp32") -> list[Path]:
    """Write the graph of `manifest` over `weights` (safetensors) to `graph`; returns the files written.

    The graph must live beside the weights. Weights stored in half precision are widened into a second file,
    `<graph>.safetensors`. Raises ModelError where the checkpoint is not the BERT that the manifest describes.
    """
    if precision != "fp32":
        raise ModelError(f"this converter makes fp32, not {precision!r}")
    onnx = require("onnx", extra="convert", purpose="converting a model")
    checkpoint = _Checkpoint(weights)
    written = [graph]
    if not checkpoint.is_fp32:
        wide = graph.with_name(f"{graph.stem}.safetensors")
        checkpoint.widen_to(wide)
        checkpoint = _Checkpoint(wide)
        written.append(wide)
    checkpoint.check_shapes(manifest)
    model = _Builder(onnx, manifest, checkpoint).build()
    graph.write_bytes(model.SerializeToString(deterministic=True))
    return written


class _Checkpoint:
    """Tensors of a safetensors file by their BERT name, and where each lies in the file."""

    def __init__(self, path: Path) -> None:
        safetensors = require("safetensors", extra="convert", purpose="converting a model")
        self.file = path.name
        self._path = path
        try:
            with safetensors.safe_open(path, "numpy"):
                pass  # validates the header: names, shapes, bounds, no overlap
            with path.open("rb") as stream:
                length = int.from_bytes(stream.read(8), "little")
                header = json.loads(stream.read(length))
        except (OSError, ValueError, safetensors.SafetensorError) as error:
            raise ModelError(f"{path}: this is not safetensors: {error}") from None
        header.pop("__metadata__", None)
        probe = "embeddings.word_embeddings.weight"
        prefix = next((prefix for prefix in _PREFIXES if prefix + probe in header), None)
        if prefix is None:
            raise ModelError(f"{path}: there is no tensor {probe}, so this is no BERT encoder")
        self._start = 8 + length
        self._entries: dict[str, Any] = {
            name.removeprefix(prefix): entry
            for name, entry in header.items()
            if name.startswith(prefix) and entry["dtype"] in _DTYPES
        }

    @property
    def is_fp32(self) -> bool:
        return all(entry["dtype"] == "F32" for entry in self._entries.values())

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self._entry(name)["shape"])

    def place(self, name: str) -> tuple[int, int]:
        """(offset, length) in bytes."""
        begin, end = self._entry(name)["data_offsets"]
        return self._start + begin, end - begin

    def read(self, name: str) -> NDArray[np.float32]:
        offset, length = self.place(name)
        with self._path.open("rb") as stream:
            stream.seek(offset)
            raw = stream.read(length)
        dtype = self._entry(name)["dtype"]
        if dtype == "BF16":  # the upper half of a float32
            values = (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32)
        else:
            values = np.frombuffer(raw, _DTYPES[dtype]).astype(np.float32)
        return values.reshape(self.shape(name))

    def widen_to(self, path: Path) -> None:
        save = require("safetensors.numpy", extra="convert", purpose="converting a model").save_file
        save({name: self.read(name) for name in self._entries}, path)

    def check_shapes(self, manifest: Manifest) -> None:
        shape = manifest.architecture
        hidden, inner = shape.hidden_size, shape.intermediate_size
        expected = {
            "embeddings.word_embeddings.weight": (shape.vocabulary_size, hidden),
            "embeddings.position_embeddings.weight": (shape.max_positions, hidden),
        }
        for layer in range(shape.layers):
            base = f"encoder.layer.{layer}."
            expected[f"{base}attention.self.query.weight"] = (hidden, hidden)
            expected[f"{base}intermediate.dense.weight"] = (inner, hidden)
            expected[f"{base}output.dense.weight"] = (hidden, inner)
        for name, wanted in expected.items():
            if self.shape(name) != wanted:
                raise ModelError(
                    f"{self._path}: {name} has the shape {self.shape(name)}, not {wanted} as {manifest.name} states"
                )
        if f"encoder.layer.{shape.layers}.output.dense.weight" in self._entries:
            raise ModelError(f"{self._path}: it has more than the {shape.layers} layers that {manifest.name} states")

    def _entry(self, name: str) -> Any:
        if name not in self._entries:
            raise ModelError(f"{self._path}: the tensor {name} is missing")
        return self._entries[name]


_DTYPES = {"F32": np.float32, "F16": np.float16, "BF16": np.uint16}


class _Builder:
    """Builds the graph node by node; every method returns the name of the value it made."""

    def __init__(self, onnx: Any, manifest: Manifest, checkpoint: _Checkpoint) -> None:
        self._onnx = onnx
        self._manifest = manifest
        self._checkpoint = checkpoint
        self._nodes: list[Any] = []
        self._initializers: dict[str, Any] = {}

    def build(self) -> Any:
        shape, helper = self._manifest.architecture, self._onnx.helper
        self._size = self._node("Shape", "input_ids")
        batch = self._node("Gather", self._size, self._ints("zero", [0]))
        self._tokens = self._node("Gather", self._size, self._ints("one", [1]))
        self._batch_one = self._node("Concat", batch, self._ints("one", [1]), axis=0)
        self._by_head = self._node(
            "Concat", self._size, self._ints("heads", [shape.heads, shape.hidden_size // shape.heads]), axis=0
        )
        cls_only = self._manifest.encoding.pooling == "cls"
        state = self._embed()
        for layer in range(shape.layers):
            state = self._layer(state, layer, cls_only=cls_only and layer == shape.layers - 1)
        pooled = state if cls_only else self._mean(state)
        if self._manifest.encoding.normalise:
            pooled = self._node("LpNormalization", pooled, axis=-1, p=2)
        self._nodes.append(helper.make_node("Identity", [pooled], ["embedding"]))
        tensor_type = self._onnx.TensorProto
        graph = helper.make_graph(
            self._nodes,
            self._manifest.name,
            [helper.make_tensor_value_info("input_ids", tensor_type.INT64, ["batch", "tokens"])],
            [helper.make_tensor_value_info("embedding", tensor_type.FLOAT, ["batch", shape.hidden_size])],
            list(self._initializers.values()),
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid("com.microsoft", 1)],
            producer_name="smile-lite",
            producer_version=f"converter {CONVERTER_VERSION}",
        )
        model.ir_version = _IR_VERSION
        return model

    def _embed(self) -> str:
        words = self._node("Gather", self._stored("embeddings.word_embeddings.weight"), "input_ids")
        positions = self._node(
            "Slice",
            self._stored("embeddings.position_embeddings.weight"),
            self._ints("zero", [0]),
            self._tokens,
            self._ints("zero", [0]),
        )
        # Every text is one segment, so of the token types only row 0 counts.
        segment = self._floats("segment", self._checkpoint.read("embeddings.token_type_embeddings.weight")[0])
        total = self._node("Add", words, self._node("Add", positions, segment))
        return self._flat(self._norm(total, "embeddings.LayerNorm"))

    def _layer(self, state: str, layer: int, *, cls_only: bool) -> str:
        """One transformer layer over flat rows [batch x tokens, hidden]; with `cls_only` the result is [batch,
        hidden].
        """
        shape, base = self._manifest.architecture, f"encoder.layer.{layer}."
        residual, query_shape = state, self._by_head
        if cls_only:
            whole = self._node("Reshape", state, self._by_token())
            residual = self._node("Squeeze", self._first_token(whole), self._ints("one", [1]))
            query_shape = self._node(
                "Concat",
                self._batch_one,
                self._ints("heads", [shape.heads, shape.hidden_size // shape.heads]),
                axis=0,
            )
        query = self._heads(self._linear(residual, f"{base}attention.self.query"), query_shape, [0, 2, 1, 3])
        key = self._heads(self._linear(state, f"{base}attention.self.key"), self._by_head, [0, 2, 3, 1])
        value = self._heads(self._linear(state, f"{base}attention.self.value"), self._by_head, [0, 2, 1, 3])
        scale = self._floats("scale", np.array(1 / math.sqrt(shape.hidden_size // shape.heads)))
        weights = self._node("Softmax", self._node("Mul", self._node("MatMul", query, key), scale), axis=-1)
        context = self._node("Transpose", self._node("MatMul", weights, value), perm=[0, 2, 1, 3])
        attended = self._linear(self._flat(context), f"{base}attention.output.dense")
        middle = self._norm(self._node("Add", attended, residual), f"{base}attention.output.LayerNorm")
        operator, domain = _ACTIVATION_OPS[shape.activation]
        inner = self._node(operator, self._linear(middle, f"{base}intermediate.dense"), domain=domain)
        outer = self._linear(inner, f"{base}output.dense")
        return self._norm(self._node("Add", outer, middle), f"{base}output.LayerNorm")

    def _mean(self, state: str) -> str:
        ones_shape = self._node("Concat", self._batch_one, self._tokens, axis=0)
        one = self._onnx.numpy_helper.from_array(np.ones(1, np.float32))
        ones = self._node("ConstantOfShape", ones_shape, value=one)
        total = self._node("MatMul", ones, self._node("Reshape", state, self._by_token()))
        total = self._node("Squeeze", total, self._ints("one", [1]))
        count = self._node("Cast", self._tokens, to=self._onnx.TensorProto.FLOAT)
        return self._node("Div", total, count)

    def _by_token(self) -> str:
        return self._node("Concat", self._size, self._ints("hidden", [self._manifest.architecture.hidden_size]), axis=0)

    def _first_token(self, whole: str) -> str:
        return self._node("Slice", whole, self._ints("zero", [0]), self._ints("one", [1]), self._ints("one", [1]))

    def _flat(self, value: str) -> str:
        return self._node("Reshape", value, self._ints("flat", [-1, self._manifest.architecture.hidden_size]))

    def _heads(self, value: str, shape: str, order: list[int]) -> str:
        return self._node("Transpose", self._node("Reshape", value, shape), perm=order)

    def _linear(self, value: str, name: str) -> str:
        return self._node("Gemm", value, self._stored(f"{name}.weight"), self._stored(f"{name}.bias"), transB=1)

    def _norm(self, value: str, name: str) -> str:
        return self._node(
            "LayerNormalization",
            value,
            self._stored(f"{name}.weight"),
            self._stored(f"{name}.bias"),
            axis=-1,
            epsilon=self._manifest.architecture.layer_norm_eps,
        )

    def _node(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        name = f"{operator}_{len(self._nodes)}"
        node = self._onnx.helper.make_node(operator, inputs, [name], name=name, domain=domain, **attributes)
        self._nodes.append(node)
        return name

    def _stored(self, name: str) -> str:
        """A tensor that stays where it is, in the checkpoint's file."""
        if name not in self._initializers:
            offset, length = self._checkpoint.place(name)
            tensor = self._onnx.TensorProto(
                name=name,
                data_type=self._onnx.TensorProto.FLOAT,
                dims=self._checkpoint.shape(name),
                data_location=self._onnx.TensorProto.EXTERNAL,
            )
            for key, value in (("location", self._checkpoint.file), ("offset", offset), ("length", length)):
                tensor.external_data.add(key=key, value=str(value))
            self._initializers[name] = tensor
        return name

    def _ints(self, name: str, values: list[int]) -> str:
        return self._constant(name, np.array(values, np.int64))

    def _floats(self, name: str, values: NDArray[Any]) -> str:
        return self._constant(name, values.astype(np.float32))

    def _constant(self, name: str, values: NDArray[Any]) -> str:
        if name not in self._initializers:
            self._initializers[name] = self._onnx.numpy_helper.from_array(values, name)
        return name
