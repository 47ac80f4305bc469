"""Linear layers and the word table of an exported graph, put into the forms (`smile_lite.convert.forms`) that the
torch-free converter writes: both roads multiply alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from smile_lite_export.graph_passes import matrix_shape

from smile_lite.convert.forms import FloatForm, TokenForm, WeightForm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray
    from smile_lite_export.graph_passes import WorkGraph

__all__ = ["apply_form", "smoothing_factors"]

_FLOAT_EVERY = 3
_ALPHA = 0.5  # of SmoothQuant; int8 on NQ301: least cosine .9986, at .55 (smile_lite.convert.quantise) .9981


def apply_form(
    graph: WorkGraph, form: FloatForm | WeightForm | TokenForm, factors: Mapping[str, NDArray[np.float32]] | None = None
) -> None:
    """Put every linear layer (a product with a constant matrix, and the bias after it) and the word table into `form`.

    `factors`: layer -> smoothing, one factor an input channel; the int8 forms need it. Layers that read one value share
    its quantised rows. In `int8-token` every third product that narrows (the second of a feed-forward block) is done in
    float32, as `smile_lite.convert.forms.stays_float` has it and for its reason.
    """
    tables = [node for node in graph.nodes if node.op_type == "Gather" and node.input[1] == "input_ids"]
    for node in tables:
        if matrix_shape(graph, node.input[0]) is not None:
            table = f"table.{node.input[0]}"
            _store_rows(graph, table, graph.tensors[node.input[0]], form, axis=0)
            graph.replace(node.output[0], form.rows(graph, table, "input_ids"))  # type: ignore[arg-type]
    narrowing = 0
    for value, layers in _linear_layers(graph).items():
        here, names = form, _names_of(graph, layers)
        if isinstance(form, TokenForm) and layers[0].depth > layers[0].width:
            here = WeightForm() if narrowing % _FLOAT_EVERY == 0 else form
            narrowing += 1
        for name, layer in zip(names, layers, strict=True):
            _store_layer(graph, name, layer, here, None if factors is None else factors[name])
        flat = graph.node("Reshape", value, graph.ints(f"flat.{layers[0].depth}", -1, layers[0].depth))
        outer = graph.node("Slice", graph.node("Shape", value), *(graph.ints(f"at.{n}", n) for n in (0, -1, 0)))
        for layer, result in zip(layers, here.project(graph, flat, *names), strict=True):  # type: ignore[arg-type]
            shape = graph.node("Concat", outer, graph.ints(f"wide.{layer.width}", layer.width), axis=0)
            graph.replace(layer.output, graph.node("Reshape", result, shape))
            for node in layer.nodes:
                graph.nodes.remove(node)


def smoothing_factors(
    graph: WorkGraph, form: FloatForm, largest: Mapping[str, NDArray[np.float32]]
) -> dict[str, NDArray[np.float32]]:
    """One factor an input channel of each layer of a graph in float form; layers that read one value share theirs.

    `largest`: value that layers read -> its largest absolute values, one a channel. Xiao et al. 2022 (arXiv
    2211.10438), equation (4), alpha 0.5.
    """
    heaviest: dict[str, NDArray[np.float32]] = {}
    for name, value in form.sites.items():
        maxima = np.abs(graph.tensors[f"{name}.weight"]()).max(axis=0)
        heaviest[value] = np.maximum(heaviest.get(value, maxima), maxima)
    factors: dict[str, NDArray[np.float32]] = {}
    for name, value in form.sites.items():
        factor = np.maximum(largest[value], 1e-5) ** _ALPHA / np.maximum(heaviest[value], 1e-5) ** (1 - _ALPHA)
        factors[name] = np.clip(factor, 1e-3, 1e3).astype(np.float32)
    return factors


class _Layer:
    """A linear layer in the graph: its nodes, its matrix, its bias, the value it makes."""

    def __init__(self, graph: WorkGraph, product: Any) -> None:
        attributes = {one.name: (one.f if one.name in ("alpha", "beta") else one.i) for one in product.attribute}
        self.weight, self.bias, self.transposed = product.input[1], "", bool(attributes.get("transB", 0))
        self.nodes, self.output = [product], product.output[0]
        shape = matrix_shape(graph, self.weight) or (0, 0)
        self.depth, self.width = shape[::-1] if self.transposed else shape
        self.plain = product.op_type == "MatMul" or (
            not attributes.get("transA", 0) and attributes.get("alpha", 1.0) == attributes.get("beta", 1.0) == 1.0
        )
        readers = graph.readers(self.output)
        if product.op_type == "Gemm" and len(product.input) > 2:
            self.bias = product.input[2]
            self.plain = self.plain and self._is_bias(graph, self.bias)
        elif len(readers) == 1 and readers[0].op_type == "Add":
            other = next(name for name in readers[0].input if name != self.output)
            if self._is_bias(graph, other):
                self.bias, self.output = other, readers[0].output[0]
                self.nodes.append(readers[0])

    def _is_bias(self, graph: WorkGraph, name: str) -> bool:
        return name in graph.tensors and graph.tensors[name]().shape == (self.width,)


def _linear_layers(graph: WorkGraph) -> dict[str, list[_Layer]]:
    """The linear layers by the value that they read, in the order of the graph."""
    found: dict[str, list[_Layer]] = {}
    for node in graph.ordered():
        if node.op_type in ("MatMul", "Gemm") and matrix_shape(graph, node.input[1]) is not None:
            layer = _Layer(graph, node)
            if layer.plain:
                found.setdefault(node.input[0], []).append(layer)
    return found


def _names_of(graph: WorkGraph, layers: Sequence[_Layer]) -> list[str]:
    """A name for each layer, from its node's: /encoder/layer.0/output/dense/MatMul -> linear/encoder/layer.0/...

    With slashes, so that the forms take no layer for BERT's query, key or value: who shares an input is known here.
    """
    names: list[str] = []
    for layer in layers:
        name = f"linear/{layer.nodes[0].name.strip('/').rpartition('/')[0]}"
        while f"{name}.weight" in graph.tensors or name in names:
            name += "_"
        names.append(name)
    return names


def _store_layer(graph: WorkGraph, name: str, layer: _Layer, form: Any, factor: NDArray[np.float32] | None) -> None:
    source, transposed, width = graph.tensors[layer.weight], layer.transposed, layer.width

    def matrix() -> NDArray[np.float32]:
        values = np.asarray(source() if transposed else source().T, np.float32)
        return values if factor is None else values * factor

    _store_rows(graph, f"{name}.weight", matrix, form, axis=1 if isinstance(form, TokenForm) else 0)
    if factor is not None:
        graph.store(f"{name}.smoothing", lambda: (1 / factor).astype(np.float32))
    bias = graph.tensors[layer.bias] if layer.bias else lambda: np.zeros(width, np.float32)
    graph.store(f"{name}.bias", bias)


def _store_rows(graph: WorkGraph, name: str, read: Callable[[], NDArray[Any]], form: Any, *, axis: int) -> None:
    """A matrix as `form` wants it; axis 1: for integer products, transposed, with its scaled column sums."""
    if isinstance(form, FloatForm):
        graph.store(name, read)
        return
    values = read()
    scale = (np.maximum(np.abs(values).max(axis=1, keepdims=True), 1e-12) / 127).astype(np.float32)
    quantised = np.clip(np.round(values / scale), -127, 127).astype(np.int8)
    if axis == 0:
        graph.store(name, lambda: quantised)
        graph.store(f"{name}.scale", lambda: scale)
        return
    columns = (quantised.sum(axis=1, dtype=np.int64) * scale[:, 0]).astype(np.float32)
    graph.store(name, lambda: np.ascontiguousarray(quantised.T))
    graph.store(f"{name}.scale", lambda: scale[:, 0])
    graph.store(f"{name}.columns", lambda: columns)
