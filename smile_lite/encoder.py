"""Texts in, unit vectors out. Knows neither rows nor SMILE."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from smile_lite.errors import ModelError, ModelIntegrityError
from smile_lite.models import get_model
from smile_lite.onnx_model import OnnxModel
from smile_lite.session import thread_count
from smile_lite.tokenizer import load_cutter, token_ids, windows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    from smile_lite.manifest import Manifest

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


class OnnxEncoder(OnnxModel):
    """An encoder over a pulled model: tokenises in one call, runs batches of texts of exactly one length."""

    _cutter: Tokenizer | None

    def _accept(self, manifest: Manifest) -> None:
        if manifest.head is not None:
            raise ModelError(f"{manifest.name} scores pairs of texts: it is no encoder")

    def _read(self, session: InferenceSession) -> None:
        self._dimensions: int = session.get_outputs()[0].shape[-1]

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
    def max_tokens(self) -> int:
        """Longer texts are cut at their end to so many tokens."""
        return self.manifest.encoding.max_tokens

    @property
    def weights_sha256(self) -> str:
        """The hash of the weights, for the record."""
        return str(self._model.files[self._model.manifest.weights]["sha256"])

    @property
    def tokenizer_sha256(self) -> str:
        """The hash of the tokenizer file, for the record."""
        return str(self._model.files[self._model.manifest.tokenizer]["sha256"])

    def windows(self, text: str) -> list[str]:
        """`text` in pieces that the model reads whole, each half a piece behind the one before; [text] if it is one."""
        if len(text) < self.max_tokens - 1:  # a token has a character at least
            return [text]
        if self._cutter is None:
            self._cutter = load_cutter(self._model.path(self.manifest.tokenizer), self.manifest.encoding)
        return windows(self._cutter, text)

    def _open_tokenizer(self) -> None:
        super()._open_tokenizer()
        self._cutter = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_cutter"}

    @property
    def converter(self) -> int | None:
        """The version of the converter that made the graph; None for one that came finished."""
        return self._model.files[self._graph.name].get("converter")

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
        tokens = token_ids(self._tokenizer, texts, self.manifest.encoding)
        number: dict[tuple[int, ...], int] = {}
        which = np.array([number.setdefault(one, len(number)) for one in tokens], dtype=np.int64)
        unique = list(number)
        vectors = np.empty((len(unique), self._dimensions), dtype=np.float32)
        session = self._session()
        for members in self._batches([len(ids) for ids in unique]):
            ids = np.array([unique[member] for member in members], dtype=np.int64)
            vectors[members] = session.run(["embedding"], {"input_ids": ids})[0]
        if not np.isfinite(vectors).all():
            raise ModelIntegrityError(
                f"{self.name} gave a vector that is not finite: `smile-lite models verify {self.manifest.name}`"
            )
        return vectors[which]
