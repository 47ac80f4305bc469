"""BERT and RoBERTa as graphs: `input_ids` in, unit vectors out, pooling and normalisation inside; or, for a
cross-encoder, `input_ids` and `token_type_ids` of a pair in and logits out.

A batch holds texts of one length, so there is no padding, no mask and no other input. With CLS pooling the last layer
is computed for the CLS row only. How a matrix is stored and multiplied is the form's business (`forms`).

Two choices are measured ones (onnxruntime 1.32, one thread): LayerNormalization beside a plain Add beats the fused
SkipLayerNormalization; and the mean over tokens is a product with ones, because ReduceMean sums in another order for a
batch of one, and a text's vector must not depend on its batch.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from smile_lite.convert.forms import FloatForm

if TYPE_CHECKING:
    from smile_lite.convert.forms import Form
    from smile_lite.convert.graph import Graph
    from smile_lite.manifest import Architecture, Manifest

__all__ = ["build_bert"]

_ACTIVATION_OPS = {"gelu": ("Gelu", "com.microsoft"), "gelu_new": ("FastGelu", "com.microsoft"), "relu": ("Relu", "")}


def build_bert(manifest: Manifest, shape: Architecture, graph: Graph, form: Form) -> bytes:
    """The serialised model of `manifest` in `form`: `embedding` of an encoder, `logits` of a pair scorer."""
    builder = _Builder(manifest, shape, graph, form)
    if manifest.head is None:
        return graph.finish(
            manifest.name,
            ["input_ids"],
            "embedding",
            builder.embedding(),
            shape.hidden_size,
            label=form.label,
            taps=form.taps,
        )
    inputs = ["input_ids", "token_type_ids"] if builder.tells_texts_apart else ["input_ids"]
    logits = builder.logits()
    return graph.finish(
        manifest.name, inputs, "logits", logits, len(manifest.head.labels), label=form.label, taps=form.taps
    )


class _Builder:
    def __init__(self, manifest: Manifest, shape: Architecture, graph: Graph, form: Form) -> None:
        self._shape, self._encoding = shape, manifest.encoding
        self._graph, self._form = graph, form
        self.tells_texts_apart = manifest.head is not None and shape.segments > 1
        self._size = graph.node("Shape", "input_ids")
        batch = graph.node("Gather", self._size, graph.ints("zero", 0))
        self._tokens = graph.node("Gather", self._size, graph.ints("one", 1))
        self._batch_one = graph.node("Concat", batch, graph.ints("one", 1), axis=0)
        self._per_head = graph.ints("heads", shape.heads, shape.hidden_size // shape.heads)
        self._by_head = graph.node("Concat", self._size, self._per_head, axis=0)

    def embedding(self) -> str:
        cls_only = self._encoding.pooling == "cls"
        state = self._encode(cls_only=cls_only)
        pooled = state if cls_only else self._mean(state)
        return self._graph.node("LpNormalization", pooled, axis=-1, p=2) if self._encoding.normalise else pooled

    def logits(self) -> str:
        """BERT's head (pooler, classifier) or RoBERTa's (classifier.dense, classifier.out_proj), in float32."""
        roberta = "classifier.out_proj.weight" in self._graph.checkpoint.names
        inner, outer = ("classifier.dense", "classifier.out_proj") if roberta else ("pooler.dense", "classifier")
        (pooled,) = FloatForm().project(self._graph, self._encode(cls_only=True), inner)
        (logits,) = FloatForm().project(self._graph, self._graph.node("Tanh", pooled), outer)
        return logits

    def _encode(self, *, cls_only: bool) -> str:
        state = self._embed()
        for layer in range(self._shape.layers):
            state = self._layer(state, layer, cls_only=cls_only and layer == self._shape.layers - 1)
        return state

    def _embed(self) -> str:
        graph, offset = self._graph, self._shape.position_offset
        words = self._form.rows(graph, "embeddings.word_embeddings.weight", "input_ids")
        table, first = graph.stored("embeddings.position_embeddings.weight"), graph.ints("first", offset)
        end = graph.node("Add", self._tokens, first)
        positions = graph.node("Slice", table, first, end, graph.ints("zero", 0))
        if self.tells_texts_apart:
            segments = graph.stored("embeddings.token_type_embeddings.weight")
            total = graph.node("Add", words, graph.node("Gather", segments, "token_type_ids"))
            total = graph.node("Add", total, positions)
        else:  # one text is one segment: of the token types only row 0 counts
            row = graph.checkpoint.read("embeddings.token_type_embeddings.weight")[0]
            total = graph.node("Add", words, graph.node("Add", positions, graph.constant("segment", row)))
        return self._flat(self._norm(total, "embeddings.LayerNorm"))

    def _layer(self, state: str, layer: int, *, cls_only: bool) -> str:
        """One layer over flat rows [batch x tokens, hidden]; with `cls_only` the result is [batch, hidden]."""
        graph, base = self._graph, f"encoder.layer.{layer}."
        attention = f"{base}attention.self."
        if cls_only:
            residual = self._first_token(state)
            (query,) = self._form.project(graph, residual, f"{attention}query")
            key, value = self._form.project(graph, state, f"{attention}key", f"{attention}value")
            query_shape = graph.node("Concat", self._batch_one, self._per_head, axis=0)
        else:
            residual = state
            query, key, value = self._form.project(
                graph, state, *(f"{attention}{one}" for one in ("query", "key", "value"))
            )
            query_shape = self._by_head
        query = self._heads(query, query_shape, [0, 2, 1, 3])
        key = self._heads(key, self._by_head, [0, 2, 3, 1])
        value = self._heads(value, self._by_head, [0, 2, 1, 3])
        scale = graph.number("scale", 1 / math.sqrt(self._shape.hidden_size // self._shape.heads))
        weights = graph.node("Softmax", graph.node("Mul", graph.node("MatMul", query, key), scale), axis=-1)
        context = graph.node("Transpose", graph.node("MatMul", weights, value), perm=[0, 2, 1, 3])
        (attended,) = self._form.project(graph, self._flat(context), f"{base}attention.output.dense")
        middle = self._norm(graph.node("Add", attended, residual), f"{base}attention.output.LayerNorm")
        operator, domain = _ACTIVATION_OPS[self._shape.activation]
        (inner,) = self._form.project(graph, middle, f"{base}intermediate.dense")
        inner = graph.node(operator, inner, domain=domain)
        (outer,) = self._form.project(graph, inner, f"{base}output.dense")
        return self._norm(graph.node("Add", outer, middle), f"{base}output.LayerNorm")

    def _mean(self, state: str) -> str:
        graph = self._graph
        ones = graph.ones(graph.node("Concat", self._batch_one, self._tokens, axis=0))
        total = graph.node("MatMul", ones, graph.node("Reshape", state, self._by_token()))
        total = graph.node("Squeeze", total, graph.ints("one", 1))
        return graph.node("Div", total, graph.node("Cast", self._tokens, to=graph.types.FLOAT))

    def _first_token(self, state: str) -> str:
        graph = self._graph
        whole = graph.node("Reshape", state, self._by_token())
        zero, one = graph.ints("zero", 0), graph.ints("one", 1)
        return graph.node("Squeeze", graph.node("Slice", whole, zero, one, one), one)

    def _by_token(self) -> str:
        return self._graph.node("Concat", self._size, self._graph.ints("hidden", self._shape.hidden_size), axis=0)

    def _flat(self, value: str) -> str:
        return self._graph.node("Reshape", value, self._graph.ints("flat", -1, self._shape.hidden_size))

    def _heads(self, value: str, shape: str, order: list[int]) -> str:
        return self._graph.node("Transpose", self._graph.node("Reshape", value, shape), perm=order)

    def _norm(self, value: str, name: str) -> str:
        weight, bias = self._graph.stored(f"{name}.weight"), self._graph.stored(f"{name}.bias")
        return self._graph.node("LayerNormalization", value, weight, bias, axis=-1, epsilon=self._shape.layer_norm_eps)
