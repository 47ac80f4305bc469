"""What each file format makes of a row: a line number and a mapping, or the reason why there is none."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from smile_lite.errors import InputError, UsageError
from smile_lite.extras import require
from smile_lite.rows.fields import BadRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from smile_lite.rows.fields import FieldMap

__all__ = ["READERS", "Content", "Source"]

Content = tuple[int, Any] | BadRow
_BYTE_ORDER_MARKS = {  # the longer first: that of UTF-32 begins with that of UTF-16
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read, and how. `name` is for messages."""

    path: str | Path
    name: str
    encoding: str
    fields: FieldMap
    skip_bad_rows: bool
    on_bytes: Callable[[int], object] | None

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Its bytes. Raises InputError where there is no such file, or it cannot be read."""
        if str(self.path) == "-":
            yield sys.stdin.buffer if sys.stdin is not None else io.BytesIO()
            return
        try:
            stream = Path(self.path).open("rb")  # noqa: SIM115 - closed below; errors of opening are told apart
        except FileNotFoundError:
            raise InputError("there is no such file") from None
        except (OSError, ValueError) as error:
            raise InputError(f"it cannot be read: {getattr(error, 'strerror', None) or error}") from None
        with stream:
            yield stream

    def lines(self) -> Iterator[tuple[int, str]]:
        """Decoded lines with their numbers, ends kept, the byte order mark of UTF-8 dropped."""
        with self.open() as stream:
            if self.encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
                for number, line in enumerate(stream, start=1):
                    if self.on_bytes is not None:
                        self.on_bytes(len(line))
                    yield number, _decode(line, number)
                return
            try:
                text = io.TextIOWrapper(stream, encoding=self.encoding, newline="")
                yield from enumerate(text, start=1)
                text.detach()
            except LookupError:
                raise UsageError(f"no encoding is called {self.encoding!r}") from None
            except UnicodeError as error:
                raise InputError(f"it is not {self.encoding}: {error}") from None


def _decode(line: bytes, number: int) -> str:
    if number == 1:
        for mark, encoding in _BYTE_ORDER_MARKS.items():
            if line.startswith(mark):
                raise InputError(
                    f"it is not UTF-8; it looks like {encoding}: use --encoding {encoding.lower()}", line=number
                )
        line = line.removeprefix(b"\xef\xbb\xbf")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"it is not UTF-8 (byte 0x{line[error.start]:02x} at column {error.start + 1}): use --encoding, "
            "for example --encoding cp1252",
            line=number,
        ) from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return made


def _finite(number: str) -> float | None:
    value = float(number)
    return value if math.isfinite(value) else None


# Strict JSON, but for NaN and Infinity, which other tools write for a missing value: they become null.
_JSON = json.JSONDecoder(parse_constant=lambda _: None, parse_float=_finite, object_pairs_hook=_unique)


def _parse(text: str, line: int, start: int = 0) -> tuple[Any, int]:
    """The JSON value at `start` of `text`, which lies in `line`, and where it ends. Raises InputError."""
    try:
        return _JSON.raw_decode(text, start)
    except json.JSONDecodeError as error:
        at = line + text.count("\n", start, error.pos)
        raise InputError(f"this is not JSON: {error.msg} (column {error.colno})", line=at) from None
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(f"this JSON cannot be read: {reason}", line=line) from None


def _read_jsonl(source: Source) -> Iterator[Content]:
    for number, line in source.lines():
        text = line.strip()
        if not text:
            continue
        try:
            parsed, end = _parse(text, number)
            if end != len(text):
                raise InputError(f"this is not JSON: there is more behind the value (column {end + 1})", line=number)
        except InputError as error:
            if not source.skip_bad_rows:
                raise
            yield BadRow(number, error.at(file=source.name))
            continue
        if number == 1 and isinstance(parsed, list):
            raise InputError("this is a JSON array, not JSONL: use --input-format json", line=1)
        yield number, parsed


_JSON_SPACE = " \t\r\n"


def _read_json(source: Source) -> Iterator[Content]:
    text = "".join(line for _, line in source.lines())
    at = len(text) - len(text.lstrip(_JSON_SPACE))
    if at == len(text):
        return
    if text[at] == "[":
        yield from _elements(text, at)
        return
    parsed, end = _parse(text, 1 + text.count("\n", 0, at), at)
    if text[end:].strip(_JSON_SPACE):
        raise InputError("this is not one JSON value: use --input-format jsonl", line=1 + text.count("\n", 0, end))
    held = parsed.values() if isinstance(parsed, dict) else ()
    rows = next((one for one in held if isinstance(one, list) and one and all(isinstance(r, dict) for r in one)), None)
    if rows is None and not isinstance(parsed, dict):
        raise InputError("a JSON file must hold an array of rows")
    yield from enumerate([parsed] if rows is None else rows, start=1)


def _elements(text: str, at: int) -> Iterator[Content]:
    """The elements of the array that opens at `at`, each with the line on which it begins."""
    line, counted, first = 1, 0, True
    at += 1
    while True:
        while at < len(text) and text[at] in _JSON_SPACE:
            at += 1
        line, counted = line + text.count("\n", counted, at), at
        if text[at : at + 1] == "]":
            break
        if not first:
            if text[at : at + 1] != ",":
                raise InputError("this is not JSON: a comma or the closing bracket of the array is missing", line=line)
            at += 1
            while at < len(text) and text[at] in _JSON_SPACE:
                at += 1
            line, counted = line + text.count("\n", counted, at), at
        parsed, at = _parse(text, line, at)
        yield line, parsed
        first = False
    if text[at + 1 :].strip(_JSON_SPACE):
        raise InputError("this is not JSON: there is more behind the array", line=line)


def _separated(kind: str, separator: str) -> Callable[[Source], Iterator[Content]]:
    def read(source: Source) -> Iterator[Content]:
        csv.field_size_limit(2**31 - 1)
        table = csv.reader((line for _, line in source.lines()), delimiter=separator, strict=True)
        header: list[str] | None = None
        lists: frozenset[str] = frozenset()
        start = 1
        try:
            for cells in table:
                line, start = start, table.line_num + 1
                if not cells:
                    continue
                if header is None:
                    header = [cell.strip() for cell in cells]
                    _refuse_double_columns(header)
                    lists = frozenset(
                        (
                            *source.fields.columns_of("references", header),
                            *source.fields.columns_of("synthetic", header),
                        )
                    )
                    numbers = frozenset(source.fields.columns_of("human", header))
                    continue
                if len(cells) != len(header):
                    error = InputError(f"{len(cells)} cells where the header has {len(header)}", line=line)
                    if not source.skip_bad_rows:
                        raise error
                    yield BadRow(line, error.at(file=source.name))
                    continue
                yield (
                    line,
                    {
                        name: _list_cell(cell) if name in lists else _number_cell(cell) if name in numbers else cell
                        for name, cell in zip(header, cells, strict=True)
                    },
                )
        except csv.Error as error:
            raise InputError(f"this is not {kind}: {error}", line=start) from None

    return read


def _refuse_double_columns(names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"the column {twice[0]!r} stands twice", line=1)


def _list_cell(cell: str) -> Any:
    """A JSON list of texts in a cell is that list; anything else is text."""
    if cell.startswith("[") and cell.endswith("]"):
        try:
            listed = json.loads(cell)
        except (ValueError, RecursionError):
            return cell
        if listed and all(isinstance(item, str) for item in listed):
            return listed
    return cell


def _number_cell(cell: str) -> Any:
    try:
        return _finite(cell) if cell.strip() else None
    except ValueError:
        return cell


def _read_parquet(source: Source) -> Iterator[Content]:
    parquet = require("pyarrow.parquet", extra="parquet", purpose="reading Parquet")
    arrow = require("pyarrow", extra="parquet", purpose="reading Parquet")
    with source.open() as stream:
        content = stream if stream.seekable() else io.BytesIO(stream.read())
        number = 0
        try:
            file = parquet.ParquetFile(content)
            _refuse_double_columns(file.schema_arrow.names)
            for batch in file.iter_batches(batch_size=1024):
                columns = [_column(arrow, column).to_pylist() for column in batch.columns]
                for cells in zip(*columns, strict=True):
                    number += 1
                    yield number, dict(zip(batch.schema.names, map(_plain, cells), strict=True))
        except (OSError, ValueError, NotImplementedError) as error:  # pyarrow's own errors derive from these
            if isinstance(error, InputError):
                raise
            raise InputError(f"this is not Parquet that can be read: {error}", line=number + 1) from None


def _column(arrow: Any, column: Any) -> Any:
    """A column of dates, times or decimals as text: all of their precision, and no Python type that lacks it."""
    kind = column.type
    if arrow.types.is_temporal(kind) or arrow.types.is_decimal(kind):
        return column.cast(arrow.string())
    return column


def _plain(value: Any) -> Any:
    """A Parquet value as JSON has it: NaN is null, bytes are UTF-8 text."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            raise InputError("a column holds bytes that are not UTF-8 text") from None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


READERS: dict[str, Callable[[Source], Iterator[Content]]] = {
    "jsonl": _read_jsonl,
    "json": _read_json,
    "csv": _separated("CSV", ","),
    "tsv": _separated("TSV", "\t"),
    "parquet": _read_parquet,
}
