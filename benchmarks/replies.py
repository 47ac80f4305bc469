"""Replies of a chat model, kept in a file: a benchmark that is run again asks only what it has not asked before."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from smile_lite.chat.protocol import ChatModel, Message

__all__ = ["KeptReplies"]


class KeptReplies:
    """A ChatModel that looks a conversation up before it asks `model`; `asked` counts those that were asked."""

    concurrency = 1

    def __init__(self, model: ChatModel, path: Path) -> None:
        self.name = model.name
        self.asked = 0
        self._model = model
        self._path = path
        self._known: dict[str, str] = {}
        if path.exists():
            self._known = dict(json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())

    def reply(self, messages: Sequence[Message], *, max_tokens: int) -> str:
        """The kept reply, or a new one, which is kept."""
        key = hashlib.sha256(json.dumps(list(messages)).encode()).hexdigest()
        if key not in self._known:
            self.asked += 1
            self._known[key] = self._model.reply(messages, max_tokens=max_tokens)
            with self._path.open("a", encoding="utf-8") as out:
                out.write(json.dumps([key, self._known[key]]) + "\n")
        return self._known[key]
