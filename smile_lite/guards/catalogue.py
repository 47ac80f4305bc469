"""Every flag: its name, what it means, and what `decide` makes of it. `benchmarks/quality/guards.py` measures them."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["FLAGS", "GUARDS_VERSION", "Effect", "Flag", "decide"]

GUARDS_VERSION = "g1"
"""Of the rules as a whole: change one that can change a verdict, change this."""

Effect = Literal["against", "for", "note"]
Verdict = TypeVar("Verdict", bound=str | None)


@dataclass(frozen=True, slots=True)
class Flag:
    """What a flag says of a prediction, and its effect on a verdict: "against" it, "for" it, or a "note" only."""

    name: str
    meaning: str
    effect: Effect


_FLAGS = (
    Flag("antonym", "a word of the reference is replaced by its opposite, the words around it are the same", "against"),
    Flag("date_ambiguous", "a date such as 10/12/2024 agrees in one of its two readings only", "note"),
    Flag("date_differs", "both tell a date or a year, and not the same", "against"),
    Flag("equal_value", "the numbers or dates of the reference in another form, unit or wording", "for"),
    Flag("hedged", "the reference is one of several alternatives that the prediction leaves open", "against"),
    Flag("negation_differs", "what the reference says is negated in the prediction, or the other way round", "against"),
    Flag("number_differs", "the numbers of the reference are not among those of the prediction", "against"),
    Flag("number_missing", "the reference has a number, the prediction none", "against"),
    Flag("refusal", "the prediction declines to answer", "against"),
    Flag("unit_differs", "the same number with another unit", "against"),
    Flag("yes_no_both", "the prediction says yes and no", "against"),
    Flag("yes_no_opposite", "the reference is yes and the prediction no, or the other way round", "against"),
)
FLAGS: Mapping[str, Flag] = MappingProxyType({flag.name: flag for flag in _FLAGS})


def decide(flags: Collection[str], verdict: Verdict) -> Verdict | Literal["correct", "incorrect"]:
    """The verdict after the flags: one "against" turns "correct" into "incorrect"; one "for", with none against,
    turns "incorrect" into "correct". Any other verdict (None: not scored) stays. Raises KeyError for no flag's name.
    """
    effects = {FLAGS[name].effect for name in flags}
    if verdict == "correct" and "against" in effects:
        return "incorrect"
    if verdict == "incorrect" and "for" in effects and "against" not in effects:
        return "correct"
    return verdict
