"""Files into rows: JSONL, JSON, CSV, TSV and Parquet, from a path or from standard input, one row at a time."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from smile_lite.errors import InputError, UsageError
from smile_lite.extras import require
from smile_lite.rows.fields import BadRow, FieldMap, row_from_mapping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from smile_lite.rows.fields import Row

__all__ = ["FORMATS", "ReadOptions", "display_name", "read_rows"]

_SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
FORMATS = tuple(dict.fromkeys(_SUFFIXES.values()))
_LIST_COLUMNS = frozenset({"references", "answers", "synthetic"})  # a CSV cell of these may hold a JSON list
_BYTE_ORDER_MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


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
    (`reason` "bad_row", the message in `extra["error"]`).
    """
    options = options or ReadOptions()
    name = display_name(path)
    kind = _format_of(path, options)
    seen: dict[str, int] = {}
    count = 0
    for number, item in enumerate(_READERS[kind](path, name, options, on_bytes), start=1):
        count = number
        row = _to_row(item, number, name, options)
        if row.reason != "bad_row" and not options.allow_duplicate_ids:
            first = seen.setdefault(str(row.id), row.line or number)
            if first != (row.line or number):
                raise InputError(
                    f"id {row.id!r} was already used in line {first} (--allow-duplicate-ids lets it pass)",
                    file=name,
                    line=row.line,
                    field="id",
                )
        yield row
    if not count:
        raise InputError("there are no rows in it", file=name)


def display_name(path: str | Path) -> str:
    """What messages call a file."""
    return "standard input" if str(path) == "-" else str(path)


def _to_row(item: tuple[int, Any] | BadRow, number: int, name: str, options: ReadOptions) -> Row:
    if isinstance(item, BadRow):
        return item.as_row(number)
    line, raw = item
    try:
        _require_object(raw, name, line)
        return row_from_mapping(raw, options.fields, number=number, file=name, line=line, required=options.required)
    except InputError as error:
        if options.skip_bad_rows:
            return BadRow(line, error).as_row(number)
        raise


def _require_object(raw: Any, name: str, line: int) -> None:
    if not isinstance(raw, dict):
        raise InputError(f"a row must be a JSON object, not {json.dumps(raw)[:60]}", file=name, line=line)


def _format_of(path: str | Path, options: ReadOptions) -> str:
    kind = options.format or ("jsonl" if str(path) == "-" else _SUFFIXES.get(Path(path).suffix.lower()))
    if kind is None:
        raise InputError(
            f"its ending does not tell the format: choose with --input-format {'|'.join(FORMATS)}",
            file=str(path),
        )
    if kind not in FORMATS:
        raise UsageError(f"no input format is called {kind!r}; the formats are {', '.join(FORMATS)}")
    return kind


@contextmanager
def _open(path: str | Path, name: str) -> Iterator[IO[bytes]]:
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    try:
        stream = Path(path).open("rb")  # noqa: SIM115 - closed below; errors of opening are told apart
    except FileNotFoundError:
        raise InputError("there is no such file", file=name) from None
    except OSError as error:
        raise InputError(f"it cannot be read: {error.strerror}", file=name) from None
    with stream:
        yield stream


def _decoded_lines(
    path: str | Path, name: str, options: ReadOptions, on_bytes: Callable[[int], object] | None
) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, ends kept, the byte order mark of UTF-8 dropped."""
    with _open(path, name) as stream:
        if options.encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
            for number, line in enumerate(stream, start=1):
                if on_bytes is not None:
                    on_bytes(len(line))
                yield number, _decode(line, number, name)
            return
        try:
            text = io.TextIOWrapper(stream, encoding=options.encoding, newline="")
            for number, decoded in enumerate(text, start=1):
                yield number, decoded
            text.detach()
        except LookupError:
            raise UsageError(f"no encoding is called {options.encoding!r}") from None
        except UnicodeError as error:
            raise InputError(f"it is not {options.encoding}: {error}", file=name) from None


def _decode(line: bytes, number: int, name: str) -> str:
    if number == 1:
        for mark, encoding in _BYTE_ORDER_MARKS.items():
            if line.startswith(mark):
                raise InputError(
                    f"it is not UTF-8; it looks like {encoding}: use --encoding {encoding.lower()}",
                    file=name,
                    line=1,
                )
        line = line.removeprefix(b"\xef\xbb\xbf")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"it is not UTF-8 (byte 0x{line[error.start]:02x} at column {error.start + 1}): use --encoding, "
            "for example --encoding cp1252",
            file=name,
            line=number,
        ) from None


def _parse_json(text: str, name: str, line: int) -> Any:
    """Strict JSON, but for NaN and Infinity, which other tools write for a missing value: they become null."""
    try:
        return json.loads(text, parse_constant=lambda _: None)
    except json.JSONDecodeError as error:
        raise InputError(
            f"this is not JSON: {error.msg} (column {error.colno})", file=name, line=line + error.lineno - 1
        ) from None
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(f"this JSON cannot be read: {reason}", file=name, line=line) from None


def _read_jsonl(
    path: str | Path, name: str, options: ReadOptions, on_bytes: Callable[[int], object] | None
) -> Iterator[tuple[int, Any] | BadRow]:
    for number, line in _decoded_lines(path, name, options, on_bytes):
        if not line.strip():
            continue
        try:
            parsed = _parse_json(line.rstrip("\r\n"), name, number)
        except InputError as error:
            if not options.skip_bad_rows:
                raise
            yield BadRow(number, error)
            continue
        if number == 1 and isinstance(parsed, list):
            raise InputError("this is a JSON array, not JSONL: use --input-format json", file=name, line=1)
        yield number, parsed


def _read_json(
    path: str | Path, name: str, options: ReadOptions, on_bytes: Callable[[int], object] | None
) -> Iterator[tuple[int, Any] | BadRow]:
    text = "".join(line for _, line in _decoded_lines(path, name, options, on_bytes))
    if not text.strip():
        return
    parsed = _parse_json(text, name, 1)
    if isinstance(parsed, dict):
        parsed = next((value for value in parsed.values() if isinstance(value, list)), [parsed])
    if not isinstance(parsed, list):
        raise InputError("a JSON file must hold an array of rows", file=name)
    yield from enumerate(parsed, start=1)


def _read_separated(separator: str) -> Callable[..., Iterator[tuple[int, Any] | BadRow]]:
    def read(
        path: str | Path, name: str, options: ReadOptions, on_bytes: Callable[[int], object] | None
    ) -> Iterator[tuple[int, Any] | BadRow]:
        csv.field_size_limit(2**31 - 1)
        lines = _decoded_lines(path, name, options, on_bytes)
        table = csv.reader((line for _, line in lines), delimiter=separator, strict=True)
        header: list[str] | None = None
        start = 1
        try:
            for cells in table:
                line, start = start, table.line_num + 1
                if not cells:
                    continue
                if header is None:
                    header = [cell.strip() for cell in cells]
                    _check_header(header, name)
                    continue
                if len(cells) != len(header):
                    error = InputError(f"{len(cells)} cells where the header has {len(header)}", file=name, line=line)
                    if not options.skip_bad_rows:
                        raise error
                    yield BadRow(line, error)
                    continue
                yield line, {key: _cell(key, cell) for key, cell in zip(header, cells, strict=True)}
        except csv.Error as error:
            raise InputError(f"this is not {name.rpartition('.')[2].upper()}: {error}", file=name, line=start) from None

    return read


def _check_header(header: list[str], name: str) -> None:
    twice = sorted({column for column in header if header.count(column) > 1})
    if twice:
        raise InputError(f"the column {twice[0]!r} stands twice in the header", file=name, line=1)


def _cell(column: str, cell: str) -> Any:
    if column == "human":
        try:
            return float(cell) if cell.strip() else None
        except ValueError:
            return cell
    if column in _LIST_COLUMNS and cell.startswith("[") and cell.endswith("]"):
        try:
            listed = json.loads(cell)
        except ValueError:
            return cell
        if isinstance(listed, list) and all(isinstance(item, str) for item in listed):
            return listed
    return cell


def _read_parquet(
    path: str | Path,
    name: str,
    options: ReadOptions,  # noqa: ARG001 - readers share one signature
    on_bytes: Callable[[int], object] | None,  # noqa: ARG001
) -> Iterator[tuple[int, Any] | BadRow]:
    parquet = require("pyarrow.parquet", extra="parquet", purpose="reading Parquet")
    with _open(path, name) as stream:
        source = io.BytesIO(stream.read()) if str(path) == "-" else stream
        number = 0
        try:
            for batch in parquet.ParquetFile(source).iter_batches(batch_size=1024):
                for raw in batch.to_pylist():
                    number += 1
                    yield number, _plain(raw)
        except (OSError, ValueError) as error:  # pyarrow's own errors derive from these
            raise InputError(f"this is not Parquet: {error}", file=name) from None


def _plain(value: Any) -> Any:
    """A Parquet value as JSON has it: NaN is null, dates and bytes are text."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


_READERS: dict[str, Callable[..., Iterator[tuple[int, Any] | BadRow]]] = {
    "jsonl": _read_jsonl,
    "json": _read_json,
    "csv": _read_separated(","),
    "tsv": _read_separated("\t"),
    "parquet": _read_parquet,
}
