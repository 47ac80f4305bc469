"""Predictions onto the rows of a prepared set: by id, or by question where there are no ids; nothing goes unsaid."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from smile_lite.errors import InputError
from smile_lite.text import split_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from smile_lite.prepared.folder import PreparedSet
    from smile_lite.rows import Row

__all__ = ["JOIN_BY", "Joined", "join_prepared"]

JOIN_BY = ("auto", "id", "question")
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Joined:
    """One row a prediction, in their order. by: "id" or "question". unanswered: ids of the prepared rows that no
    prediction belongs to; unknown: ids of the predictions that belong to no prepared row.
    """

    rows: tuple[Row, ...]
    by: str
    unanswered: tuple[str, ...]
    unknown: tuple[str, ...]

    def notices(self) -> list[str]:
        """What did not join, a line each."""
        found = []
        if self.unknown:
            found.append(f"{len(self.unknown)} predictions are not in the prepared set: {_listed(self.unknown)}")
        if self.unanswered:
            found.append(f"{len(self.unanswered)} prepared rows have no prediction: {_listed(self.unanswered)}")
        return found


def join_prepared(
    prepared: PreparedSet,
    predictions: Iterable[Row],
    *,
    by: str = "auto",
    allow_missing: bool = False,
    file: str | None = None,
) -> Joined:
    """Each prediction with question, references and synthetic answers of its prepared row.

    by "auto": by id where every row on both sides has one of its own (a line's number is none), else by question.
    Raises InputError for a row whose own question, references or synthetic answers are others than the prepared ones,
    and, unless `allow_missing`, where a row of either side has no partner; with it such a prediction comes out unscored
    (`not_prepared`).
    """
    given = list(predictions)
    usable = [row for row in given if row.reason != "bad_row"]
    if by == "auto":
        by = "question" if any(row.numbered for row in (*usable, *prepared.rows)) else "id"
    table = _by_question(prepared.rows, prepared) if by == "question" else {str(row.id): row for row in prepared.rows}
    joined, used, unknown = [], set(), []
    for row in given:
        if row.reason == "bad_row":
            joined.append(row)
            continue
        match = table.get(_key(row, by, file))
        if match is None:
            unknown.append(str(row.id))
            joined.append(replace(row, reason="not_prepared"))
            continue
        used.add(match.line)
        joined.append(_merged(row, match, file))
    unanswered = [str(row.id) for row in table.values() if row.line not in used]
    result = Joined(tuple(joined), by, tuple(unanswered), tuple(unknown))
    unreadable = len(given) - len(usable)
    if not allow_missing and (unknown or len(unanswered) > unreadable):
        raise InputError(
            f"joined by {by}: {'; '.join(result.notices())} (--allow-missing goes on without them)", file=file, field=by
        )
    return result


def _key(row: Row, by: str, file: str | None) -> str:
    if by == "id":
        if row.numbered:
            raise InputError("the row has no id to join by", file=file, line=row.line, field="id")
        return str(row.id)
    if not _asked(row.question):
        raise InputError("the row has neither id nor question to join by", file=file, line=row.line, field="question")
    return _asked(row.question)


def _asked(question: str | None) -> str:
    """The words of a question: case, spaces and punctuation do not make it another."""
    return " ".join(split_words(question or "").keys)


def _by_question(rows: Sequence[Row], prepared: PreparedSet) -> Mapping[str, Row]:
    table: dict[str, Row] = {}
    for row in rows:
        if row.question is None:
            continue
        first = table.setdefault(_asked(row.question), row)
        if (first.references, first.synthetic) != (row.references, row.synthetic):
            raise InputError(
                f"rows {first.id!r} and {row.id!r} have one question and different references: a join needs ids",
                file=str(prepared.folder),
                field="question",
            )
    return table


def _merged(row: Row, match: Row, file: str | None) -> Row:
    ours = {"question": _asked(match.question), "references": match.references, "synthetic": match.synthetic}
    theirs = {
        "question": _asked(row.question),
        "references": row.references,
        "synthetic": row.synthetic if any(row.synthetic) else (),
    }
    for name, value in theirs.items():
        if value and value != ours[name]:
            raise InputError(
                f"its {name} is not what was prepared for {match.id!r}: the prepared set is of another state of the "
                "data, prepare it again",
                file=file,
                line=row.line,
                field=name,
            )
    return replace(
        match,
        id=row.id,
        numbered=row.numbered,
        prediction=row.prediction,
        human=row.human,
        reason=row.reason,
        extra={**match.extra, **row.extra},
        line=row.line,
    )


def _listed(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return ", ".join(repr(one) for one in ids[:_SHOWN]) + more
