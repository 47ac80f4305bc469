"""CSV and TSV: a header, then rows of as many cells; what is in a cell stays text."""

from __future__ import annotations

import csv
import json
import re
from itertools import chain
from typing import TYPE_CHECKING, Any

from smile_lite.errors import InputError
from smile_lite.rows.fields import FIELD_ALIASES, BadRow
from smile_lite.rows.json_format import finite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from smile_lite.rows.fields import FieldMap
    from smile_lite.rows.source import Content, Source

__all__ = ["refuse_double_columns", "separated"]

_SEPARATORS = ",;\t|"
_EXCEL_SEPARATOR = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)


def separated(kind: str, separator: str) -> Callable[[Source], Iterator[Content]]:
    """A reader of tables in which `separator` stands between the cells, or another that the header tells of."""

    def read(source: Source) -> Iterator[Content]:
        csv.field_size_limit(2**31 - 1)
        undecoded: list[InputError] = []
        chosen, lines = _separator(_checked(source, undecoded), separator, source.fields)
        table = csv.reader(lines, delimiter=chosen, strict=True)
        columns: _Columns | None = None
        start = 1
        while True:
            line = start
            try:
                cells = next(table, None)
                start = table.line_num + 1
                if cells is None:
                    return
                if undecoded:
                    raise undecoded.pop()
                if columns is None:
                    if any(map(str.strip, cells)):
                        columns = _Columns(cells, source.fields, line)
                    continue
                if len(cells) < 2 and not any(map(str.strip, cells)) and (not cells or len(columns.names) > 1):
                    continue
                if len(cells) != len(columns.names):
                    raise InputError(f"{len(cells)} cells where the header has {len(columns.names)}", line=line)
            except (csv.Error, InputError) as problem:
                error = _told(problem, kind, line)
                if not source.skip_bad_rows or columns is None or _never_closed(problem):
                    raise error from None
                start = table.line_num + 1
                undecoded.clear()
                yield BadRow(line, error.at(file=source.name))
            else:
                yield line, columns.row(cells)

    return read


def _checked(source: Source, undecoded: list[InputError]) -> Iterator[str]:
    for number, line in source.lines(keep_ends=True):
        if (wrong := source.undecoded(line, number)) and not undecoded:
            undecoded.append(wrong)
        yield line


def _never_closed(problem: Exception) -> bool:
    return isinstance(problem, csv.Error) and "unexpected end of data" in str(problem)


def _told(problem: Exception, kind: str, line: int) -> InputError:
    if isinstance(problem, InputError):
        return problem
    if _never_closed(problem):
        return InputError(f"this is not {kind}: a quote that opens in this row is never closed", line=line)
    return InputError(f"this is not {kind}: {problem}", line=line)


def _separator(lines: Iterator[str], separator: str, fields: FieldMap) -> tuple[str, Iterator[str]]:
    """What stands between the cells: `separator`, unless the header is one cell of it (or none that is sound) that is
    no column of a row, and several of another (spreadsheets write semicolons where the comma is a decimal's).
    """
    blank: list[str] = []
    for line in lines:
        if stated := _EXCEL_SEPARATOR.fullmatch(line):
            return stated[1], chain(blank, ["\n"], lines)  # the numbers of the lines stay
        if line.strip():
            return _choose(line, separator, fields), chain(blank, [line], lines)
        blank.append(line)
    return separator, iter(blank)


def _choose(header: str, separator: str, fields: FieldMap) -> str:
    def cells(by: str) -> list[str]:
        try:
            return next(csv.reader([header], delimiter=by, strict=True), [])
        except csv.Error:
            return []

    names = [name.strip() for name in cells(separator)]
    if len(names) > 1 or any(fields.columns_of(name, names) for name in FIELD_ALIASES):
        return separator
    best = max(_SEPARATORS, key=lambda by: len(cells(by)))
    return best if len(cells(best)) > 1 else separator


class _Columns:
    """The header, and what is made of a cell of each column. A column without a name is called by its place."""

    def __init__(self, header: Sequence[str], fields: FieldMap, line: int) -> None:
        self.names = [cell.strip() or f"column {place}" for place, cell in enumerate(header, start=1)]
        refuse_double_columns(self.names, line)
        makers = {"references": _list_cell, "synthetic": _list_cell, "human": _number_cell, "id": _id_cell}
        self._makers = {name: maker for field, maker in makers.items() for name in fields.columns_of(field, self.names)}

    def row(self, cells: Sequence[str]) -> dict[str, Any]:
        """The cells by name."""
        return {
            name: self._makers[name](cell) if name in self._makers else cell
            for name, cell in zip(self.names, cells, strict=True)
        }


def refuse_double_columns(names: Sequence[str], line: int | None = 1) -> None:
    """Raises InputError where two columns have one name."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"the column {twice[0]!r} stands twice", line=line)


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
        return finite(cell) if cell.strip() else None
    except ValueError:
        return cell


def _id_cell(cell: str) -> str | None:
    return cell if cell.strip() else None
