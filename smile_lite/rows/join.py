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

    Raises InputError that names the ids: predictions without a row always; rows without a prediction unless
    `allow_missing`, which leaves those unscored (`missing_prediction`).
    """
    by_id = {str(row.id): row for row in predictions}
    kept = list(rows)
    unanswered = [str(row.id) for row in kept if row.reason != "bad_row" and str(row.id) not in by_id]
    extra = sorted(by_id.keys() - {str(row.id) for row in kept}, key=list(by_id).index)
    if extra:
        raise InputError(
            f"{len(extra)} predictions have no row in {rows_file}: {_listed(extra)}",
            file=predictions_file,
            field="id",
        )
    if unanswered and not allow_missing:
        raise InputError(
            f"{len(unanswered)} rows of {rows_file} have no prediction: {_listed(unanswered)} "
            "(--allow-missing leaves them unscored)",
            file=predictions_file,
            field="id",
        )
    for row in kept:
        match = by_id.get(str(row.id))
        if match is None:
            yield replace(row, reason=row.reason or "missing_prediction")
        else:
            reason = row.reason or ("missing_prediction" if match.prediction is None else match.reason)
            yield replace(row, prediction=match.prediction, reason=reason, extra={**match.extra, **row.extra})


def _listed(ids: list[str]) -> str:
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return ", ".join(repr(one) for one in ids[:_SHOWN]) + more
