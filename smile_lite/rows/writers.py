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

__all__ = ["atomic_text_writer", "json_line"]


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
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG):
            raise OutputError(f"cannot write {target}: {error.strerror}") from None
        raise
