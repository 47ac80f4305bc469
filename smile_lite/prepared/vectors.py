"""Vectors that were computed before: the encoder they belong to, their file, and an encoder that looks them up."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from smile_lite.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from smile_lite.encoder import Encoder

__all__ = ["KnownVectors", "encoder_key", "load_vectors", "vectors_name", "write_vectors"]

_TEXTS_PER_WRITE = 512


def encoder_key(encoder: Encoder) -> dict[str, Any]:
    """All that decides the vectors of an encoder, as far as it can be told: what must match before they are used."""
    facts = ("weights_sha256", "tokenizer_sha256", "converter")
    return {
        "name": encoder.name,
        "precision": encoder.precision,
        "max_tokens": encoder.max_tokens,
        **{name: getattr(encoder, name, None) for name in facts},
    }


def vectors_name(encoder: Encoder) -> str:
    """The file for the vectors of an encoder."""
    return f"vectors-{re.sub(r'[^A-Za-z0-9._-]+', '-', f'{encoder.name}-{encoder.precision}')}.npy"


def write_vectors(
    path: Path, encoder: Encoder, texts: Sequence[str], *, on_texts: Callable[[int], object] | None = None
) -> None:
    """Write [len(texts), d] float32 in numpy's format, some hundred texts at a time; goes on where an earlier, stopped
    call with the same texts left off. `on_texts` hears how many more are done.
    """
    dimensions = encoder.encode([""]).shape[1]
    part = path.with_name(f"{path.name}.part")
    with part.open("r+b" if part.exists() else "x+b") as stream:
        header = {"descr": "<f4", "fortran_order": False, "shape": (len(texts), dimensions)}
        np.lib.format.write_array_header_1_0(stream, header)
        start = stream.tell()
        row = 4 * dimensions
        done = max(0, os.fstat(stream.fileno()).st_size - start) // row
        stream.truncate(stream.seek(start + done * row))
        for first in range(done, len(texts), _TEXTS_PER_WRITE):
            vectors = encoder.encode(texts[first : first + _TEXTS_PER_WRITE])
            stream.write(np.ascontiguousarray(vectors, dtype="<f4").tobytes())
            stream.flush()
            if on_texts is not None:
                on_texts(len(vectors))
    part.replace(path)


def load_vectors(path: Path, count: int) -> NDArray[np.float32]:
    """The vectors of a file, mapped, not read. Raises InputError where they are not [count, d] float32."""
    try:
        vectors: NDArray[np.float32] = np.load(path, mmap_mode="r" if count else None, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InputError(f"the vectors cannot be read: {error}", file=str(path)) from None
    if vectors.dtype != np.float32 or vectors.ndim != 2 or len(vectors) != count:
        raise InputError(f"there are {vectors.dtype} {vectors.shape} in it, not float32 [{count}, d]", file=str(path))
    return vectors


class KnownVectors:
    """An Encoder that looks a text up before it has it encoded. `looked_up` and `encoded` count the texts.

    Several tables may be given, as (texts, [n, d] float32); all must be the vectors that `encoder` would compute.
    """

    def __init__(self, encoder: Encoder, *tables: tuple[Sequence[str], NDArray[np.float32]]) -> None:
        self._encoder = encoder
        self._tables = [vectors for _, vectors in tables]
        self._place = dict(_places(texts for texts, _ in tables))
        self.looked_up = 0
        self.encoded = 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._encoder, name)

    @property
    def name(self) -> str:
        """That of the encoder."""
        return self._encoder.name

    @property
    def precision(self) -> str:
        """That of the encoder."""
        return self._encoder.precision

    @property
    def max_tokens(self) -> int:
        """That of the encoder."""
        return self._encoder.max_tokens

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """[n, d] float32 unit rows, in order; only texts that are in no table are encoded."""
        texts = [texts] if isinstance(texts, str) else texts
        unknown = [index for index, text in enumerate(texts) if text not in self._place]
        self.looked_up += len(texts) - len(unknown)
        self.encoded += len(unknown)
        if len(unknown) == len(texts):
            return self._encoder.encode(texts)
        vectors = np.empty((len(texts), self._tables[0].shape[1]), dtype=np.float32)
        if unknown:
            vectors[unknown] = self._encoder.encode([texts[index] for index in unknown])
        for index, text in enumerate(texts):
            if (place := self._place.get(text)) is not None:
                vectors[index] = self._tables[place[0]][place[1]]
        return vectors


def _places(tables: Iterable[Sequence[str]]) -> Iterator[tuple[str, tuple[int, int]]]:
    for table, texts in enumerate(tables):
        for row, text in enumerate(texts):
            yield text, (table, row)
