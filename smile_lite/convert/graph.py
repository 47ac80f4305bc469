"""An ONNX graph, built node by node; every method gives the name of the value it made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from smile_lite.convert.version import CONVERTER_VERSION
from smile_lite.extras import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from smile_lite.convert.checkpoint_file import CheckpointFile

__all__ = ["Graph"]

_OPSET, _IR_VERSION = 19, 9


class Graph:
    """Nodes and constants of one graph over the tensors of `checkpoint`, which stay in their file."""

    def __init__(self, checkpoint: CheckpointFile) -> None:
        self._onnx = require("onnx", extra="convert", purpose="converting a model")
        self.types = self._onnx.TensorProto
        self.checkpoint = checkpoint
        self._nodes: list[Any] = []
        self._initializers: dict[str, Any] = {}

    def node(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """One node with one output."""
        name = f"{operator}_{len(self._nodes)}"
        self._nodes.append(
            self._onnx.helper.make_node(operator, inputs, [name], name=name, domain=domain, **attributes)
        )
        return name

    def stored(self, name: str) -> str:
        """A tensor of the checkpoint, named by its place in that file (ONNX external data)."""
        if name not in self._initializers:
            offset, length = self.checkpoint.place(name)
            tensor = self.types(
                name=name,
                data_type=self.types.INT8 if self.checkpoint.is_int8(name) else self.types.FLOAT,
                dims=self.checkpoint.shape(name),
                data_location=self.types.EXTERNAL,
            )
            for key, value in (("location", self.checkpoint.name), ("offset", offset), ("length", length)):
                tensor.external_data.add(key=key, value=str(value))
            self._initializers[name] = tensor
        return name

    def ints(self, name: str, *values: int) -> str:
        """A vector of integers, for shapes and axes."""
        return self.constant(name, np.array(values, np.int64))

    def number(self, name: str, value: float) -> str:
        """A float32 scalar."""
        return self.constant(name, np.array(value, np.float32))

    def constant(self, name: str, values: NDArray[Any]) -> str:
        """An array inside the graph."""
        if name not in self._initializers:
            self._initializers[name] = self._onnx.numpy_helper.from_array(values, name)
        return name

    def ones(self, shape: str) -> str:
        """An array of ones of a shape that is known at run time."""
        return self.node("ConstantOfShape", shape, value=self._onnx.numpy_helper.from_array(np.ones(1, np.float32)))

    def finish(
        self,
        name: str,
        inputs: Sequence[str],
        output: str,
        value: str,
        width: int,
        *,
        label: str,
        taps: tuple[str, ...] = (),
    ) -> bytes:
        """The model: integer `inputs` [batch, tokens] in; `output` [batch, width], which is `value`, and `taps` out.

        `label` is written into it: the precision as a signature calls it.
        """
        helper = self._onnx.helper
        self._nodes.append(helper.make_node("Identity", [value], [output]))
        outputs = [helper.make_tensor_value_info(output, self.types.FLOAT, ["batch", width])]
        outputs += [helper.make_tensor_value_info(tap, self.types.FLOAT, None) for tap in taps]
        graph = helper.make_graph(
            self._nodes,
            name,
            [helper.make_tensor_value_info(one, self.types.INT64, ["batch", "tokens"]) for one in inputs],
            outputs,
            list(self._initializers.values()),
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="smile-lite")
        model.producer_version = f"converter {CONVERTER_VERSION}"
        model.ir_version = _IR_VERSION
        self._onnx.helper.set_model_props(model, {"precision": label})
        return bytes(model.SerializeToString(deterministic=True))
