"""What the answers of a chat server mean: the text in them, or why there is none and whether to ask again."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as in_url

from smile_lite.errors import ModelError, NoReply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Answer", "Trouble", "asked_wait", "is_busy", "message_in", "quoter", "rejects", "text_of", "token_counts"]

_LONGEST_QUOTE = 200
_COMPLAINT = r"un(?:supported|known|recogni[sz]ed|expected)|not (?:be )?(?:support|permit|allow|accept)|\bextra(?:_|\b)"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came over the wire: a whole body, under any status."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text, whatever is in it."""
        return self.body.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a request brought no reply, and what to raise in the end. `wait`: seconds that the server asked for."""

    error: type[ModelError]
    reason: str
    again: bool = True
    wait: float | None = None


def text_of(answer: Answer, quote: Callable[[str], str]) -> str | Trouble:
    """The reply in a chat completion. One that is empty for a stated reason would be empty again."""
    data = _json(answer.text)
    match data:
        case {"choices": [{"message": {"content": str(text)}}, *_]} if text.strip():
            return text.encode("utf-8", "replace").decode()  # half a surrogate pair could not be written to a file
        case {"choices": [{"finish_reason": "length" | "content_filter" as why}, *_]}:
            return Trouble(NoReply, f"the reply is empty, its finish_reason {why}", again=False)
        case {"choices": [{"message": {"reasoning_content": str(text)} | {"reasoning": str(text)}}, *_]} if text:
            return Trouble(NoReply, "the model reasoned and then gave no reply", again=False)
        case {"choices": []}:
            return Trouble(NoReply, "the reply holds no choice")
        case {"choices": [{"message": {}}, *_]}:
            return Trouble(NoReply, "the reply is empty")
        case None:
            return Trouble(NoReply, f"the reply is not JSON: {quote(answer.text)}")
    return Trouble(NoReply, f"the reply is no chat completion: {quote(message_in(answer))}")


def token_counts(answer: Answer) -> dict[str, int]:
    """`prompt_tokens` and `completion_tokens`, as far as they are stated."""
    match _json(answer.text):
        case {"usage": {**stated}}:
            names = ("prompt_tokens", "completion_tokens")
            return {name: count for name in names if isinstance(count := stated.get(name), int)}
    return {}


def message_in(answer: Answer) -> str:
    """The sentence in an error's body where that has one of the usual shapes, else the body."""
    data = _json(answer.text)
    match data:
        case {"error": {"message": str(said)}} | {"error": str(said)} | {"message": str(said)} | {"detail": str(said)}:
            return said
        case None:
            return answer.text
    return json.dumps(data, ensure_ascii=False)


def rejects(answer: Answer, option: str) -> bool:
    """Whether the server complains that it does not know this option of the request, or this value of it."""
    if answer.status not in (400, 422):
        return False
    near = rf"({_COMPLAINT}).{{0,60}}\b{option}\b|\b{option}\b.{{0,60}}({_COMPLAINT})"
    return re.search(near, answer.text, re.IGNORECASE | re.DOTALL) is not None


def is_busy(status: int) -> bool:
    """Whether the same request may do better a little later."""
    return status in (408, 409, 429) or status >= 500


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to be left alone: `retry-after-ms`, or `retry-after` as a number or a date."""
    seconds = headers.get("retry-after", "")
    for stated, unit in ((headers.get("retry-after-ms", ""), 1000.0), (seconds, 1.0)):
        try:
            wait = float(stated) / unit
        except ValueError:
            continue
        return wait if wait > 0 else None
    try:
        wait = parsedate_to_datetime(seconds).timestamp() - time.time()
    except (TypeError, ValueError, OverflowError):
        return None
    return wait if wait > 0 else None


def quoter(key: str) -> Callable[[str], str]:
    """What makes one printable line of a server's words, cut, and without the key or whatever else looks like one."""
    in_json = json.dumps(key)[1:-1]
    forms = {key, in_json, in_json.replace("/", r"\/"), in_url(key, safe="")} - {""}
    longest_first = sorted(map(re.escape, forms), key=len, reverse=True)
    secret = re.compile("|".join([*longest_first, r"(?<=://)[^\s/]*@", r"(?i:bearer)\s+\S+", r"\bsk-[\w*-]+"]))

    def quote(text: str) -> str:
        line = secret.sub("***", "".join(filter(str.isprintable, " ".join(text.split()))))
        return line if len(line) <= _LONGEST_QUOTE else f"{line[: _LONGEST_QUOTE - 3]}..."

    return quote


def _json(text: str) -> Any:
    """None for what is not JSON, and for JSON's null."""
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None
