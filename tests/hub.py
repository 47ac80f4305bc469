"""A server on the loopback address in the hub's shape, that can be told to misbehave, and a manifest that names it."""

from __future__ import annotations

import hashlib
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from . import tiny

OLD, NEW = "0123456789abcdef0123456789abcdef01234567", "89abcdef0123456789abcdef0123456789abcdef"
WEIGHTS, TOKENIZER, POOLING = "model.safetensors", "tokenizer.json", "1_Pooling/config.json"

_MANIFEST = """
schema = 1
name = "tiny"
title = "a tiny BERT"
licence = "Apache-2.0"
[architecture]
family = "bert"
layers = 2
hidden_size = 32
heads = 4
intermediate_size = 64
vocabulary_size = {vocabulary}
max_positions = 48
[encoding]
pooling = "mean"
normalise = true
max_tokens = 16
[files."model.safetensors"]
sha256 = "{weights}"
[files."tokenizer.json"]
sha256 = "{tokenizer}"
[files."pooling.json"]
[[sources]]
kind = "hub"
location = "owner/tiny"
revision = "{revision}"
[sources.files]
"pooling.json" = "1_Pooling/config.json"
"tokenizer.json" = "tokenizer.json"
"model.safetensors" = "model.safetensors"
"""


def write_manifest(folder: Path, *, revision: str = "main", weights: str = "", tokenizer: str = "") -> Path:
    """A manifest of owner/tiny on the hub; `weights` and `tokenizer` are the sha256 that it states, if any."""
    path = folder / "tiny.toml"
    stated = {"revision": revision, "weights": weights, "tokenizer": tokenizer}
    path.write_text(_MANIFEST.format(vocabulary=len(tiny.VOCABULARY), **stated))
    return path


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def git_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class Request(NamedTuple):
    method: str
    path: str
    range: str
    token: str


@dataclass
class Hub:
    """owner/tiny at two commits, and how the server shall treat whoever asks.

    announced: the ETag of a file where it is not the true one. delivered: the bytes of a file where they are not those
    that were announced. cuts: how many more times a file's transfer is cut, at `cut_at`, by a reset or a mere close.
    refusals: what is answered, one a request, before the hub is itself again (for ever, where the last is repeated).
    """

    commits: dict[str, dict[str, bytes]]
    branches: dict[str, str] = field(default_factory=lambda: {"main": NEW})
    announced: dict[str, str] = field(default_factory=dict)
    delivered: dict[str, bytes] = field(default_factory=dict)
    cuts: dict[str, int] = field(default_factory=dict)
    cut_at: int = 1000
    reset: bool = False
    refusals: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    for_ever: bool = False
    after: Callable[[Request], object] = lambda _: None
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    endpoint: str = ""
    storage: str = ""

    def gets(self, name: str) -> list[Request]:
        """The transfers of a file (of its bytes, not of the redirect to them)."""
        own = [one for one in self.requests if one.method == "GET" and one.path.endswith(f"/{name}")]
        return [one for one in own if one.path.startswith("/storage/") or name != WEIGHTS]

    def __enter__(self) -> Hub:
        self._servers = [_Server(("127.0.0.1", 0), partial(_Handler, self)) for _ in range(2)]
        self.endpoint, self.storage = (f"http://127.0.0.1:{server.server_port}" for server in self._servers)
        self._threads = [threading.Thread(target=server.serve_forever, args=(0.02,)) for server in self._servers]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()
        for thread in self._threads:
            thread.join()


def tiny_hub(folder: Path) -> Hub:
    """Two commits of a repository in the layout of sentence-transformers: other weights, the same tokenizer."""
    commits = {}
    for seed, commit in enumerate((OLD, NEW)):
        root = tiny.write_checkpoint(folder / commit, seed=seed)
        paths = [path for path in root.rglob("*") if path.is_file()]
        commits[commit] = {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}
    return Hub(commits)


class _Server(ThreadingHTTPServer):
    daemon_threads = True


class _Handler(BaseHTTPRequestHandler):
    """`/owner/tiny/resolve/<revision>/<file>`; the weights are redirected to the storage, as large files are."""

    def __init__(self, hub: Hub, *arguments: Any) -> None:
        self.hub = hub
        hub.connections += 1
        super().__init__(*arguments)

    def do_HEAD(self) -> None:
        self.answer()

    def do_GET(self) -> None:
        self.answer()

    def answer(self) -> None:
        hub = self.hub
        token = self.headers.get("Authorization", "")
        request = Request(self.command, self.path, self.headers.get("Range", ""), token)
        hub.requests.append(request)
        if hub.refusals:
            status, headers = hub.refusals[0] if hub.for_ever else hub.refusals.pop(0)
            self.send(status, {**headers, "X-Error-Message": f"you said {token}"}, f"you said {token}".encode())
            return
        kind, _, rest = self.path.lstrip("/").partition("/")
        revision, _, name = rest.removeprefix("tiny/resolve/").partition("/")
        commit = hub.branches.get(revision, revision)
        if kind not in ("owner", "storage") or commit not in hub.commits:
            self.send(404, {"X-Error-Code": "RevisionNotFound"})
        elif name not in hub.commits[commit]:
            self.send(404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit})
        else:
            self.give(kind, commit, name)
            hub.after(request)

    def give(self, kind: str, commit: str, name: str) -> None:
        hub, content = self.hub, self.hub.commits[commit][name]
        headers = {"X-Repo-Commit": commit}
        if name == WEIGHTS and kind == "owner":
            headers |= {"ETag": '"no hash"', "X-Linked-ETag": f'"{hub.announced.get(name, sha256(content))}"'}
            headers |= {"X-Linked-Size": str(len(content)), "Location": f"{hub.storage}/storage/{commit}/{name}"}
            self.send(302, headers)
            return
        if self.command == "GET":
            content = hub.delivered.get(name, content)
        first = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
        if first:
            headers["Content-Range"] = f"bytes {first}-{len(content) - 1}/{len(content)}"
        headers["ETag"] = f'"{hub.announced.get(name, git_id(content))}"'
        self.send(206 if first else 200, headers, content[first:], name)

    def send(self, status: int, headers: dict[str, str], content: bytes = b"", name: str = "") -> None:
        self.send_response(status)
        for header, value in headers.items():
            self.send_header(header, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            cut = self.hub.cuts.get(name, 0)
            self.wfile.write(content[: self.hub.cut_at] if cut else content)
            if cut:
                self.hub.cuts[name] = cut - 1
                self.hang_up()

    def hang_up(self) -> None:
        if self.hub.reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.rfile.close()
        self.connection.close()

    def log_message(self, *_: object) -> None:
        pass
