"""The cases of shared/inputs/cases.jsonl: reading them, the two tables that say what becomes of each, and the program
run in this process.
"""

from __future__ import annotations

import contextlib
import io
import json
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest

from smile_lite.cli import main
from smile_lite.metric import Smile
from smile_lite.report import RowScore
from smile_lite.testing import FakeEncoder

from .conftest import SHARED, Run, shared

Test = TypeVar("Test", bound=Callable[..., None])

FILE = "inputs/cases.jsonl"

ASSERTED: dict[str, str] = {}
"""id -> the test that asserts what the case expects; filled by `asserts` when the test modules are imported."""

_GROUPS = "later issue: ranking of target groups"
_COVERAGE = "later issue: coverage of key points and what must not be said"
_JUDGES = "later issue: judges and the reading of their replies"
_INTEGRATIONS = "later issue: integrations into other tools"
_STATISTICS = "later issue: intervals, workers and reports for CI"

NOT_RUN = {
    "RAN-025": _GROUPS,
    "GRO-179": _GROUPS,
    "GRO-180": _GROUPS,
    "GRO-182": _GROUPS,
    "GRO-183": _GROUPS,
    "GRO-185": _GROUPS,
    "GRO-187": _GROUPS,
    "UNI-035": _COVERAGE,
    "COV-174": _COVERAGE,
    "COV-175": _COVERAGE,
    "COV-176": _COVERAGE,
    "COV-177": _COVERAGE,
    "COV-178": _COVERAGE,
    "JUD-159": _JUDGES,
    "JUD-161": _JUDGES,
    "JUD-162": _JUDGES,
    "JUD-163": f"{_JUDGES} (its figures are of a judge over 500 rows)",
    "MOD-150": f"{_INTEGRATIONS}: evaluate",
    "CLI-169": f"{_INTEGRATIONS}: lm-eval",
    "DET-118": f"{_STATISTICS}: --ci",
    "RUN-135": f"{_STATISTICS}: --workers",
    "CLI-168": f"{_STATISTICS}: --junit",
    "RUN-134": "out of scope: a Ray actor; Ray is no dependency, and threads=N says the same",
}


@dataclass(frozen=True)
class Case:
    """One case of the file."""

    id: str
    input: dict[str, Any]
    expected: str

    @property
    def rows(self) -> list[tuple[Any, Any]]:
        """Reference or references, and prediction, of each row; none where the case is not about rows."""
        if "rows" in self.input and isinstance(self.input["rows"], list):
            return [(reference, prediction) for reference, prediction in self.input["rows"]]
        if "answer" not in self.input:
            return []
        prediction = self.input["prediction"]
        if isinstance(prediction, dict):
            prediction = prediction["repeat"] * prediction["times"] + prediction["then"]
        return [(self.input["answer"], prediction)]

    def grade(self, smile: Smile | None = None, **settings: Any) -> list[RowScore]:
        """Its rows, graded by `smile` or by one over the stand-in encoder with these settings."""
        smile = smile or Smile(FakeEncoder(), **settings)
        references, predictions = zip(*self.rows, strict=True)
        questions = [self.input.get("question")] * len(references)
        return list(smile.score(predictions, references, questions).rows)

    def write(self, folder: Path) -> Path:
        """The file that the case holds, or its rows as JSONL."""
        if self.input["kind"] == "file":
            text = self.input["text"].encode(self.input.get("encoding") or "utf-8")
            path = folder / str(self.input["name"])
            path.write_bytes(bytes.fromhex(self.input.get("hex_prefix") or "") + text)
        else:
            path = folder / "rows.jsonl"
            path.write_text(jsonl(*({"answer": one, "prediction": other} for one, other in self.rows)))
        return path


@cache
def all_cases() -> dict[str, Case]:
    """Every case of the file by its id; none where the shared folder is absent."""
    path = SHARED / FILE
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    read = [json.loads(line) for line in lines]
    return {case["id"]: Case(case["id"], case["input"], case["expected"]) for case in read}


def find_case(name: str) -> Case:
    """The case of that id; the test skips, with a reason, where the shared folder is absent."""
    shared(FILE)
    return all_cases()[name]


def asserts(*ids: str) -> Callable[[Test], Test]:
    """Marks a test as the assertion of these cases: it runs once for each, with `case`."""

    def mark(test: Test) -> Test:
        ASSERTED.update(dict.fromkeys(ids, test.__name__))
        marked: Test = pytest.mark.parametrize("case", ids, indirect=True)(test)
        return marked

    return mark


def jsonl(*rows: dict[str, Any]) -> str:
    """Rows as lines of JSON."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def program(folder: Path, *arguments: str | Path, stdin: str | bytes = b"") -> Run:
    """What the program does with these arguments in `folder`, without the time that a process takes to start."""
    given = io.TextIOWrapper(io.BytesIO(stdin.encode() if isinstance(stdin, str) else stdin), encoding="utf-8")
    out, err = io.BytesIO(), io.BytesIO()
    with _streams(given, out, err), contextlib.chdir(folder), pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    said = err.getvalue().decode("utf-8", "replace")
    assert "Traceback" not in said, said
    assert isinstance(stop.value.code, int)
    return Run(stop.value.code, out.getvalue().decode("utf-8"), said)


@contextlib.contextmanager
def _streams(given: io.TextIOWrapper, out: io.BytesIO, err: io.BytesIO) -> Iterator[None]:
    before, handler = (sys.stdin, sys.stdout, sys.stderr), signal.getsignal(signal.SIGTERM)
    written = [io.TextIOWrapper(buffer, encoding="utf-8", write_through=True) for buffer in (out, err)]
    sys.stdin, (sys.stdout, sys.stderr) = given, written
    try:
        yield
    finally:
        for stream in written:
            stream.flush()
            stream.detach()
        (sys.stdin, sys.stdout, sys.stderr) = before
        signal.signal(signal.SIGTERM, handler)
