"""A pulled model with its tokenizer and session: what encoders and pair scorers have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from smile_lite.errors import UsageError
from smile_lite.models import graph_name
from smile_lite.session import BATCH_SIZE, TOKENS_PER_BATCH, exact_length_batches, open_session, thread_count
from smile_lite.tokenizer import load_tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from onnxruntime import InferenceSession

    from smile_lite.manifest import Manifest
    from smile_lite.store import PulledModel

__all__ = ["OnnxModel"]


class OnnxModel:
    """Safe to use from several threads, after a fork, and to pickle (session and tokenizer are opened where it lands).

    Raises UsageError for a batch of nothing, ModelUnavailable where the model has no graph of `precision`, ModelError
    where it is of the other kind.
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
        self._accept(model.manifest)
        self._model = model
        self._threads = thread_count(threads)
        self._batch_size = batch_size
        self._tokens_per_batch = tokens_per_batch
        self._graph = model.path(graph_name(precision))
        self._open_tokenizer()
        session = self._session()
        self._precision: str = session.get_modelmeta().custom_metadata_map.get("precision", precision)
        self._read(session)

    def _accept(self, manifest: Manifest) -> None:
        """Raises ModelError for a model of the other kind."""
        raise NotImplementedError

    def _read(self, session: InferenceSession) -> None:
        """Take from the session what later calls need."""
        raise NotImplementedError

    @property
    def model(self) -> PulledModel:
        """The pulled model."""
        return self._model

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
    def threads(self) -> int:
        """Threads that a session computes with."""
        return self._threads

    def _session(self) -> InferenceSession:
        return open_session(self._graph, self._threads)

    def _batches(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        return exact_length_batches(lengths, batch_size=self._batch_size, tokens=self._tokens_per_batch)

    def _open_tokenizer(self) -> None:
        self._tokenizer = load_tokenizer(self._model.path(self.manifest.tokenizer), self.manifest.encoding)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_tokenizer"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Where it lands the files are checked again. Raises ModelUnavailable, ModelIntegrityError."""
        self.__dict__.update(state)
        self._model.verify()
        self._open_tokenizer()
