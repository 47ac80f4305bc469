"""Rows out: strict JSON, one object a line, in files that appear whole or not at all."""

from __future__ import annotations

import errno
import json
import re
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from smile_lite.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["atomic_text_writer", "json_line", "part_of", "resumable_text_writer"]


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)  # of some network file systems
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029]")


def json_line(row: Mapping[str, Any]) -> str:
    """`row` as one line of strict JSON. Raises ValueError for NaN or infinity, which must not get this far."""
    line = json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(", ", ": "))
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate came in; as an escape it goes out just as it came
        line = json.dumps(row, ensure_ascii=True, allow_nan=False, separators=(", ", ": "))
    # The first are commands to a terminal; some of them and the last two end a line for some readers.
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", line) + "\n"


@contextmanager
def atomic_text_writer(path: str | Path) -> Iterator[IO[str]]:
    """A text file that takes its name only when the block ends well; its folders are made where they are missing.

    What is not a regular file (a pipe, /dev/null) is written straight. Raises OutputError where it cannot be written.
    """
    target, straight = _place(path)
    temporary = target if straight else target.with_name(f".{target.name[:200]}.{uuid.uuid4().hex[:8]}.part")
    stream = _opened(path, temporary, "w" if straight else "x")
    try:
        with stream:
            yield stream
        if not straight:
            temporary.replace(target)
    except BaseException as error:
        if not straight:
            temporary.unlink(missing_ok=True)
        if _is_of_the_disk(error):
            raise _refusal(path, error) from None
        raise


def _place(path: str | Path) -> tuple[Path, bool]:
    """The file that `path` means (behind links), and whether it is written straight. Raises OutputError."""
    try:
        target = Path(path)
        straight = target.exists() and not target.is_file()
        return (target if straight else target.resolve()), straight
    except (OSError, ValueError, RuntimeError) as error:  # no right to look, a zero byte, links in a circle
        raise _refusal(path, error) from None


def _opened(path: str | Path, file: Path, mode: str) -> IO[str]:
    """`file`, in a folder that is made where it is missing; `path` is what the user calls it."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        return file.open(mode, encoding="utf-8", newline="\n")
    except OSError as error:
        raise _refusal(path, error) from None


def _is_of_the_disk(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in _NO_ROOM


def _refusal(path: str | Path, error: BaseException, more: str = "") -> OutputError:
    return OutputError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}{more}")


def part_of(path: str | Path) -> Path:
    """Where the rows of an interrupted run lie: beside the file they were meant for, `.part` behind its name."""
    target = Path(path)
    target = target.resolve() if target.is_symlink() else target
    return target.with_name(f"{target.name}.part")


@contextmanager
def resumable_text_writer(path: str | Path, *, keep: int = 0) -> Iterator[IO[str]]:
    """As `atomic_text_writer`, but a run that is stopped, or for which the disk has no room (not one that fails
    otherwise) leaves its `part_of(path)`, from which another goes on. `keep`: so many bytes of an earlier part stay,
    and what is written comes behind them.

    Raises OutputError where it cannot be written, or where another run is writing it.
    """
    target, straight = _place(path)
    if straight:
        with atomic_text_writer(target) as stream:
            yield stream
        return
    part = part_of(target)
    stream = _opened(path, part, "a")
    try:
        with stream:
            claim(stream, target)
            stream.truncate(keep)
            yield stream
        part.replace(target)
    except Exception as error:
        if _is_of_the_disk(error):
            raise _refusal(path, error, f"; what was finished is in {part.name}, and --resume goes on") from None
        if not isinstance(error, OutputError):
            part.unlink(missing_ok=True)
        raise


def claim(stream: IO[str], target: Path) -> None:
    """One run at a time, where the platform can tell."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise OutputError(f"another run is writing {target}") from None
