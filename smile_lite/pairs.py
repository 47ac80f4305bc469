"""Pairs of texts in, logits out: rerankers and entailment models. Knows neither rows nor groups of targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from smile_lite.errors import ModelError, ModelIntegrityError
from smile_lite.models import get_model
from smile_lite.onnx_model import OnnxModel
from smile_lite.tokenizer import pair_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from onnxruntime import InferenceSession

    from smile_lite.manifest import Head, Manifest

__all__ = ["OnnxPairScorer", "PairScorer"]


@runtime_checkable
class PairScorer(Protocol):
    """What judges a pair of texts. `smile_lite.testing` has one that needs no model."""

    @property
    def name(self) -> str:
        """What a signature calls it, such as "my-reranker@1a2b3c4d"."""

    @property
    def precision(self) -> str:
        """The arithmetic, such as "fp32"."""

    @property
    def labels(self) -> tuple[str, ...]:
        """What the k logits of a pair are for, in their order."""

    def score(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """[n, k] float32 logits, a row a pair, in order. A pair's row does not depend on the other pairs."""


class OnnxPairScorer(OnnxModel):
    """A pair scorer over a pulled model: batches of exactly one length, no padding."""

    def _accept(self, manifest: Manifest) -> None:
        if manifest.head is None:
            raise ModelError(f"{manifest.name} is an encoder: it scores no pairs of texts")
        self._head: Head = manifest.head

    def _read(self, session: InferenceSession) -> None:
        self._inputs = frozenset(one.name for one in session.get_inputs())
        self._output: str = session.get_outputs()[0].name
        if unknown := self._inputs - {"input_ids", "attention_mask", "token_type_ids"}:
            raise ModelError(f"{self._graph}: its input {min(unknown)!r} is not known here")

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path,
        *,
        precision: str = "fp32",
        threads: int | None = None,
        offline: bool = False,
        notify: Callable[[str], object] | None = None,
        **options: Any,
    ) -> OnnxPairScorer:
        """A scorer of `model` (a name, a manifest's path, a checkpoint folder), pulled first if it has to be."""
        pulled = get_model(str(model), precision=precision, offline=offline, notify=notify)
        return cls(pulled, precision=precision, threads=threads, **options)

    @property
    def labels(self) -> tuple[str, ...]:
        """What the logits are for, in their order."""
        return self._head.labels

    def score(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """[n, k] float32 logits, a row a pair, in order. Pairs that are too long lose the end of their longer text."""
        encoded = pair_ids(self._tokenizer, pairs, self.manifest.encoding)
        logits = np.zeros((len(pairs), len(self._head.labels)), dtype=np.float32)
        session = self._session()
        for members in self._batches([len(ids) for ids, _ in encoded]):
            ids = np.array([encoded[one][0] for one in members], dtype=np.int64)
            feed = {"input_ids": ids}
            if "attention_mask" in self._inputs:
                feed["attention_mask"] = np.ones_like(ids)
            if "token_type_ids" in self._inputs:
                feed["token_type_ids"] = np.array([encoded[one][1] for one in members], dtype=np.int64)
            got = session.run([self._output], feed)[0]
            logits[members] = got.reshape(len(members), -1)
        if not np.isfinite(logits).all():
            raise ModelIntegrityError(f"{self.name} gave a logit that is not finite")
        return logits
