"""Texts in, unit vectors out. Knows neither rows nor SMILE."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from smile_lite.errors import ModelError, ModelIntegrityError, UsageError
from smile_lite.models import get_model, graph_name
from smile_lite.session import BATCH_SIZE, TOKENS_PER_BATCH, exact_length_batches, open_session, thread_count
from smile_lite.tokenizer import load_tokenizer, token_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from smile_lite.manifest import Manifest
    from smile_lite.store import PulledModel

__all__ = ["Encoder", "OnnxEncoder"]

_TEXTS_PER_CALL = 8192  # bounds what the tokenizer holds at once


@runtime_checkable
class Encoder(Protocol):
    """What turns texts into vectors. `smile_lite.testing` has one that needs no model."""

    @property
    def name(self) -> str:
        """What a signature calls it, such as "minilm@53aa5117"."""

    @property
    def precision(self) -> str:
        """The arithmetic, such as "fp32"."""

    @property
    def max_tokens(self) -> int:
        """Longer texts are cut at their end to so many tokens, the special ones counted."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """[n, d] float32, one unit row a text, in order. A text's row does not depend on the other texts."""


class OnnxEncoder:
    """An encoder over a pulled model: tokenises in one call, runs batches of texts of exactly one length.

    Safe to use from several threads, after a fork, and to pickle (the session is opened again where it lands).
    """

    def __init__(
        self,
        model: PulledModel,
        *,
        precision: str = "fp32",
        threads: int | None = None,
        batch_size: int = BATCH_SIZE,
        tokens_per_batch: int = TOKENS_PER_BATCH,
    ) -> None:
        for size in (batch_size, tokens_per_batch):
            if not isinstance(size, int) or size < 1:
                raise UsageError(f"a batch holds at least one text and one token, not {size!r}")
        if model.manifest.head is not None:
            raise ModelError(f"{model.manifest.name} scores pairs of texts: it is no encoder")
        self._model = model
        self._threads = thread_count(threads)
        self._batch_size = batch_size
        self._tokens_per_batch = tokens_per_batch
        self._tokenizer = load_tokenizer(model.path(model.manifest.tokenizer), model.manifest.encoding)
        self._graph = model.path(graph_name(precision))
        session = open_session(self._graph, self._threads)
        self._dimensions: int = session.get_outputs()[0].shape[-1]
        self._precision: str = session.get_modelmeta().custom_metadata_map.get("precision", precision)

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path = "minilm",
        *,
        precision: str = "fp32",
        threads: int | None = None,
        offline: bool = False,
        home: str | Path | None = None,
        notify: Callable[[str], object] | None = None,
        **options: Any,
    ) -> OnnxEncoder:
        """An encoder of `model` (a name, a manifest's path, a checkpoint folder), pulled first if it has to be."""
        threads = thread_count(threads)  # wrong numbers are refused before anything is fetched
        pulled = get_model(
            str(model), precision=precision, offline=offline, home=Path(home) if home else None, notify=notify
        )
        return cls(pulled, precision=precision, threads=threads, **options)

    @property
    def manifest(self) -> Manifest:
        """The model's manifest."""
        return self._model.manifest

    @property
    def name(self) -> str:
        """The model's name and the first eight digits of its weights' sha256."""
        return self._model.fingerprint

    @property
    def precision(self) -> str:
        """The arithmetic, such as "fp32"."""
        return self._precision

    @property
    def max_tokens(self) -> int:
        """Longer texts are cut at their end to so many tokens."""
        return self._model.manifest.encoding.max_tokens

    @property
    def threads(self) -> int:
        """Threads that a session computes with."""
        return self._threads

    @property
    def weights_sha256(self) -> str:
        """The hash of the weights, for the record."""
        return str(self._model.files[self._model.manifest.weights]["sha256"])

    @property
    def tokenizer_sha256(self) -> str:
        """The hash of the tokenizer file, for the record."""
        return str(self._model.files[self._model.manifest.tokenizer]["sha256"])

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """[n, d] float32, one unit row a text, in order. Texts that tokenise alike are computed once."""
        if isinstance(texts, str):
            texts = [texts]
        vectors = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for start in range(0, len(texts), _TEXTS_PER_CALL):
            part = texts[start : start + _TEXTS_PER_CALL]
            vectors[start : start + len(part)] = self._encode_part(part)
        return vectors

    def _encode_part(self, texts: Sequence[str]) -> NDArray[np.float32]:
        tokens = token_ids(self._tokenizer, texts, self._model.manifest.encoding)
        number: dict[tuple[int, ...], int] = {}
        which = np.array([number.setdefault(one, len(number)) for one in tokens], dtype=np.int64)
        unique = list(number)
        vectors = np.empty((len(unique), self._dimensions), dtype=np.float32)
        session = open_session(self._graph, self._threads)
        lengths = [len(ids) for ids in unique]
        for members in exact_length_batches(lengths, batch_size=self._batch_size, tokens=self._tokens_per_batch):
            ids = np.array([unique[member] for member in members], dtype=np.int64)
            vectors[members] = session.run(["embedding"], {"input_ids": ids})[0]
        if not np.isfinite(vectors).all():
            raise ModelIntegrityError(
                f"{self.name} gave a vector that is not finite: `smile-lite models verify {self.manifest.name}`"
            )
        return vectors[which]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_tokenizer"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._tokenizer = load_tokenizer(
            self._model.path(self._model.manifest.tokenizer), self._model.manifest.encoding
        )
