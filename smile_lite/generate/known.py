"""Generators by name."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from smile_lite.chat.gguf_manifest import DEFAULT_GENERATOR
from smile_lite.errors import UsageError
from smile_lite.generate.generator import ChatGenerator, TemplateGenerator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from smile_lite.chat.protocol import ChatModel
    from smile_lite.generate.generator import Generator

__all__ = ["NAMES", "Settings", "load_generator"]

NAMES = ("auto", "template", "none", "openai")


@dataclass(frozen=True, slots=True)
class Settings:
    """What loading a generator may need. server_model, base_url, key_variable, concurrency are those of "openai"."""

    quant: str | None = None
    threads: int | None = None
    offline: bool = False
    home: Path | None = None
    server_model: str | None = None
    base_url: str | None = None
    key_variable: str = "OPENAI_API_KEY"
    concurrency: int = 8


def load_generator(
    name: str, settings: Settings | None = None, notify: Callable[[str], object] | None = None
) -> Generator | None:
    """The generator of a name, ready to be asked; None for "none".

    "template": rules without a model. "auto": the default model where llama.cpp is installed, else the template, and
    `notify` hears which. "openai": a chat server. Anything else: the name of a generator manifest, the path of one
    (.toml) or a .gguf file. Raises UnknownModel, ModelUnavailable, ModelIntegrityError, ModelError, ExtraMissing,
    UsageError.
    """
    settings, say = settings or Settings(), notify or (lambda _: None)
    if name == "none":
        return None
    if name == "auto":
        if find_spec("llama_cpp") is None:
            say("synthetic answers from the template: llama.cpp is not installed (pip install 'smile-lite[generate]')")
            return TemplateGenerator()
        say(f"synthetic answers from {DEFAULT_GENERATOR}, through llama.cpp")
        name = DEFAULT_GENERATOR
    if name == "template":
        return TemplateGenerator()
    return ChatGenerator(_chat_model(name, settings, notify))


def _chat_model(name: str, settings: Settings, notify: Callable[[str], object] | None) -> ChatModel:
    if name == "openai":
        from smile_lite.chat.openai import OpenAiChat

        if settings.server_model is None:
            raise UsageError("--generator openai needs --generator-model: what the server calls its model")
        return OpenAiChat(
            settings.server_model,
            base_url=settings.base_url,
            key_variable=settings.key_variable,
            concurrency=settings.concurrency,
        )
    from smile_lite.chat.llama import LlamaChat

    return LlamaChat.from_pretrained(
        name,
        quant=settings.quant,
        threads=settings.threads,
        offline=settings.offline,
        home=settings.home,
        notify=notify,
    )
