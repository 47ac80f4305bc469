"""Rows out: strict JSON, one object a line, in files that appear whole or not at all."""

from __future__ import annotations

import errno
import json
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from smile_lite.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["atomic_text_writer", "json_line", "part_of", "resumable_text_writer"]


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)


def json_line(row: Mapping[str, Any]) -> str:
    """`row` as one line of strict JSON. Raises ValueError for NaN or infinity, which must not get this far."""
    line = json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(", ", ": "))
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate came in; as an escape it goes out just as it came
        line = json.dumps(row, ensure_ascii=True, allow_nan=False, separators=(", ", ": "))
    # These end a line for some readers, and a row must stay on one.
    return line.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085") + "\n"


@contextmanager
def atomic_text_writer(path: str | Path) -> Iterator[IO[str]]:
    """A text file that takes its name only when the block ends well; its folders are made where they are missing.

    What is not a regular file (a pipe, /dev/null) is written straight. Raises OutputError where it cannot be written.
    """
    target = Path(path)
    straight = target.exists() and not target.is_file()
    temporary = target if straight else target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        stream = temporary.open("w" if straight else "x", encoding="utf-8", newline="\n")
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror}") from None
    try:
        with stream:
            yield stream
        if not straight:
            temporary.replace(target)
    except BaseException as error:
        if not straight:
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            raise OutputError(f"cannot write {target}: {error.strerror}") from None
        raise


def part_of(path: str | Path) -> Path:
    """Where the rows of an interrupted run lie: beside the file they were meant for, `.part` behind its name."""
    target = Path(path)
    return target.with_name(f"{target.name}.part")


@contextmanager
def resumable_text_writer(path: str | Path, *, keep: int = 0) -> Iterator[IO[str]]:
    """As `atomic_text_writer`, but a run that is stopped (not one that fails) leaves its `part_of(path)`, from which
    another goes on. `keep`: so many bytes of an earlier part stay, and what is written comes behind them.

    Raises OutputError where it cannot be written, or where another run is writing it.
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        with atomic_text_writer(target) as stream:
            yield stream
        return
    target = target.resolve()
    part = part_of(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        stream = part.open("a", encoding="utf-8", newline="\n")
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror}") from None
    try:
        with stream:
            claim(stream, target)
            stream.truncate(keep)
            yield stream
        part.replace(target)
    except Exception as error:
        if not isinstance(error, OutputError):
            part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            raise OutputError(f"cannot write {target}: {error.strerror}") from None
        raise


def claim(stream: IO[str], target: Path) -> None:
    """One run at a time, where the platform can tell."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise OutputError(f"another run is writing {target}") from None
