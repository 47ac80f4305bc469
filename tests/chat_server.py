"""A chat server on the loopback address that answers as it is told, well or badly, and remembers what it was asked.

    with ChatServer(status(429, headers={"Retry-After": "1"}), ok("Paris.")) as server:
        ...                             # ask server.url
    assert [request.body["model"] for request in server.requests] == ["tiny", "tiny"]

Each request takes the next behaviour of the script; when that is used up, `then` answers: a behaviour, or a function
from the request to one. Where ECHO stands in a body, the request's Authorization header is put. A server that is named
in HTTP_PROXY plays the proxy: `Request.path` is then the whole address.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ECHO = "<authorization>"
_JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Request:
    """One request: its headers (names in lower case), its JSON, and when it came (time.monotonic)."""

    path: str
    headers: Mapping[str, str]
    body: Any
    at: float

    @property
    def question(self) -> str:
        """The last message."""
        return str(self.body["messages"][-1]["content"])


@dataclass(frozen=True)
class Behaviour:
    """What is sent: after `delay` seconds the status line, headers and body, or the first `cut` bytes of the body and
    then, `stall` seconds later, a hang-up by a mere close or a `reset`; `cut` -1 hangs up without a word.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: int | None = None
    stall: float = 0.0
    reset: bool = False


def completion(choices: object, *, prompt_tokens: int = 7, completion_tokens: int = 3) -> Behaviour:
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    made = {"id": "1", "object": "chat.completion", "created": 1, "model": "tiny", "choices": choices, "usage": usage}
    return Behaviour(body=json.dumps(made).encode(), headers=_JSON)


def choice(content: object, *, finish_reason: str = "stop", **more: str) -> dict[str, object]:
    message = {"role": "assistant", "content": content, **more}
    return {"index": 0, "finish_reason": finish_reason, "message": message}


def ok(text: str, *, finish_reason: str = "stop") -> Behaviour:
    return completion([choice(text, finish_reason=finish_reason)])


def slow(seconds: float, text: str) -> Behaviour:
    return replace(ok(text), delay=seconds)


def status(code: int, body: object = None, headers: Mapping[str, str] | None = None) -> Behaviour:
    """An error; `body` is bytes as they are, a sentence in the usual shape, or anything else as JSON."""
    if isinstance(body, str):
        body = {"error": {"message": body, "type": "error", "param": None, "code": None}}
    content = body if isinstance(body, bytes) else json.dumps(body or {"error": {"message": f"status {code}"}}).encode()
    return Behaviour(code, content, {**_JSON, **(headers or {})})


def broken_json() -> Behaviour:
    """A body that ends too early by its own Content-Length: the transfer is whole, the JSON is not."""
    return replace(ok("Paris."), body=ok("Paris.").body[:-20])


def empty_choice() -> Behaviour:
    return completion([])


def no_content(**more: str) -> Behaviour:
    return completion([choice(None, **more)])


def not_json() -> Behaviour:
    return Behaviour(
        body=b"<html><body>Welcome to the hotel's network</body></html>", headers={"Content-Type": "text/html"}
    )


def drop_before_reply(*, reset: bool = False) -> Behaviour:
    return Behaviour(cut=-1, reset=reset)


def drop_mid_body(*, reset: bool = False) -> Behaviour:
    return replace(ok("Paris."), cut=30, reset=reset)


def stall_mid_body(seconds: float) -> Behaviour:
    return replace(ok("Paris."), cut=30, stall=seconds)


class ChatServer:
    """See the module. `most_at_once`: how many requests were being answered at the same time, at most;
    `connections`: how many were opened.
    """

    def __init__(self, *script: Behaviour, then: Behaviour | Callable[[Request], Behaviour] | None = None) -> None:
        self.requests: list[Request] = []
        self.connections = 0
        self.most_at_once = 0
        self._script = list(script)
        self._then = then or ok("Paris.")
        self._busy = 0
        self._lock = threading.Lock()
        self._leaving = threading.Event()
        self._open: set[socket.socket] = set()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def url(self) -> str:
        """The base URL of the API."""
        return f"{self.address}/v1"

    def __enter__(self) -> ChatServer:
        self._server = _Server(("127.0.0.1", 0), partial(_Handler, self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Ends at once: who is still waited for or kept alive is hung up on."""
        self._leaving.set()
        self._server.shutdown()
        with self._lock:
            for connection in self._open:
                _hang_up(connection)
        self._thread.join()
        self._server.server_close()  # joins the handlers

    def opened(self, connection: socket.socket) -> None:
        with self._lock:
            self.connections += 1
            self._open.add(connection)
            if self._leaving.is_set():
                _hang_up(connection)

    def closed(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.discard(connection)

    def next(self, request: Request) -> Behaviour:
        with self._lock:
            self.requests.append(request)
            self._busy += 1
            self.most_at_once = max(self.most_at_once, self._busy)
            behaviour = self._script.pop(0) if self._script else self._then
        return behaviour if isinstance(behaviour, Behaviour) else behaviour(request)

    def done(self) -> None:
        with self._lock:
            self._busy -= 1

    def pause(self, seconds: float) -> None:
        """Sleep, but not beyond the server's end."""
        self._leaving.wait(seconds)


def _hang_up(connection: socket.socket) -> None:
    with suppress(OSError):  # the other side was first
        connection.shutdown(socket.SHUT_RDWR)


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # whoever hung up is no news
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, chat: ChatServer, *arguments: Any) -> None:
        self.chat = chat
        super().__init__(*arguments)

    def setup(self) -> None:
        super().setup()
        self.chat.opened(self.connection)

    def finish(self) -> None:
        self.chat.closed(self.connection)
        super().finish()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        behaviour = self.chat.next(Request(self.path, headers, body, time.monotonic()))
        if not self.path.endswith("/v1/chat/completions"):
            behaviour = status(404, {"detail": "Not Found"})
        try:
            self.chat.pause(behaviour.delay)
            self.send(behaviour)
        finally:
            self.chat.done()

    def send(self, behaviour: Behaviour) -> None:
        content = behaviour.body.replace(ECHO.encode(), self.headers["Authorization"].encode())
        if behaviour.cut is None or behaviour.cut >= 0:
            self.send_response(behaviour.status)
            for name, value in {**behaviour.headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content[: behaviour.cut])
        if behaviour.cut is not None:
            self.chat.pause(behaviour.stall)
            self.close_connection = True
            if behaviour.reset:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.chat.closed(self.connection)
            self.rfile.close()
            self.connection.close()

    def log_message(self, *_: object) -> None:
        pass
