"""Files into rows, one at a time: from a path or standard input, with the place of whatever is wrong."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smile_lite.errors import InputError, UsageError
from smile_lite.rows.fields import BadRow, FieldMap, Row, row_from_mapping
from smile_lite.rows.formats import READERS
from smile_lite.rows.source import Source, is_packed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from smile_lite.rows.source import Content

__all__ = ["FORMATS", "ReadOptions", "display_name", "has_known_ending", "read_rows"]

_ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
FORMATS = tuple(dict.fromkeys(_ENDINGS.values()))
_REMEDIES = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".ods", ".numbers"), "a workbook is not read: save it as CSV"),
    **dict.fromkeys((".zip", ".tar", ".bz2", ".xz", ".zst", ".7z"), "an archive is not read: unpack it"),
}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a file is read. `format` None means by its ending (standard input: JSONL)."""

    format: str | None = None
    encoding: str = "utf-8"
    fields: FieldMap = field(default_factory=FieldMap)
    required: tuple[str, ...] = ("references", "prediction")
    skip_bad_rows: bool = False
    allow_duplicate_ids: bool = False


def read_rows(
    path: str | Path, options: ReadOptions | None = None, *, on_bytes: Callable[[int], object] | None = None
) -> Iterator[Row]:
    """Yield the rows of `path` (`-` for standard input) in order; `on_bytes` hears how much of the file was read.

    Raises InputError with file, line and field for whatever is wrong in it: missing, empty, not in its encoding, a
    broken line, a field of the wrong type, an id twice. With `skip_bad_rows` a bad row is yielded unscorable
    (`reason` "bad_row", the message in `extra["error"]`). A name that ends in .gz is that of a file packed with gzip.
    """
    options = options or ReadOptions()
    name, kind = display_name(path), _format_of(path, options)
    unit = "row" if kind == "parquet" else "line"
    source = Source(path, name, options.encoding, options.fields, options.skip_bad_rows, on_bytes)
    seen: dict[str, int] = {}
    number = 0
    try:
        for number, content in enumerate(READERS[kind](source), start=1):
            row = _to_row(content, number, options, name, unit)
            if row.id is not None and not options.allow_duplicate_ids:
                _refuse_twice(row, seen, unit)
            yield row
    except InputError as error:
        raise error.at(file=name, unit=unit) from None
    if not number:
        raise InputError("there are no rows in it", file=name)


def display_name(path: str | Path) -> str:
    """What messages call a file."""
    return "standard input" if str(path) == "-" else str(path)


def has_known_ending(path: str | Path) -> bool:
    """Whether a file's ending tells its format."""
    return _ending(path) in _ENDINGS


def _ending(path: str | Path) -> str:
    """The ending that tells the format: the one before .gz."""
    name = Path(path)
    return (name.with_suffix("") if is_packed(name) else name).suffix.lower()


def _format_of(path: str | Path, options: ReadOptions) -> str:
    kind = options.format or ("jsonl" if str(path) == "-" else _ENDINGS.get(_ending(path)))
    if kind is None:
        if not os.path.lexists(path):
            raise InputError("there is no such file", file=str(path))
        if Path(path).is_dir():
            raise InputError("it is a folder: name a file in it", file=str(path))
        remedy = _REMEDIES.get(Path(path).suffix.lower(), f"choose with --input-format {'|'.join(FORMATS)}")
        raise InputError(f"its ending does not tell the format: {remedy}", file=str(path))
    if kind not in FORMATS:
        raise UsageError(f"no input format is called {kind!r}; the formats are {', '.join(FORMATS)}")
    return kind


def _to_row(content: Content, number: int, options: ReadOptions, name: str, unit: str) -> Row:
    if isinstance(content, BadRow):
        return content.as_row()
    line, raw = content
    try:
        if isinstance(raw, dict):
            return row_from_mapping(raw, options.fields, number=number, line=line, required=options.required)
        raise InputError(f"a row must be a JSON object, not {json.dumps(raw, ensure_ascii=False)[:60]}", line=line)
    except InputError as error:
        if options.skip_bad_rows:
            return BadRow(line, error.at(file=name, unit=unit), _id_of(raw, options.fields)).as_row()
        raise


def _id_of(raw: Any, fields: FieldMap) -> str | int | None:
    """The id of a row that is wrong otherwise."""
    columns = fields.columns_of("id", raw) if isinstance(raw, dict) else ()
    value = raw[columns[0]] if columns else None
    return value if isinstance(value, (str, int)) and not isinstance(value, bool) else None


def _refuse_twice(row: Row, seen: dict[str, int], unit: str) -> None:
    line = row.line or 0
    first = seen.setdefault(str(row.id), line)
    if first != line:
        raise InputError(
            f"id {row.id!r} was already used in {unit} {first} (a row without an id has its number for one; "
            "--allow-duplicate-ids lets it pass)",
            line=line,
            field="id",
        )
