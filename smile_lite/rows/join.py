"""A set of questions and a separate file of predictions, joined by id: nothing missing, extra or double goes unsaid."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from smile_lite.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from smile_lite.rows.fields import Row

__all__ = ["join_predictions"]

_SHOWN = 5


def join_predictions(
    rows: Iterable[Row],
    predictions: Iterable[Row],
    *,
    rows_file: str,
    predictions_file: str,
    allow_missing: bool = False,
) -> Iterator[Row]:
    """Yield `rows` in order, each with the prediction of the same id (compared as text: 1 is "1").

    Raises InputError that names the ids: two predictions for one id; predictions without a row, unless bad rows of
    the set may have been theirs; rows without a prediction, unless bad predictions may have been theirs or
    `allow_missing` is set, and then they come out unscored (`missing_prediction`).
    """
    by_id: dict[str, Row] = {}
    unreadable = 0
    for row in predictions:
        if row.reason == "bad_row":
            unreadable += 1
        elif by_id.setdefault(str(row.id), row) is not row:
            raise InputError(
                f"there are two predictions for id {row.id!r}", file=predictions_file, line=row.line, field="id"
            )
    kept = list(rows)
    known = {str(row.id) for row in kept if row.id is not None}
    nameless = sum(row.id is None for row in kept)  # bad rows of the set whose id could not be read
    extra = [one for one in by_id if one not in known]
    if len(extra) > nameless:
        raise InputError(
            f"{len(extra)} predictions have no row in {rows_file}: {_listed(extra)}", file=predictions_file, field="id"
        )
    unanswered = [str(row.id) for row in kept if row.reason != "bad_row" and str(row.id) not in by_id]
    if len(unanswered) > unreadable and not allow_missing:
        raise InputError(
            f"{len(unanswered)} rows of {rows_file} have no prediction: {_listed(unanswered)} "
            "(--allow-missing leaves them unscored)",
            file=predictions_file,
            field="id",
        )
    for row in kept:
        match = None if row.id is None else by_id.get(str(row.id))
        if match is None:
            yield replace(row, reason=row.reason or "missing_prediction")
        else:
            reason = row.reason or ("missing_prediction" if match.prediction is None else match.reason)
            yield replace(row, prediction=match.prediction, reason=reason, extra={**match.extra, **row.extra})


def _listed(ids: list[str]) -> str:
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return ", ".join(repr(one) for one in ids[:_SHOWN]) + more
