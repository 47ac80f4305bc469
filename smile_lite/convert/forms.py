"""How a matrix is stored and multiplied: float32, int8 weights alone, or int8 weights and activations.

`int8-token` quantises the activations of every token by itself, with a zero point, so that a text's vector does not
depend on its batch (a scale for the whole batch, as onnxruntime's `quantize_dynamic` takes, makes it depend).
QuantizeLinear along axis 0 does a token's row in one pass with that row's scale; the zero point is corrected with the
column sums of the weights:

    y = (x_q W_q - zero colsum(W_q)) scale_x scale_W + b
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from smile_lite.convert.graph import Graph

__all__ = ["PRECISIONS", "SMOOTHING", "FloatForm", "Form", "TokenForm", "WeightForm", "site_of", "stays_float"]

PRECISIONS: Mapping[str, str] = MappingProxyType(
    {
        "fp32": "the published weights, where they lie",
        "int8": "weights in int8, arithmetic in float32: a quarter of the size, the same speed",
        "int8-token": "weights and activations in int8, one scale a token: a quarter of the size, faster",
    }
)


# SmoothQuant's exponent: for int8-token that of .45 to .6 with no MiniLM vector under .997 on 9,000 texts of EVOUNA NQ.
SMOOTHING: Mapping[str, float] = MappingProxyType({"int8": 0.5, "int8-token": 0.55})


def stays_float(name: str) -> bool:
    """Whether a product is done in float32 in the form `int8-token` too: the second of the feed-forward block in every
    third layer, from the first. Its input, behind the activation, is what eight bits a token serve worst: on MiniLM
    (texts of NQ301) this raises the least cosine to fp32 from .9956 to .9976 for a ninth of the arithmetic.
    """
    found = re.fullmatch(r"encoder\.layer\.(\d+)\.output\.dense", name)
    return found is not None and int(found.group(1)) % 3 == 0


def site_of(name: str) -> str:
    """What shares an input: query, key and value of a layer are one site, every other matrix is its own."""
    base, _, last = name.rpartition(".")
    return base if last in ("query", "key", "value") else name


class Form(Protocol):
    """One way to store and multiply. `label`: what a signature calls it."""

    label: str

    @property
    def taps(self) -> tuple[str, ...]:
        """Values that the graph gives out beside the embedding."""

    def rows(self, graph: Graph, table: str, indices: str) -> str:
        """Rows of an embedding table."""

    def project(self, graph: Graph, value: str, *names: str) -> list[str]:
        """`value` [n, k] through one or more linear layers that share it."""


class FloatForm:
    """float32: Gemm over the matrices as they are stored, which is as fast as MatMul over transposed copies."""

    label = "fp32"

    def __init__(self, *, tapped: bool = False) -> None:
        self._tapped = tapped
        self.sites: dict[str, str] = {}  # site -> the value that it takes in

    @property
    def taps(self) -> tuple[str, ...]:
        """The inputs of all sites, if wanted: what smoothing is measured on."""
        return tuple(dict.fromkeys(self.sites.values())) if self._tapped else ()

    def rows(self, graph: Graph, table: str, indices: str) -> str:
        """Plain rows."""
        return graph.node("Gather", graph.stored(table), indices)

    def project(self, graph: Graph, value: str, *names: str) -> list[str]:
        """X W^T + b."""
        for name in names:
            self.sites[site_of(name)] = value
        return [
            graph.node("Gemm", value, graph.stored(f"{name}.weight"), graph.stored(f"{name}.bias"), transB=1)
            for name in names
        ]


class WeightForm:
    """int8 weights, smoothed, one scale a row: widened when the graph is loaded (embedding rows: when looked up)."""

    label = "int8"
    taps: tuple[str, ...] = ()

    def rows(self, graph: Graph, table: str, indices: str) -> str:
        """Rows in int8, each times its scale."""
        wide = graph.node("Cast", graph.node("Gather", graph.stored(table), indices), to=graph.types.FLOAT)
        return graph.node("Mul", wide, graph.node("Gather", graph.stored(f"{table}.scale"), indices))

    def project(self, graph: Graph, value: str, *names: str) -> list[str]:
        """As in float32, once onnxruntime has folded the widening away."""
        outputs = []
        for name in names:
            wide = graph.node("Cast", graph.stored(f"{name}.weight"), to=graph.types.FLOAT)
            wide = graph.node("Mul", wide, graph.stored(f"{name}.weight.scale"))
            wide = graph.node("Mul", wide, graph.stored(f"{site_of(name)}.smoothing"))
            outputs.append(graph.node("Gemm", value, wide, graph.stored(f"{name}.bias"), transB=1))
        return outputs


class TokenForm(WeightForm):
    """int8 weights and, token by token, activations of `bits` bits, divided by the smoothing of their site."""

    def __init__(self, bits: int) -> None:
        self._levels = float(2**bits - 1)
        self.label = "int8-token" if bits == 8 else f"int8-token-a{bits}"

    def project(self, graph: Graph, value: str, *names: str) -> list[str]:
        """Quantise the rows of `value` once, multiply with each matrix in integers, correct and scale back."""
        if stays_float(names[0]):
            return super().project(graph, value, *names)
        smoothing = f"{site_of(names[0])}.smoothing"
        if smoothing in graph.checkpoint.names:
            value = graph.node("Mul", value, graph.stored(smoothing))
        quantised, scale, zero = self._quantise(graph, value)
        outputs = []
        for name in names:
            weight, factor = graph.stored(f"{name}.weight"), graph.stored(f"{name}.weight.scale")
            one = graph.number("unit", 1.0)
            product = graph.node("MatMulIntegerToFloat", quantised, weight, one, factor, domain="com.microsoft")
            surplus = graph.node("Mul", zero, graph.stored(f"{name}.weight.columns"))
            exact = graph.node("Mul", graph.node("Sub", product, surplus), scale)
            outputs.append(graph.node("Add", exact, graph.stored(f"{name}.bias")))
        return outputs

    def _quantise(self, graph: Graph, value: str) -> tuple[str, str, str]:
        """(uint8 rows, their scales [n, 1], their zero points [n, 1] in float)."""
        axis, nought = graph.ints("one", 1), graph.number("nought", 0.0)
        highest = graph.node("Max", graph.node("ReduceMax", value, axis, keepdims=1), nought)
        lowest = graph.node("Min", graph.node("ReduceMin", value, axis, keepdims=1), nought)
        spread = graph.node("Sub", highest, lowest)
        scale = graph.node("Mul", spread, graph.number("step", 1 / self._levels))
        scale = graph.node("Max", scale, graph.constant("least", np.array(1e-12, np.float32)))
        zero = graph.node("Round", graph.node("Neg", graph.node("Div", lowest, scale)))
        flat_zero = graph.node("Cast", graph.node("Squeeze", zero, axis), to=graph.types.UINT8)
        quantised = graph.node("QuantizeLinear", value, graph.node("Squeeze", scale, axis), flat_zero, axis=0)
        return quantised, scale, zero
