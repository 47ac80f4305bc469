"""The flags on numbers: whether those of the reference stand in the prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smile_lite.guards.dates import When
from smile_lite.guards.numerals import TIMES
from smile_lite.guards.quantities import Quantity
from smile_lite.guards.told import Match
from smile_lite.guards.words import is_content, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from smile_lite.guards.quantities import Item
    from smile_lite.guards.side import Side
    from smile_lite.guards.told import Told

__all__ = ["number_flags"]

_MOST_ITEMS = 32
_A_SENTENCE = 3  # words beside the numbers
_UNSAID = frozenset(
    listed(
        "about approximately around roughly nearly almost circa over total exactly estimated monday tuesday "
        "wednesday thursday friday saturday sunday"
    )
)


def number_flags(reference: Side, prediction: Side) -> set[str]:
    """The flags on the numbers of a reference whose words do not stand in the prediction as they are."""
    wanted = _wanted(reference)
    if not wanted:
        return set()
    told = prediction.told
    matches = [told.match(item) for item in wanted]
    counts = told.has_numbers or (told.has_weak and all(map(_is_weak, wanted)))
    if not counts and max(matches) is Match.NONE:
        detail = all(isinstance(item, When) for item in wanted) and len(_rest(reference, wanted)) > 1
        return set() if detail and _rest_is_said(reference, wanted, prediction) else {"number_missing"}
    flags = {"date_ambiguous"} if Match.AMBIGUOUS in matches else set()
    unmet = [item for item, match in zip(wanted, matches, strict=True) if match < Match.POSSIBLE]
    if unmet and len(unmet) == len(wanted):
        flags.add(_against(unmet, matches, told))
    elif unmet and _in_place(unmet, reference, prediction):
        flags.add("number_differs")
    elif (
        min(matches) is Match.EQUAL
        and (len(_rest(reference, wanted)) < _A_SENTENCE or _is_in_another_form(wanted, reference, prediction))
        and _rest_is_said(reference, wanted, prediction)
    ):
        flags.add("equal_value")
    return flags


def _is_in_another_form(wanted: Sequence[Item], reference: Side, prediction: Side) -> bool:
    """Whether one of the numbers is written otherwise in the prediction: a sentence that shares all its numbers and
    words with the reference as they are may still say something else.
    """
    for item in wanted:
        form = [token.text for token in reference.tokens[item.first : item.end]]
        places = prediction.places.get(reference.stems[item.first], ())
        if not any([token.text for token in prediction.tokens[at : at + len(form)]] == form for at in places):
            return True
    return False


def _wanted(reference: Side) -> list[Item]:
    """The numbers of the reference; words such as "one" and "first" count only where nothing else is said."""
    items = list(reference.items[:_MOST_ITEMS])
    strong = [item for item in items if not _is_weak(item)]
    if strong or _rest(reference, items):
        return strong
    return [item for item in items if reference.tokens[item.first].text not in TIMES]


def _is_weak(item: Item) -> bool:
    return isinstance(item, Quantity) and item.weak


def _against(unmet: Sequence[Item], matches: Sequence[Match], told: Told) -> str:
    if Match.OTHER_UNIT in matches:
        return "unit_differs"
    years = any(isinstance(item, When) and item.year is not None for item in unmet)
    return (
        "date_differs"
        if years and told.has_years and all(isinstance(item, When) for item in unmet)
        else "number_differs"
    )


def _in_place(unmet: Sequence[Item], reference: Side, prediction: Side) -> bool:
    """Whether another number stands in the prediction where one of the reference is missing: with the same unit, the
    same word behind, or as one of as many numbers as the reference has.
    """
    places = {place for item in unmet for place in _places(item, reference)}
    strong = [item for item in prediction.items if not _is_weak(item)]
    kinds = {type(item) for item in unmet} if len(strong) == len(_wanted(reference)) else set()
    return any(
        (type(item) in kinds or not places.isdisjoint(_places(item, prediction)))
        and reference.told.match(item) < Match.POSSIBLE
        for item in strong
    )


def _places(item: Item, side: Side) -> Iterable[str]:
    if not isinstance(item, Quantity) or item.weak:
        return
    for unit in item.units:
        yield f"unit {unit.dimension}"
    if item.end < len(side.tokens) and is_content(side.tokens[item.end]) and side.tokens[item.end].kind == "word":
        yield f"behind {side.stems[item.end]}"


def _rest(side: Side, items: Sequence[Item]) -> set[str]:
    """The stems of what is said beside the numbers."""
    covered = {at for item in items for at in range(item.first, item.end)}
    return {
        side.stems[at]
        for at, token in enumerate(side.tokens)
        if at not in covered and is_content(token) and token.text not in _UNSAID
    }


def _rest_is_said(reference: Side, wanted: Sequence[Item], prediction: Side) -> bool:
    return all(word in prediction.places for word in _rest(reference, wanted))
