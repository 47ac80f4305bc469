"""JSONL and JSON: strict, but for NaN and Infinity, which other tools write for a missing value: they become null."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from smile_lite.errors import InputError
from smile_lite.rows.fields import BadRow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from smile_lite.rows.fields import FieldMap
    from smile_lite.rows.source import Content, Source

__all__ = ["finite", "read_json", "read_jsonl"]

_DEEPEST = 200  # what is read must be written again, by whichever stack there is then
_SPACE = " \t\r\n"
_AN_ARRAY = "this is a JSON array, not JSONL: use --input-format json"
_SEVERAL_LINES = "this is JSON over several lines, not JSONL: use --input-format json"


def finite(number: str) -> float | None:
    """The number, or None for NaN and infinity. Raises ValueError for what is no number."""
    value = float(number)
    return value if math.isfinite(value) else None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return made


def _integer(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        raise ValueError(f"a number of {len(digits)} digits: write it as text, in quotes") from None


_JSON = json.JSONDecoder(
    parse_constant=lambda _: None, parse_float=finite, parse_int=_integer, object_pairs_hook=_unique
)


def _parse(text: str, line: int, start: int = 0) -> tuple[Any, int]:
    """The JSON value at `start` of `text`, which lies in `line`, and where it ends. Raises InputError."""
    try:
        value, end = _JSON.raw_decode(text, start)
    except json.JSONDecodeError as error:
        at = line + text.count("\n", start, error.pos)
        raise InputError(f"this is not JSON: {error.msg} (column {error.colno})", line=at) from None
    except RecursionError:
        raise _too_deep(line) from None
    except ValueError as error:
        raise InputError(f"this JSON cannot be read: {error}", line=line) from None
    if text.count("[", start, end) + text.count("{", start, end) > _DEEPEST and _is_deep(value):
        raise _too_deep(line)
    return value, end


def _too_deep(line: int) -> InputError:
    return InputError(f"this JSON cannot be read: it is nested too deeply (over {_DEEPEST} levels)", line=line)


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for one in level
            if isinstance(one, (dict, list))
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return any(isinstance(one, (dict, list)) for one in level)


def read_jsonl(source: Source) -> Iterator[Content]:
    """One value a line; blank lines are passed over."""
    first = True
    for number, line in source.lines():
        text = line.strip().strip("\ufeff").strip()  # the mark: where files were put one behind the other
        if not text:
            continue
        if first and (text in ("[", "{") or text.startswith(("[{", "[ {"))):
            raise InputError(_AN_ARRAY if text[0] == "[" else _SEVERAL_LINES, line=number)
        try:
            parsed = _line(source, text, number)
        except InputError as error:
            if not source.skip_bad_rows:
                raise
            yield BadRow(number, error.at(file=source.name))
        else:
            if first and isinstance(parsed, list):
                raise InputError(_AN_ARRAY, line=number)
            yield number, parsed
        first = False


def _line(source: Source, text: str, number: int) -> Any:
    if wrong := source.undecoded(text, number):
        raise wrong
    parsed, end = _parse(text, number)
    rest = text[end:].lstrip()
    if rest:
        what = "a second value (a row has a line of its own)" if rest[0] in "[{" else "more"
        raise InputError(f"this is not JSON: there is {what} behind the value (column {end + 1})", line=number)
    return parsed


def read_json(source: Source) -> Iterator[Content]:
    """An array of rows, an object that holds one, or a single row."""
    text = "".join(line for _, line in source.lines())
    if wrong := source.undecoded(text, 1):
        raise wrong
    at = _behind_space(text, 0)
    if at == len(text):
        return
    if text[at] == "[":
        yield from _elements(text, at)
        return
    line = 1 + text.count("\n", 0, at)
    parsed, end = _parse(text, line, at)
    if rest := text[end:].strip(_SPACE):
        lines = "\n" in text[end : _behind_space(text, end)]
        remedy = "use --input-format jsonl" if lines else "separate the values by line ends (JSONL)"
        what = "one JSON value" if rest[0] in "[{" else "JSON: there is more behind the value"
        raise InputError(
            f"this is not {what}{f': {remedy}' if rest[0] in '[{' else ''}", line=1 + text.count("\n", 0, end)
        )
    if not isinstance(parsed, dict):
        raise InputError(f"a JSON file must hold an array of rows, not {_shown(parsed)}")
    name = _array_of_rows(parsed, source.fields)
    if name is not None:
        yield from _elements(text, _place_of(name, text, at))
    elif not _is_row(parsed, source.fields) and [] in parsed.values():
        return
    else:
        yield line, parsed


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:60]


def _behind_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _is_row(found: dict[str, Any], fields: FieldMap) -> bool:
    return any(fields.columns_of(name, found) for name in ("references", "prediction"))


def _array_of_rows(parsed: dict[str, Any], fields: FieldMap) -> str | None:
    """The key of the array of rows that an object holds; None where it is a row itself. Raises InputError for two."""
    arrays = {
        name: held
        for name, held in parsed.items()
        if isinstance(held, list) and held and all(isinstance(one, dict) for one in held)
    }
    if _is_row({name: held for name, held in parsed.items() if name not in arrays}, fields):
        return None
    of_rows = [name for name, held in arrays.items() if _is_row(held[0], fields)]
    if len(of_rows) > 1:
        raise InputError(f"this holds several arrays of rows ({', '.join(map(repr, of_rows))}): one a file is read")
    if not arrays and parsed and all(isinstance(held, dict) for held in parsed.values()):
        raise InputError("a JSON file must hold an array of rows ([{...}, {...}]), not an object of objects")
    return next(iter(of_rows or arrays), None)


def _place_of(wanted: str, text: str, at: int) -> int:
    """Where in `text` the value of the key `wanted` begins, in the object that opens at `at` and is known to be
    sound.
    """
    while True:
        name, at = _parse(text, 1, _behind_space(text, at + 1))
        at = _behind_space(text, _behind_space(text, at) + 1)
        if name == wanted:
            return at
        at = _behind_space(text, _parse(text, 1, at)[1])


def _elements(text: str, at: int) -> Iterator[Content]:
    """The elements of the array that opens at `at`, each with the line on which it begins."""
    line, counted, first = 1, 0, True
    whole = not text[:at].strip(_SPACE)
    at += 1
    while True:
        at = _behind_space(text, at)
        line, counted = line + text.count("\n", counted, at), at
        if text[at : at + 1] == "]":
            break
        if not first:
            if text[at : at + 1] != ",":
                raise InputError("this is not JSON: a comma or the closing bracket of the array is missing", line=line)
            at = _behind_space(text, at + 1)
            line, counted = line + text.count("\n", counted, at), at
        parsed, at = _parse(text, line, at)
        yield line, parsed
        first = False
    if whole and text[at + 1 :].strip(_SPACE):
        raise InputError("this is not JSON: there is more behind the array", line=line)
