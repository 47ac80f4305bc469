"""A GGUF model in this process, through llama.cpp: greedy, and each reply independent of those before it."""

from __future__ import annotations

import threading
from datetime import date
from importlib import import_module
from typing import TYPE_CHECKING, Any

from smile_lite.chat.gguf import GgufFile, check_name, get_gguf
from smile_lite.errors import ModelError, NoReply
from smile_lite.extras import require
from smile_lite.session import thread_count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from smile_lite.chat.protocol import Message

__all__ = ["LlamaChat"]

_SMALLEST_CONTEXT = 1024
_DAY = date(2024, 7, 26)  # some templates tell the model what day it is; a reply must not depend on it
_DATE = f"{_DAY:%d %b %Y}"
_GREEDY = {"temperature": 0.0, "top_k": 1, "seed": 0}  # they go with each call; the constructor knows none of them


class LlamaChat:
    """A ChatModel over a GGUF file and the chat template in it.

    threads: None for half of the usable CPUs: llama.cpp's threads wait for each other in a loop, so one a CPU crawls as
    soon as the machine does anything else. The context grows with the longest conversation. Raises ModelError where
    the file does not load or holds no chat template.
    """

    concurrency = 1

    def __init__(self, file: GgufFile, *, threads: int | None = None) -> None:
        self._llama = require("llama_cpp", extra="generate", purpose="running a GGUF model")
        self._file = file
        self._threads = threads or max(1, thread_count() // 2)
        self._lock = threading.Lock()
        self._opening: list[int] = []
        self._context = 0
        self._model: Any = None
        self._load(_SMALLEST_CONTEXT)
        self._formatters = {ask: self._formatter(ask=ask) for ask in (False, True)}

    @classmethod
    def from_pretrained(
        cls,
        model: str,
        *,
        quant: str | None = None,
        threads: int | None = None,
        offline: bool = False,
        home: Path | None = None,
        notify: Callable[[str], object] | None = None,
    ) -> LlamaChat:
        """The chat model of a generator's name, manifest (.toml) or .gguf file, fetched first if it has to be."""
        check_name(model)
        require("llama_cpp", extra="generate", purpose="running a GGUF model")  # before anything is fetched
        return cls(get_gguf(model, quant=quant, offline=offline, home=home, notify=notify), threads=threads)

    @property
    def name(self) -> str:
        """The file's name and eight digits of its sha256."""
        return self._file.name

    def reply(self, messages: Sequence[Message], *, max_tokens: int) -> str:
        """The greedy reply. What was asked before does not change it: only the conversation's opening (all messages but
        the last, evaluated by itself) is kept for those that begin alike.

        Raises NoReply where the conversation is longer than the model reads, or its template refuses it.
        """
        with self._lock:
            opening, whole = self._tokens(messages[:-1], ask=False), self._tokens(messages, ask=True)
            self._make_room(len(whole) + max_tokens)
            self._keep_only(opening if whole[: len(opening)] == opening else [])
            try:
                done = self._model.create_completion(whole, max_tokens=max_tokens, **_GREEDY)
            except (RuntimeError, ValueError) as error:
                raise NoReply(f"{self.name} could not go through the conversation: {error}") from None
            return str(done["choices"][0]["text"])

    def close(self) -> None:
        """Free the model's memory."""
        if self._model is not None:
            self._model.close()
            self._model = None

    def _load(self, context: int) -> None:
        self.close()
        settings = {"n_threads": self._threads, "n_threads_batch": self._threads, "seed": 0, "verbose": False}
        try:
            self._model = self._llama.Llama(str(self._file.path), n_ctx=context, **settings)
        except (ValueError, RuntimeError, OSError) as error:
            raise ModelError(f"llama.cpp cannot load {self._file.path}: {error}") from None
        self._context, self._opening = context, []

    def _tokens(self, messages: Sequence[Message], *, ask: bool) -> list[int]:
        """The conversation in tokens; with `ask` up to where the reply begins."""
        if not messages:
            return []
        data = [{**message, "content": message["content"].replace("<|", "< |")} for message in messages]
        try:  # "<|" opens the marks of most templates: what a row holds ends no turn and begins none
            text = self._rendered(data, ask)
        except Exception as error:  # a template raises errors of its own making and of its library's
            raise NoReply(f"the chat template of {self._file.path.name} refuses the conversation: {error}") from None
        tokens: list[int] = self._model.tokenize(text.encode("utf-8", "replace"), add_bos=False, special=True)
        return tokens

    def _rendered(self, messages: Sequence[Message], ask: bool) -> str:
        render = self._formatters[ask]
        try:
            return str(render(messages=list(messages), date_string=_DATE).prompt)
        except Exception:
            if messages[0]["role"] != "system" or len(messages) == 1:
                raise
        first = {**messages[1], "content": f"{messages[0]['content']}\n\n{messages[1]['content']}"}
        return str(render(messages=[first, *messages[2:]], date_string=_DATE).prompt)  # it knows no system role

    def _make_room(self, tokens: int) -> None:
        longest = int(self._model._model.n_ctx_train())
        if tokens > longest:
            raise NoReply(f"the conversation takes {tokens} tokens, and {self.name} reads {longest}")
        if tokens > self._context:
            self._load(min(longest, 1 << (tokens - 1).bit_length()))

    def _keep_only(self, opening: list[int]) -> None:
        """Forget everything behind the opening; it is evaluated in one call, so that its state is always the same."""
        if not opening or opening != self._opening:
            self._model.reset()
            if opening:
                self._model.eval(opening)
            self._opening = opening
        self._model.n_tokens = len(opening)

    def _formatter(self, *, ask: bool) -> Any:
        template = self._model.metadata.get("tokenizer.chat_template")
        if not template:
            raise ModelError(f"{self._file.path} holds no chat template: take an instruct model")
        eos, bos = (
            self._model._model.token_get_text(token) if token >= 0 else ""
            for token in (self._model.token_eos(), self._model.token_bos())
        )
        formats = import_module("llama_cpp.llama_chat_format")
        made = formats.Jinja2ChatFormatter(template=template, eos_token=eos, bos_token=bos, add_generation_prompt=ask)
        made.strftime_now = _DAY.strftime
        return made
