"""Stand-ins for tests, deterministic and without a model: for ours, and for those of programs that use smile-lite."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from smile_lite.chat.protocol import Message

__all__ = ["FakeChat", "FakeEncoder", "FakeGenerator", "FakePairScorer"]


class FakeEncoder:
    """An Encoder whose vectors come from hashed character trigrams: texts that share letters are similar.

    `calls` and `texts` count what was asked of it.
    """

    name = "fake@00000000"
    precision = "fp32"
    max_tokens = 512

    def __init__(self, dimensions: int = 64) -> None:
        self.dimensions = dimensions
        self.calls = 0
        self.texts: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """[n, dimensions] float32 unit rows."""
        self.calls += 1
        self.texts += texts
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            padded = f"^{text.lower()}$".encode("utf-8", "replace")
            for start in range(max(1, len(padded) - 2)):
                row[zlib.crc32(padded[start : start + 3]) % self.dimensions] += 1.0
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    def windows(self, text: str) -> list[str]:
        """`text` in pieces of `max_tokens` words, each half a piece behind the one before."""
        words = text.split(" ")
        step = self.max_tokens // 2
        starts = range(0, max(1, len(words) - step), step)
        return [" ".join(words[start : start + self.max_tokens]) for start in starts]


class FakePairScorer:
    """A PairScorer whose one logit is the share of the second text's trigrams in the first, from -5 to 5."""

    name = "fake-pairs@00000000"
    precision = "fp32"
    labels = ("relevant",)

    def score(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """[n, 1] float32 logits."""
        shares = []
        for one, other in pairs:
            wanted = {other.lower()[start : start + 3] for start in range(max(1, len(other) - 2))}
            shares.append(sum(part in one.lower() for part in wanted) / len(wanted))
        return (10 * np.array(shares, dtype=np.float32) - 5).reshape(-1, 1)


class FakeChat:
    """A ChatModel whose reply is `answer` of the last message; `asked` keeps the conversations."""

    name = "fake-chat@00000000"

    def __init__(self, answer: Callable[[str], str], concurrency: int = 1) -> None:
        self._answer = answer
        self.concurrency = concurrency
        self.asked: list[Sequence[Message]] = []

    def reply(self, messages: Sequence[Message], *, max_tokens: int) -> str:  # noqa: ARG002 - the protocol's signature
        """What `answer` makes of the last message."""
        self.asked.append(messages)
        return self._answer(messages[-1]["content"])


class FakeGenerator:
    """A Generator that says "The answer is REFERENCE."; `asked` keeps question, reference and attempt of each call."""

    name = "fake/p0"
    attempts = 2
    trusted = False

    def __init__(self, concurrency: int = 1) -> None:
        self.concurrency = concurrency
        self.asked: list[tuple[str | None, str, int]] = []

    def answer(self, question: str | None, reference: str, attempt: int) -> str:
        """A sound answer at the first attempt, but for references that begin with "no": those fail their checks."""
        self.asked.append((question, reference, attempt))
        return "I cannot say." if reference.startswith("no") else f"The answer is {reference}."
