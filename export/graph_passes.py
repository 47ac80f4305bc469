"""An exported transformer under rewriting: passes by which `input_ids` alone comes in and unit vectors go out."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from smile_lite.errors import ModelError
from smile_lite.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from smile_lite.manifest import Encoding

__all__ = ["WorkGraph", "keep_input_ids", "matrix_shape", "pool"]

_FILLS = {"input_ids": None, "attention_mask": 1, "token_type_ids": 0}
_EMBEDDED = 1024  # bytes: smaller constants stay in the graph, larger ones go into the weights file
_ALIGNMENT = 64
_SAME_VALUE = ("Expand", "Unsqueeze", "Squeeze", "Reshape", "Transpose", "Slice", "Identity", "Tile", "Gather")
_ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Equal": np.equal,
    "And": np.logical_and,
    "Or": np.logical_or,
    "Not": np.logical_not,
    "Where": np.where,
}


class WorkGraph:
    """An ONNX graph under rewriting. Its large tensors stay in their file and are read one at a time.

    Its node-making methods are those of `smile_lite.convert.graph.Graph`, so that the forms build into it.
    """

    def __init__(self, path: Path) -> None:
        self._onnx = require("onnx", extra="export", purpose="exporting a model")
        self.types = self._onnx.TensorProto
        self.model = self._onnx.load(path, load_external_data=False)
        self.nodes: list[Any] = list(self.model.graph.node)
        self.tensors: dict[str, Callable[[], NDArray[Any]]] = {
            tensor.name: _reader(self._onnx, tensor, path.parent) for tensor in self.model.graph.initializer
        }
        for node in [node for node in self.nodes if node.op_type == "Constant"]:
            values = self._onnx.numpy_helper.to_array(next(a.t for a in node.attribute if a.name == "value"))
            self.store(node.output[0], partial(np.asarray, values))
            self.nodes.remove(node)
        for node in [node for node in self.nodes if node.op_type == "Identity" and node.input[0] in self.tensors]:
            self.store(node.output[0], self.tensors[node.input[0]])
            self.nodes.remove(node)
        if any(attribute.type == attribute.GRAPH for node in self.nodes for attribute in node.attribute):
            raise ModelError("the exported graph has branches or loops, which the passes do not follow")
        self._made = 0

    @property
    def checkpoint(self) -> WorkGraph:
        """Where the forms look for tensors: here."""
        return self

    @property
    def names(self) -> list[str]:
        """The names of its tensors."""
        return list(self.tensors)

    def node(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """One more node with one output; gives the name of that output."""
        self._made += 1
        name = f"smile.{operator}_{self._made}"
        self.nodes.append(self._onnx.helper.make_node(operator, inputs, [name], name=name, domain=domain, **attributes))
        return name

    def stored(self, name: str) -> str:
        """A tensor by its name."""
        if name not in self.tensors:
            raise ModelError(f"the graph has no tensor {name}")
        return name

    def ints(self, name: str, *values: int) -> str:
        """A vector of integers, for shapes and axes."""
        return self.constant(name, np.array(values, np.int64))

    def number(self, name: str, value: float) -> str:
        """A float32 scalar."""
        return self.constant(name, np.array(value, np.float32))

    def constant(self, name: str, values: NDArray[Any]) -> str:
        """An array of our own; one name stands for one array."""
        return self.store(f"smile.{name}", lambda: values)

    def store(self, name: str, read: Callable[[], NDArray[Any]]) -> str:
        """A tensor that is computed when it is wanted."""
        self.tensors[name] = read
        return name

    def filled(self, shape: str, values: NDArray[Any]) -> str:
        """An array of one value, of a shape that is known at run time."""
        return self.node("ConstantOfShape", shape, value=self._onnx.numpy_helper.from_array(values))

    def replace(self, old: str, new: str) -> None:
        """Let everything that reads `old` read `new`."""
        for node in self.nodes:
            for position, name in enumerate(node.input):
                if name == old:
                    node.input[position] = new

    def readers(self, name: str) -> list[Any]:
        """The nodes that read a value."""
        return [node for node in self.nodes if name in node.input]

    def save(self, path: Path, *, taps: Sequence[str] = (), weights: Path | None = None) -> list[Path]:
        """Write the graph, and its large tensors into `weights` (default `<path>.weights`) beside it.

        A `weights` that is there already is read from, not written: the same tensors in the same order.
        """
        helper = self._onnx.helper
        dimensions = self.model.graph.output[0].type.tensor_type.shape.dim[-1].dim_value
        nodes, read = self._needed(["embedding", *taps])
        beside = weights or path.with_suffix(".weights")
        tensors = self._place([name for name in self.tensors if name in read], beside)
        outputs = [helper.make_tensor_value_info("embedding", self.types.FLOAT, ["batch", dimensions])]
        outputs += [helper.make_tensor_value_info(tap, self.types.FLOAT, None) for tap in taps]
        inputs = [helper.make_tensor_value_info("input_ids", self.types.INT64, ["batch", "tokens"])]
        graph = helper.make_graph(nodes, self.model.graph.name, inputs, outputs, tensors)
        opset = next(one.version for one in self.model.opset_import if one.domain in ("", "ai.onnx"))
        opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="smile-lite export")
        model.ir_version = 9
        path.write_bytes(model.SerializeToString(deterministic=True))
        return [path, beside]

    def ordered(self) -> list[Any]:
        """The nodes, each after those that it reads from."""
        return self._needed([name for node in self.nodes for name in node.output])[0]

    def _needed(self, outputs: Sequence[str]) -> tuple[list[Any], set[str]]:
        """The nodes that `outputs` depend on, sorted, and all names that those read."""
        producer = {name: node for node in self.nodes for name in node.output}
        ordered: dict[str, Any] = {}
        stack = [(name, False) for name in reversed(outputs)]
        while stack:
            name, done = stack.pop()
            node = producer.get(name)
            if node is None or node.output[0] in ordered:
                continue
            if done:
                ordered[node.output[0]] = node
            else:
                stack.append((name, True))
                stack += [(one, False) for one in reversed(node.input) if one]
        return list(ordered.values()), {name for node in ordered.values() for name in node.input}

    def _place(self, names: Sequence[str], beside: Path) -> list[Any]:
        tensors, offset, known = [], 0, beside.exists()
        with beside.open("rb" if known else "wb") as stream:
            for name in names:
                values = np.asarray(self.tensors[name]())
                if values.nbytes < _EMBEDDED:
                    tensors.append(self._onnx.numpy_helper.from_array(np.array(values), name))
                    continue
                offset += -offset % _ALIGNMENT
                kind = self._onnx.helper.np_dtype_to_tensor_dtype(values.dtype)
                tensor = self.types(name=name, data_type=kind, dims=values.shape, data_location=self.types.EXTERNAL)
                for key, value in (("location", beside.name), ("offset", offset), ("length", values.nbytes)):
                    tensor.external_data.add(key=key, value=str(value))
                tensors.append(tensor)
                if not known:
                    stream.write(bytes(offset - stream.tell()))
                    stream.write(np.ascontiguousarray(values).data)
                offset += values.nbytes
        return tensors


def keep_input_ids(graph: WorkGraph) -> None:
    """Make the mask (ones) and the token types (zeros) in the graph: a batch holds texts of one length, unpadded.

    Arithmetic over arrays of one value is then worked out here, and where it adds nothing to a Softmax it goes. Raises
    ModelError for an input that is neither.
    """
    shape = graph.node("Shape", "input_ids")
    for value in graph.model.graph.input:
        if value.name not in _FILLS:
            raise ModelError(f"the exported graph wants the input {value.name!r}, which the runtime cannot give")
        fill = _FILLS[value.name]
        if fill is not None:
            graph.replace(value.name, graph.filled(shape, np.array([fill], np.int64)))
    known = _uniform_values(graph)
    _drop_idle_masks(graph, known)
    for node in [node for node in graph.nodes if node.op_type == "Gather" and node.input[1] in known]:
        readers = graph.readers(node.output[0])
        if matrix_shape(graph, node.input[0]) is not None and all(one.op_type == "Add" for one in readers):
            row = np.array(graph.tensors[node.input[0]]()[known[node.input[1]]])
            graph.replace(node.output[0], graph.constant(f"row.{node.input[0]}", row))


def _uniform_values(graph: WorkGraph) -> dict[str, Any]:
    """Values made at run time whose elements are all the same: name -> that element."""
    onnx = require("onnx", extra="export", purpose="exporting a model")
    known: dict[str, Any] = {}

    def element(name: str) -> Any:
        if name in known:
            return known[name]
        values = graph.tensors[name]() if name in graph.tensors else None
        return values.reshape(())[()] if values is not None and values.size == 1 else None

    for node in graph.ordered():
        attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        inputs, name = list(node.input), node.output[0]
        if node.op_type == "ConstantOfShape":
            fill = onnx.numpy_helper.to_array(attributes["value"]) if "value" in attributes else np.zeros(1, np.float32)
            known[name] = fill.reshape(())[()]
        elif node.op_type in _SAME_VALUE and inputs[0] in known:
            known[name] = known[inputs[0]]
        elif node.op_type == "Cast" and inputs[0] in known:
            known[name] = known[inputs[0]].astype(onnx.helper.tensor_dtype_to_np_dtype(attributes["to"]))
        elif node.op_type in _ELEMENTWISE and any(one in known for one in inputs):
            elements = [element(one) for one in inputs]
            if all(one is not None for one in elements):
                known[name] = np.asarray(_ELEMENTWISE[node.op_type](*elements))[()]
    return known


def _drop_idle_masks(graph: WorkGraph, known: Mapping[str, Any]) -> None:
    """Scores + 0, and the side of a Where that is always taken, where a Softmax follows (the shape is the scores')."""
    for node in list(graph.nodes):
        readers = graph.readers(node.output[0])
        if not readers or any(one.op_type != "Softmax" for one in readers):
            continue
        kept = None
        if node.op_type == "Add":
            kept = next((b for a, b in (node.input, node.input[::-1]) if a in known and known[a] == 0), None)
        elif node.op_type == "Where" and node.input[0] in known:
            kept = node.input[1 if known[node.input[0]] else 2]
        if kept is not None and kept not in known and kept not in graph.tensors:
            graph.replace(node.output[0], kept)
            graph.nodes.remove(node)


def pool(graph: WorkGraph, encoding: Encoding) -> None:
    """From `last_hidden_state` [batch, tokens, dim] to `embedding` [batch, dim]: CLS or mean, then unit length.

    The mean is a product with ones, because ReduceMean sums in another order for a batch of one.
    """
    state, size, one = "last_hidden_state", graph.node("Shape", "input_ids"), graph.ints("one", 1)
    if encoding.pooling == "cls":
        pooled = graph.node("Squeeze", graph.node("Slice", state, graph.ints("zero", 0), one, one), one)
    else:
        batch, tokens = graph.node("Gather", size, graph.ints("zero", 0)), graph.node("Gather", size, one)
        ones = graph.filled(graph.node("Concat", batch, one, tokens, axis=0), np.ones(1, np.float32))
        total = graph.node("Squeeze", graph.node("MatMul", ones, state), one)
        pooled = graph.node("Div", total, graph.node("Cast", tokens, to=graph.types.FLOAT))
    if encoding.normalise:
        pooled = graph.node("LpNormalization", pooled, axis=-1, p=2)
    graph.replace(pooled, "embedding")
    next(node for node in graph.nodes if node.output[0] == pooled).output[0] = "embedding"


def matrix_shape(graph: WorkGraph, name: str) -> tuple[int, int] | None:
    """The shape of a constant float32 matrix, None for anything else."""
    if name not in graph.tensors:
        return None
    values = graph.tensors[name]()
    return (values.shape[0], values.shape[1]) if values.ndim == 2 and values.dtype == np.float32 else None


def _reader(onnx: Any, tensor: Any, folder: Path) -> Callable[[], NDArray[Any]]:
    """What reads a tensor of the graph, from its file without loading it."""
    if tensor.data_location != onnx.TensorProto.EXTERNAL:
        values = onnx.numpy_helper.to_array(tensor)
        return lambda: np.asarray(values)
    where = {entry.key: entry.value for entry in tensor.external_data}
    kind, shape = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type), tuple(tensor.dims)
    path, offset = folder / where["location"], int(where.get("offset", 0))
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ModelError(f"{tensor.name} lies outside of the folder, in {where['location']}")
    count = math.prod(shape)
    return lambda: np.memmap(path, kind, "r", offset=offset, shape=(count,)).reshape(shape)
