"""Going on where a stopped run left off: its finished rows are taken over, if they are what this run would write."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from smile_lite.cli.output import inputs_of
from smile_lite.errors import UsageError
from smile_lite.report import RowScore
from smile_lite.rows import part_of
from smile_lite.signature import differences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from smile_lite.metric import Smile
    from smile_lite.report import Summary
    from smile_lite.rows import Row

__all__ = ["take_over"]


def take_over(output: str, rows: Iterator[Row], smile: Smile, summary: Summary) -> int:
    """Add the rows that an earlier run finished to `summary`, and take as many from `rows`; returns their size in
    bytes.

    Raises UsageError where they are of other rows or other settings, and names the row and what differs.
    """
    part, size, number = part_of(output), 0, 0
    if not part.is_file():
        return 0
    with part.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            written = _finished(line)
            if written is None:  # the line that the run was stopped in
                break
            row = next(rows, None)
            if row is None:
                raise UsageError(f"{part} holds more rows than the input: it was made from another; remove it")
            _compare(row, written, smile, f"{part}, line {number}")
            known: dict[str, Any] = {name: written.get(name) for name in RowScore.__slots__}
            known["flags"] = tuple(written.get("flags", ()))
            summary.add(RowScore(**known))
            size += len(line)
    return size


def _finished(line: bytes) -> dict[str, Any] | None:
    try:
        written = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    return written if isinstance(written, dict) and "signature" in written else None


def _compare(row: Row, written: dict[str, Any], smile: Smile, place: str) -> None:
    ours = {"id": row.id, **inputs_of(row)}
    for name, value in ours.items():
        if written.get(name) != value:
            raise UsageError(f"{place}: its {name} is not that of the input row: it was made from another; remove it")
    if found := differences(written["signature"], smile.signature_of(row)):
        raise UsageError(f"{place}: it was made with other settings ({'; '.join(found)}); remove it, or use those")
