"""What a LaTeX command makes of its arguments: 1/2 of a fraction, √2 of a root, x^2 of a power."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = ["Pending", "finish"]

_SLOT = re.compile(r"(\{[01]\})")
_COMPOUND = re.compile(r"[^\s+\-−/*×÷·±=<>≤≥,][\s+\-−/*×÷·±=<>≤≥,]")
_ORDINALS = frozenset({"st", "nd", "rd", "th"})


@dataclass(slots=True)
class Pending:
    """A command that waits for its arguments."""

    source: str
    needed: int
    form: str
    arguments: list[str] = field(default_factory=list)


def finish(command: Pending, before: str) -> str:
    """The text of a command that has its arguments; `before` is what stands before it: 2 1/2 is not 21/2."""
    if command.form in {"^", "_"}:
        return _script(command.form, command.arguments[0].strip())
    values = [value.strip() for value in command.arguments]
    if command.form in {"{0}/{1}", "√{0}", "∛{0}", "∜{0}"} or command.form.endswith("√{0}"):
        values = [f"({value})" if _COMPOUND.search(value) else value for value in values]
    # not str.format: the values are data
    text = "".join(values[int(part[1])] if _SLOT.fullmatch(part) else part for part in _SLOT.split(command.form))
    is_mixed_number = command.form == "{0}/{1}" and before[-1:].isdigit() and text[:1].isdigit()
    return f" {text}" if is_mixed_number else text


def _script(kind: str, value: str) -> str:
    if kind == "^" and value in {"∘", "°"}:
        return "°"
    if kind == "^" and (value in _ORDINALS or value == "′"):
        return "'" if value == "′" else value
    return kind + (f"({value})" if _COMPOUND.search(value) and value[:1] != "(" else value) if value else ""
