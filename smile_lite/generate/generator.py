"""Generators behind one protocol: a chat model with our prompts, rules without a model, or none at all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from smile_lite.generate.prompts import ATTEMPTS, PROMPT_VERSION, messages
from smile_lite.generate.template import TEMPLATE_VERSION, template_answer
from smile_lite.text import sentence, split_words
from smile_lite.text.reasoning import without_reasoning

if TYPE_CHECKING:
    from smile_lite.chat.protocol import ChatModel

__all__ = ["ChatGenerator", "Generator", "TemplateGenerator"]


@runtime_checkable
class Generator(Protocol):
    """What phrases a reference as an answer to its question. `smile_lite.testing` has one that needs no model."""

    @property
    def name(self) -> str:
        """What a signature calls it, with the version of its prompt or rules: "smollm2-135m-instruct@b179c952/p1"."""

    @property
    def attempts(self) -> int:
        """How many different answers it can be asked for."""

    @property
    def concurrency(self) -> int:
        """How many threads may ask at once."""

    @property
    def trusted(self) -> bool:
        """Whether its answers go unchecked, because they cannot say what is in neither question nor reference."""

    def answer(self, question: str | None, reference: str, attempt: int) -> str:
        """The synthetic answer of an attempt, from 0. The same arguments give the same answer where the model can.

        Raises NoReply where this attempt came to nothing, ModelUnavailable where no other will do better.
        """


class TemplateGenerator:
    """Rules, no model: always there, and the fallback of the others."""

    name = f"template/{TEMPLATE_VERSION}"
    attempts = 1
    concurrency = 1
    trusted = True

    def answer(self, question: str | None, reference: str, attempt: int) -> str:  # noqa: ARG002 - one way to say it
        """Question and reference as a statement."""
        return template_answer(question, reference)


class ChatGenerator:
    """A chat model, asked with the prompts of this project: the first, and another where that failed its checks."""

    attempts = ATTEMPTS
    trusted = False

    def __init__(self, model: ChatModel) -> None:
        self.model = model

    @property
    def name(self) -> str:
        """The model's name and the version of the prompts."""
        return f"{self.model.name}/{PROMPT_VERSION}"

    @property
    def concurrency(self) -> int:
        """That of the model."""
        return self.model.concurrency

    def answer(self, question: str | None, reference: str, attempt: int) -> str:
        """The first line of the model's reply, without quotes and labels around it."""
        asked, wanted = sentence(question or "") or "What is it?", sentence(reference)
        words = len(split_words(asked)) + len(split_words(wanted))
        return _tidy(self.model.reply(messages(asked, wanted, attempt), max_tokens=32 + 3 * words))


_LABEL = re.compile(r"(?:sentence|statement|answer)\s*:\s*", re.IGNORECASE)


def _tidy(reply: str) -> str:
    lines = [line.strip() for line in without_reasoning(reply).splitlines()]
    first = _LABEL.sub("", next((line for line in lines if line), ""), count=1).strip().strip("*")
    if len(first) > 1 and first[0] + first[-1] in ('""', "“”", "''"):
        first = first[1:-1].strip()
    return sentence(first)
