"""Rows out of parallel lists, as a Python caller has them: a str where a list is expected is one item, never its
letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from smile_lite.errors import InputError, UsageError
from smile_lite.rows.fields import FieldMap, Row, row_from_mapping

__all__ = ["rows_from_columns"]


def rows_from_columns(
    predictions: str | Iterable[str | None],
    references: str | Iterable[str | Sequence[str] | None],
    questions: str | Iterable[str | None] | None = None,
    synthetic: str | Iterable[str | Sequence[str | None] | None] | None = None,
    ids: str | int | Iterable[str | int] | None = None,
) -> list[Row]:
    """One Row for each prediction. A single str as `predictions` is one row, and then a list as `references` (or
    `synthetic`) belongs to that row.

    Raises UsageError where the lengths differ, InputError (row 1 is the first) for a value that is no text.
    """
    single = isinstance(predictions, str)
    columns: dict[str, list[Any]] = {
        "prediction": [predictions] if single else _listed("predictions", predictions),
        "references": [_whole(references)] if single else _listed("references", references),
    }
    if questions is not None:
        columns["question"] = _listed("questions", questions)
    if synthetic is not None:
        columns["synthetic"] = [_whole(synthetic)] if single else _listed("synthetic", synthetic)
    if ids is not None:
        columns["id"] = [ids] if isinstance(ids, (str, int)) else _listed("ids", ids)
    count = len(columns["prediction"])
    for name, values in columns.items():
        if len(values) != count:
            raise UsageError(f"there are {count} predictions and {len(values)} values for {name}: one a row is needed")
    fields = FieldMap()
    rows = []
    for position, cells in enumerate(zip(*columns.values(), strict=True), start=1):
        raw = {name: _plain(value) for name, value in zip(columns, cells, strict=True)}
        rows.append(_row(raw, fields, position))
    _refuse_duplicates(rows)
    return rows


def _row(raw: dict[str, Any], fields: FieldMap, position: int) -> Row:
    try:
        return row_from_mapping(raw, fields, number=position, line=position)
    except InputError as error:
        raise error.at(unit="row") from None


def _listed(name: str, values: object) -> list[Any]:
    if isinstance(values, str):
        return [values]
    if not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0:
        raise UsageError(f"{name} must be text or a list of texts, not {type(values).__name__}")
    return list(values)


def _whole(value: Any) -> Any:
    """The references of a single row: text, or several of them."""
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else value


def _plain(value: Any) -> Any:
    """Missing values of data frames (NaN) are null; tuples and arrays of texts are lists."""
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, str) or not isinstance(value, Iterable) or isinstance(value, dict):
        return value.item() if hasattr(value, "item") else value
    return [_plain(item) for item in value]


def _refuse_duplicates(rows: Iterable[Row]) -> None:
    seen: dict[str, int] = {}
    for position, row in enumerate(rows, start=1):
        if seen.setdefault(str(row.id), position) != position:
            raise InputError(
                f"id {row.id!r} was already used in row {seen[str(row.id)]}", line=position, field="id", unit="row"
            )
