"""Parquet: columns with types, as JSON would have them."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any

from smile_lite.errors import InputError
from smile_lite.extras import require
from smile_lite.rows.csv_format import refuse_double_columns
from smile_lite.rows.fields import BadRow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from smile_lite.rows.source import Content, Source

__all__ = ["read_parquet"]


def read_parquet(source: Source) -> Iterator[Content]:
    """The rows, numbered from 1."""
    parquet = require("pyarrow.parquet", extra="parquet", purpose="reading Parquet")
    arrow = require("pyarrow", extra="parquet", purpose="reading Parquet")
    # pyarrow's own errors derive from these, but for a few
    broken = (OSError, ValueError, NotImplementedError, KeyError, TypeError, IndexError, arrow.ArrowException)
    with source.open() as stream:
        number = 0
        try:
            content = stream if _is_file(stream) else io.BytesIO(stream.read())
            file = parquet.ParquetFile(content)
            refuse_double_columns(file.schema_arrow.names, None)
            for batch in file.iter_batches(batch_size=1024):
                names = batch.schema.names
                columns = [_column(arrow, column).to_pylist() for column in batch.columns]
                for cells in zip(*columns, strict=True):
                    number += 1
                    yield _row(source, names, cells, number)
        except broken as error:
            if isinstance(error, InputError):
                raise
            where = number + 1 if number else None
            raise InputError(f"this is not Parquet that can be read: {error}", line=where) from None


def _is_file(stream: Any) -> bool:
    """Whether its end can be read first, at no cost."""
    return isinstance(stream, io.BufferedReader) and stream.seekable()


def _row(source: Source, names: list[str], cells: tuple[Any, ...], number: int) -> Content:
    row = {}
    for name, cell in zip(names, cells, strict=True):
        try:
            row[name] = _plain(cell)
        except UnicodeDecodeError:
            error = InputError(f"the column {name!r} holds bytes that are not UTF-8 text", line=number)
            if not source.skip_bad_rows:
                raise error from None
            return BadRow(number, error.at(file=source.name, unit="row"))
    return number, row


def _column(arrow: Any, column: Any) -> Any:
    """A column of dates, times or decimals as text: all of their precision, and no Python type that lacks it."""
    kind = column.type
    if arrow.types.is_temporal(kind) or arrow.types.is_decimal(kind):
        return column.cast(arrow.string())
    return column


def _plain(value: Any) -> Any:
    """A Parquet value as JSON has it: NaN is null, bytes are UTF-8 text. Raises UnicodeDecodeError."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):  # the entries of a map come as tuples
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8")
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
