"""Any server that speaks `/v1/chat/completions`, asked through the official SDK and with a patience of our own.

The SDK builds and sends the requests. When to ask again is decided here: its own loop passes over broken replies,
sleeps for up to two minutes where nothing can wake it, and does not tell how often it tried when it gives up.
"""

from __future__ import annotations

import os
import random
import re
import threading
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from smile_lite.chat.answers import (
    Answer,
    Trouble,
    asked_wait,
    is_busy,
    message_in,
    quoter,
    rejects,
    text_of,
    token_counts,
)
from smile_lite.errors import ModelUnavailable, NoReply, UsageError
from smile_lite.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from smile_lite.chat.protocol import Message

__all__ = ["LONGEST_WAIT", "ChatUsage", "OpenAiChat", "exponential"]

LONGEST_WAIT = 60.0
"""Seconds: a server that asks for a longer pause (Retry-After) is asked again after this one."""

_PUBLIC = "https://api.openai.com/v1"
_LONGEST_CONNECT = 10.0
_PLATFORM = ("Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version")


@dataclass(frozen=True, slots=True)
class ChatUsage:
    """What was asked so far. `requests`: all that were sent; `retries`: those of them that repeat a failed one;
    `no_replies`: questions that were given up; tokens: as far as the server states them.
    """

    requests: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    no_replies: int = 0


def exponential(retry: int) -> float:
    """Seconds before the `retry`-th repetition (from 1): 0.5, doubling up to 8, less up to a quarter by chance."""
    return min(0.5 * 2.0 ** min(retry - 1, 4), 8.0) * (1 - 0.25 * random.random())  # noqa: S311 - spreads, hides nothing


class OpenAiChat:
    """A ChatModel over an OpenAI-compatible server. Threads share it, `concurrency` at once.

    base_url: None for OPENAI_BASE_URL, or else the public endpoint. The key comes from the environment only; a server
    that was named needs none. timeout: seconds until a connection stands (10 at most), and between two pieces of an
    answer. retries: how often a question is asked again after HTTP 408, 409, 429 or 5xx, a timeout, a lost connection
    or a broken reply; `backoff` gives the seconds before each where the server names none.

    Raises UsageError where arguments or environment do not do, ExtraMissing without the SDK.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        key_variable: str = "OPENAI_API_KEY",
        concurrency: int = 8,
        timeout: float = 60.0,
        retries: int = 5,
        seed: int = 0,
        backoff: Callable[[int], float] = exponential,
    ) -> None:
        if not model.strip() or concurrency < 1 or not timeout > 0 or retries < 0:
            raise UsageError("a chat server wants a model's name, concurrency >= 1, timeout > 0 and retries >= 0")
        self.concurrency = concurrency
        self._model, self._key_variable, self._timeout, self._retries = model, key_variable, timeout, retries
        self._url = _checked_url((base_url or os.environ.get("OPENAI_BASE_URL", "")).strip() or _PUBLIC)
        key = _key(key_variable, needed=urlsplit(self._url).hostname == urlsplit(_PUBLIC).hostname)
        self._has_key, self._quote, self._backoff, self._seed = bool(key), quoter(key), backoff, seed
        self._spelling: dict[str, str | None] = {name: name for name in ("max_tokens", "temperature", "seed")}
        self._usage, self._under_way, self._lock, self._closed = ChatUsage(), 0, threading.Lock(), threading.Event()
        self._sdk: Any = require("openai", extra="openai", purpose="asking a chat server")
        transport = self._sdk.DefaultHttpxClient.__base__.__module__  # of httpx, and since SDK 3 of httpx2
        self._http: Any = import_module(transport.partition(".")[0])
        self._client = self._connected(key)
        self._create = self._client.chat.completions.with_streaming_response.create  # headers first, then the body

    @property
    def name(self) -> str:
        """The model's name, with "-" for what a signature cannot hold."""
        return re.sub(r"[^A-Za-z0-9._/@-]+", "-", self._model)

    @property
    def usage(self) -> ChatUsage:
        """The counters of this moment."""
        return self._usage

    def __enter__(self) -> OpenAiChat:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ask no more: threads that wait before asking again stop at once, with ModelUnavailable. A request under way
        ends by itself, with its `timeout` at the latest, and the last one closes the connections.
        """
        self._closed.set()
        with self._lock:
            if not self._under_way:
                self._client.close()

    def reply(self, messages: Sequence[Message], *, max_tokens: int) -> str:
        """The reply's text at temperature 0, also where it was cut off at `max_tokens`.

        Raises NoReply where the server refuses this content (HTTP 400, 413, 422) or sends nothing that can be used,
        ModelUnavailable where it refuses altogether or cannot be reached, or its last answer was that it is busy.
        """
        tries = 0
        while not self._closed.is_set():
            outcome = self._ask(messages, max_tokens)
            if isinstance(outcome, str):
                return outcome
            tries += 1
            if not outcome.again or tries > self._retries:
                self._count(no_replies=int(outcome.error is NoReply))
                often = f" (asked {tries} times)" if tries > 1 else ""
                raise outcome.error(f"{self._model} at {self._url}: {outcome.reason}{often}")
            if not self._closed.wait(self._backoff(tries) if outcome.wait is None else min(outcome.wait, LONGEST_WAIT)):
                self._count(retries=1)
        raise ModelUnavailable(f"{self._model} at {self._url}: the client was closed")

    def _ask(self, messages: Sequence[Message], max_tokens: int) -> str | Trouble:
        options = {"max_tokens": max_tokens, "temperature": 0, "seed": self._seed}
        sent = {spelling: options[name] for name, spelling in self._spelling.items() if spelling}
        answer = self._send({"model": self._model, "messages": [_encodable(one) for one in messages], **sent})
        if isinstance(answer, Trouble):
            return answer
        if answer.status < 300:
            self._count(**token_counts(answer))
            return text_of(answer, self._quote)
        if self._learns_from(answer, sent):
            return self._ask(messages, max_tokens)  # one option less each time, so this ends
        return self._refusal(answer)

    def _send(self, request: Mapping[str, Any]) -> Answer | Trouble:
        with self._lock:
            if self._closed.is_set():
                return Trouble(ModelUnavailable, "the client was closed", again=False)
            self._under_way += 1
        self._count(requests=1)
        try:
            return self._sent(request)
        finally:
            with self._lock:
                self._under_way -= 1
            if self._closed.is_set():
                self.close()

    def _sent(self, request: Mapping[str, Any]) -> Answer | Trouble:
        """The SDK's errors end here: they hold the request, and with it the key."""
        try:
            with self._create(**request) as response:
                return Answer(200, {}, response.read())
        except self._sdk.APIStatusError as error:
            return Answer(error.status_code, error.response.headers, error.response.content)
        except (self._sdk.APITimeoutError, self._http.TimeoutException):
            return Trouble(ModelUnavailable, f"no answer within {self._timeout:g} seconds")
        except self._sdk.APIConnectionError as error:
            cause = error.__cause__
            return Trouble(ModelUnavailable, f"no connection: {self._quote(f'{type(cause).__name__}: {cause}')}")
        except (self._http.HTTPError, OSError) as error:
            return Trouble(NoReply, f"the answer broke off: {self._quote(str(error))}")

    def _learns_from(self, answer: Answer, sent: Mapping[str, object]) -> bool:
        """Whether the server knew no such option: from now on it is left out, or goes by its new name."""
        for name in self._spelling:
            if name in sent and rejects(answer, name):
                self._spelling[name] = "max_completion_tokens" if name == "max_tokens" else None
                return True
        return False

    def _refusal(self, answer: Answer) -> Trouble:
        told = f"HTTP {answer.status}: {self._quote(message_in(answer))}"
        if is_busy(answer.status):
            again = answer.headers.get("x-should-retry") != "false"
            return Trouble(ModelUnavailable, told, again=again, wait=asked_wait(answer.headers))
        if answer.status in (400, 413, 422):
            return Trouble(NoReply, f"the request was refused, {told}", again=False)
        key = (
            f"the key in {self._key_variable} is not accepted"
            if self._has_key
            else f"set {self._key_variable} to a key"
        )
        lost = f"it has no model {self._model}, or the base URL is not that of its API (most end in /v1)"
        advice = {401: key, 403: key, 404: lost}.get(answer.status, "the request was refused")
        return Trouble(ModelUnavailable, f"{advice}, {told}", again=False)

    def _connected(self, key: str) -> Any:
        timeout = self._sdk.Timeout(self._timeout, connect=min(self._timeout, _LONGEST_CONNECT))
        limits = self._http.Limits(max_connections=self.concurrency, max_keepalive_connections=self.concurrency)
        try:
            return self._sdk.OpenAI(
                api_key=key or "no-key",  # None would make the SDK look for one by itself
                base_url=self._url,
                timeout=timeout,
                max_retries=0,
                http_client=self._sdk.DefaultHttpxClient(limits=limits, timeout=timeout),
                default_headers={f"X-Stainless-{name}": self._sdk.Omit() for name in _PLATFORM},  # no server's business
            )
        except (ImportError, OSError, ValueError, self._http.InvalidURL) as error:
            trouble = self._quote(str(error))
        raise UsageError(f"the base URL, or a proxy or certificate variable of the environment, is wrong: {trouble}")

    def _count(self, **more: int) -> None:
        with self._lock:
            self._usage = ChatUsage(**{name: past + more.get(name, 0) for name, past in asdict(self._usage).items()})


def _checked_url(url: str) -> str:
    """Errors and the HTTP library's log name the URL, so it may hold no secret; what is refused is not quoted."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or " " in url or not url.isprintable():
        raise UsageError("the base URL of a chat server (OPENAI_BASE_URL) must look like http://host:port/v1")
    if not {"@", "?", "#"}.isdisjoint(url):
        raise UsageError(
            "the base URL of a chat server (OPENAI_BASE_URL) may hold no user, password or query: a key belongs into "
            "an environment variable"
        )
    return url


def _key(variable: str, *, needed: bool) -> str:
    key = os.environ.get(variable, "").strip()
    if needed and not key:
        raise UsageError(f"{variable} is not set: it must hold the key for {_PUBLIC}, or name a server by its base URL")
    if not re.fullmatch("[!-~]*", key):
        raise UsageError(f"{variable} holds characters that no key has: spaces, line ends or others beyond ASCII")
    return key


def _encodable(message: Message) -> dict[str, str]:
    """The message without halves of surrogate pairs: they cannot be sent."""
    return {field: text.encode("utf-8", "replace").decode() for field, text in message.items()}
