"""What `smile-lite score` writes for a row, and in which formats."""

from __future__ import annotations

import json
import re
from typing import IO, TYPE_CHECKING, Any

from smile_lite.rows import json_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from smile_lite.report import RowScore
    from smile_lite.rows import Row

__all__ = ["STYLES", "WRITERS", "inputs_of", "output_row"]


def inputs_of(row: Row) -> dict[str, Any]:
    """The row's own fields as they are written beside its score; those that it has not are left out."""
    fields = {
        "question": row.question,
        "references": list(row.references) if row.reason != "bad_row" else None,
        "prediction": row.prediction,
        "synthetic": list(row.synthetic) if any(row.synthetic) else None,
        "human": row.human,
    }
    return {name: value for name, value in fields.items() if value is not None}


def output_row(row: Row, score: RowScore) -> dict[str, Any]:
    """The score's fields, then the row's own, then what else came with it; one that has a name of ours gets
    `input_`.
    """
    written = {**score.to_dict(), **inputs_of(row)}
    ours = {*written, "question", "references", "prediction", "synthetic", "human"}
    for name, value in row.extra.items():
        while name in ours:
            name = f"input_{name}"
        written[name] = value
        ours.add(name)
    return written


def _write_jsonl(out: IO[str], scored: Iterator[tuple[Row, RowScore]]) -> None:
    for row, score in scored:
        out.write(json_line(output_row(row, score)))


def _write_json(out: IO[str], scored: Iterator[tuple[Row, RowScore]]) -> None:
    separator = "[\n"
    for row, score in scored:
        out.write(separator + json_line(output_row(row, score)).rstrip("\n"))
        separator = ",\n"
    out.write("\n]\n" if separator == ",\n" else "[]\n")


def _write_csv(out: IO[str], scored: Iterator[tuple[Row, RowScore]]) -> None:
    import csv

    rows = [output_row(row, score) for row, score in scored]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    # All text is quoted: a bare line end or semicolon would begin a new cell for some spreadsheets.
    table = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    table.writerow([_safe_cell(name) for name in columns])
    for row in rows:
        table.writerow([_safe_cell(row.get(name)) for name in columns])


_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)*([eE][+-]?\d+)?\s*%?")
_SURROGATE = re.compile("[\ud800-\udfff]")


def _safe_cell(value: Any) -> Any:
    """Lists and objects are JSON; text that a spreadsheet would run as a formula gets an apostrophe in front
    (OWASP); a number stays one.
    """
    if isinstance(value, (list, dict)):
        value = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, str):
        return value
    value = _SURROGATE.sub("\ufffd", value)
    return f"'{value}" if _FORMULA.match(value) and not _NUMBER.fullmatch(value) else value


def _write_table(out: IO[str], scored: Iterator[tuple[Row, RowScore]]) -> None:
    from shutil import get_terminal_size

    from smile_lite.report import format_table

    rows = list(scored)
    inputs = [
        (row.references[score.best_reference or 0] if row.references else "", row.prediction or "")
        for row, score in rows
    ]
    width = get_terminal_size((120, 40)).columns
    out.write(format_table([score for _, score in rows], inputs=inputs, width=width) + "\n")


WRITERS: dict[str, Callable[[IO[str], Iterator[tuple[Row, RowScore]]], None]] = {
    "jsonl": _write_jsonl,
    "json": _write_json,
    "csv": _write_csv,
    "table": _write_table,
}
STYLES = tuple(WRITERS)
