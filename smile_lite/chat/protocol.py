"""What a chat model is to whoever asks it: messages in, one reply out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

__all__ = ["ChatModel", "Message"]

Message = Mapping[str, str]
"""`role` ("system", "user" or "assistant") and `content`."""


@runtime_checkable
class ChatModel(Protocol):
    """What answers messages. `smile_lite.testing` has one that needs no model."""

    @property
    def name(self) -> str:
        """What a signature calls it, such as "smollm2-135m-instruct@b179c952": no spaces, no `|` and no `:`."""

    @property
    def concurrency(self) -> int:
        """How many threads may ask at once; 1 for a model in this process."""

    def reply(self, messages: Sequence[Message], *, max_tokens: int) -> str:
        """The reply's text, as it came. Greedy where the model can be: the same messages give the same reply.

        Raises NoReply where the model answered with nothing that can be used (another question may do better),
        ModelUnavailable where it cannot be asked at all: no connection, no right to ask, out of patience.
        """
