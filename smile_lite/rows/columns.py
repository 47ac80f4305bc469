"""Rows out of parallel lists, as a Python caller has them: a str where a list is expected is one item, never its
letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from smile_lite.errors import InputError, UsageError
from smile_lite.rows.fields import FieldMap, Row, row_from_mapping

__all__ = ["rows_from_columns"]

_NO_LIST = (bytes, bytearray, Mapping, Set)  # iterable, and yet no list of texts in an order


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
        columns["id"] = [ids] if single and not isinstance(ids, Iterable) else _listed("ids", ids)
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
    if not isinstance(values, Iterable) or isinstance(values, _NO_LIST) or getattr(values, "ndim", 1) != 1:
        kind = type(values).__name__ if getattr(values, "ndim", 1) == 1 else f"{values.ndim}-dimensional"  # type: ignore[attr-defined]
        raise UsageError(f"{name} must be text or a list of texts, not {kind}")
    return list(values)


def _whole(value: Any) -> Any:
    """The references of a single row: text, or several of them."""
    return value if isinstance(value, (str, *_NO_LIST)) or not isinstance(value, Iterable) else list(value)


def _plain(value: Any) -> Any:
    """Missing values of data frames (NaN, NA, NaT) are null; tuples and arrays of texts are lists."""
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, (str, *_NO_LIST)):
        return value
    if isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0:
        return [_plain(item) for item in value]
    plain = value.item() if hasattr(value, "item") else value
    return None if isinstance(plain, float) and plain != plain else plain


def _refuse_duplicates(rows: Iterable[Row]) -> None:
    seen: dict[str, int] = {}
    for position, row in enumerate(rows, start=1):
        if seen.setdefault(str(row.id), position) != position:
            raise InputError(
                f"id {row.id!r} was already used in row {seen[str(row.id)]}", line=position, field="id", unit="row"
            )
