"""What a row is, under which names its fields come, and what may stand in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from smile_lite.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["FIELD_ALIASES", "BadRow", "FieldMap", "Row", "row_from_mapping"]

# The first name of each is the one in the documentation. Where it is present it wins; where only other names are,
# two of them that disagree are an error, since grading the wrong column is worse than not grading.
FIELD_ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "id": ("id", "question_id"),
        "question": ("question", "query", "input", "user_input"),
        "references": (
            "references",
            "reference",
            "answer",
            "answers",
            "ans",
            "target",
            "gold",
            "expected",
            "expected_output",
            "ground_truth",
        ),
        "prediction": ("prediction", "pred", "response", "output", "actual_output", "completion"),
        "synthetic": ("synthetic", "synthetic_answer", "syn_ans"),
        "human": ("human",),
    }
)
_SINGULAR = {"reference": "references"}
_LARGEST_LABEL = 1e6


@dataclass(frozen=True, slots=True)
class Row:
    """One question with its reference or references, the prediction, and what else came with it.

    `references` and `synthetic` are parallel: `synthetic[i]` is the synthetic answer of `references[i]`, or None. An
    entry of `references` that is blank is kept, so that indices stay those of the file. `reason` is set where the row
    is known beforehand not to be scorable (`missing_prediction`, `missing_reference`, `empty_reference`, `bad_row`,
    `not_prepared`). `numbered`: the id is the row's number, because it brought none. `synthetic_name`: what a signature
    calls the synthetic answers.
    """

    id: str | int | None
    references: tuple[str, ...] = ()
    prediction: str | None = None
    question: str | None = None
    synthetic: tuple[str | None, ...] = ()
    human: float | None = None
    reason: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    line: int | None = None
    numbered: bool = False
    synthetic_name: str = "given"


@dataclass(frozen=True, slots=True)
class BadRow:
    """A line that `--skip-bad-rows` let pass: it keeps its place, and comes out unscored with its error.

    `id` is that of the row where it could still be read, else None.
    """

    line: int
    error: InputError
    id: str | int | None = None

    def as_row(self) -> Row:
        """The row that stands for it in the output."""
        return Row(id=self.id, reason="bad_row", extra={"error": str(self.error)}, line=self.line)


class FieldMap:
    """Finds the fields of a row under their aliases, or under the names given with `--field name=column`.

    Raises UsageError for a field that does not exist.
    """

    def __init__(self, overrides: Mapping[str, str] | None = None) -> None:
        chosen: dict[str, str] = {}
        for name, column in (overrides or {}).items():
            field_name = _SINGULAR.get(name, name)
            if field_name not in FIELD_ALIASES:
                raise UsageError(f"no field is called {name!r}; the fields are {', '.join(FIELD_ALIASES)}")
            if chosen.setdefault(field_name, column) != column:
                raise UsageError(f"the field {field_name!r} was given two columns: {chosen[field_name]!r}, {column!r}")
        self._overrides = chosen
        self._known: dict[frozenset[str], dict[str, tuple[str, ...]]] = {}

    def locate(self, raw: Mapping[str, Any], *, file: str | None, line: int | None) -> dict[str, str]:
        """Which key of `raw` holds which field.

        Raises InputError where two keys claim one field and differ, or where the first row has no column that was
        named.
        """
        names = frozenset(raw)
        if not self._known:
            for name, column in self._overrides.items():
                if column not in names:
                    raise InputError(
                        f"there is no column {column!r} for the field {name!r} (present: {', '.join(map(str, raw))})",
                        file=file,
                        line=line,
                        field=name,
                    )
        if names not in self._known:
            self._known[names] = {name: self._candidates(name, names) for name in FIELD_ALIASES}
        columns: dict[str, str] = {}
        for name, candidates in self._known[names].items():
            if not candidates:
                continue
            column = candidates[0]
            for other in candidates[1:]:
                if raw[other] != raw[column]:
                    raise InputError(
                        f"both {column!r} and {other!r} may be the {name}: choose with --field {name}={column}",
                        file=file,
                        line=line,
                        field=name,
                    )
            columns[name] = column
        return columns

    def _candidates(self, name: str, names: frozenset[str]) -> tuple[str, ...]:
        if name in self._overrides:
            column = self._overrides[name]
            return (column,) if column in names else ()
        free = names - set(self._overrides.values())
        spelt = {str(one).strip().lower().replace(" ", "_"): one for one in sorted(free, key=str, reverse=True)}
        spelt |= {one: one for one in free}  # a name just as it is documented goes first
        found = [spelt[alias] for alias in FIELD_ALIASES[name] if alias in spelt]
        if found and (name == "id" or found[0] == spelt.get(FIELD_ALIASES[name][0])):
            return (found[0],)
        return tuple(found)

    def columns_of(self, name: str, names: Iterable[str]) -> tuple[str, ...]:
        """Those of the columns `names` that may hold the field `name`."""
        return self._candidates(name, frozenset(names))

    def only(self, *names: str) -> FieldMap:
        """A map that keeps the user's columns of these fields alone: for one of two files."""
        return FieldMap({name: column for name, column in self._overrides.items() if name in names})

    def without(self, *names: str) -> FieldMap:
        """A map that drops the user's columns of these fields."""
        return FieldMap({name: column for name, column in self._overrides.items() if name not in names})

    def wanted(self, name: str) -> str:
        """The column that `name` should be in, for messages."""
        return self._overrides.get(name, FIELD_ALIASES[name][0])


def row_from_mapping(
    raw: Mapping[str, Any],
    fields: FieldMap,
    *,
    number: int,
    file: str | None = None,
    line: int | None = None,
    required: Iterable[str] = ("references", "prediction"),
) -> Row:
    """Make a Row of what a file held. `number` (1-based) is the id of a row that has none.

    Raises InputError, with the field's name, where a required field is absent or a value has the wrong type. A field
    that is present but null makes the row unscorable (`reason`), not wrong.
    """
    columns = fields.locate(raw, file=file, line=line)
    for name in required:
        if name not in columns:
            raise InputError(
                f"field {fields.wanted(name)!r} is missing (present: {', '.join(map(str, raw)) or 'nothing'}); "
                f"name another column with --field {name}=COLUMN",
                file=file,
                line=line,
                field=name,
            )

    def value(name: str) -> Any:
        return raw[columns[name]] if name in columns else None

    def wrong(name: str, expected: str, got: object) -> InputError:
        return InputError(
            f"field {columns[name]!r} must be {expected}, not {_describe(got)}",
            file=file,
            line=line,
            field=name,
        )

    def text(name: str) -> str | None:
        got = value(name)
        if got is None or isinstance(got, str):
            return got
        raise wrong(name, "a string", got)

    def texts(name: str) -> list[str | None] | None:
        got = value(name)
        if got is None or isinstance(got, str):
            return None if got is None else [got]
        if not isinstance(got, (list, tuple)):
            raise wrong(name, "a string or a list of strings", got)
        for item in got:
            if item is not None and not isinstance(item, str):
                raise wrong(name, "a string or a list of strings", item)
        return list(got)

    identity = value("id")
    if "id" in required and identity is None:
        raise InputError(f"field {columns['id']!r} is null: a join needs ids", file=file, line=line, field="id")
    if identity is not None and (isinstance(identity, bool) or not isinstance(identity, (str, int))):
        raise wrong("id", "a string or an integer", identity)
    human = value("human")
    if human is not None and (not isinstance(human, (int, float)) or abs(human) > _LARGEST_LABEL):
        raise wrong("human", f"a number within {_LARGEST_LABEL:,.0f}", human)
    references, synthetic, prediction = texts("references"), texts("synthetic") or [], text("prediction")
    count = len(references or ())
    if isinstance(value("synthetic"), str):
        synthetic = synthetic * count
    elif synthetic and len(synthetic) != count:
        raise InputError(
            f"field {columns['synthetic']!r} holds {len(synthetic)} synthetic answers for {count} references",
            file=file,
            line=line,
            field="synthetic",
        )
    used = set(columns.values())
    return Row(
        id=number if identity is None else identity,
        numbered=identity is None,
        references=tuple(reference or "" for reference in references or ()),
        prediction=prediction,
        question=text("question"),
        synthetic=tuple(synthetic) or (None,) * count,
        human=None if human is None else float(human),
        reason=_missing(references, prediction, required),
        extra={str(key): item for key, item in raw.items() if key not in used},
        line=line,
    )


def _missing(references: list[str | None] | None, prediction: str | None, required: Iterable[str]) -> str | None:
    if "references" in required and (references is None or (references and all(r is None for r in references))):
        return "missing_reference"
    if "prediction" in required and prediction is None:
        return "missing_prediction"
    return None


def _describe(value: object) -> str:
    kinds = {str: "text", bool: "a boolean", int: "a number", float: "a number", dict: "an object", list: "a list"}
    shown = repr(value)
    hint = "; write numbers as text, in quotes" if type(value) in (int, float) else ""
    return f"{kinds.get(type(value), type(value).__name__)} ({shown[:40]}{'...' if len(shown) > 40 else ''}){hint}"
