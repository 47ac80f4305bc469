"""One text as the guards read it, each reading made once: a prediction is held against every reference of its row."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

from smile_lite.guards.lexer import tokenise
from smile_lite.guards.quantities import read_items
from smile_lite.guards.told import Told
from smile_lite.guards.words import clauses, stem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from smile_lite.guards.quantities import Item

__all__ = ["Side"]

_LONGEST = 60_000  # characters; of a longer text the first and the last half of that are read


class Side:
    """A reference, a prediction or a question: its tokens, and what they say."""

    def __init__(self, text: str) -> None:
        self.is_cut = len(text) > _LONGEST
        if self.is_cut:
            text = f"{text[: _LONGEST // 2]}\n{text[-_LONGEST // 2 :]}"
        self.tokens = tokenise(text)

    @cached_property
    def stems(self) -> Sequence[str]:
        """The stem of every token."""
        return [stem(token.text) for token in self.tokens]

    @cached_property
    def places(self) -> Mapping[str, Sequence[int]]:
        """Where each stem stands."""
        found: dict[str, list[int]] = defaultdict(list)
        for at, word in enumerate(self.stems):
            found[word].append(at)
        return found

    @cached_property
    def items(self) -> Sequence[Item]:
        """Its numbers, dates and times."""
        return read_items(self.tokens)

    @cached_property
    def told(self) -> Told:
        """The same, for look-up."""
        return Told(self.items)

    @cached_property
    def clauses(self) -> Sequence[tuple[int, int]]:
        """Its clauses as stretches of tokens [first, end)."""
        return list(clauses(self.tokens))

    @cached_property
    def clauses_of(self) -> Mapping[str, set[int]]:
        """The numbers of the clauses in which each stem stands."""
        found: dict[str, set[int]] = defaultdict(set)
        for number, (first, end) in enumerate(self.clauses):
            for word in self.stems[first:end]:
                found[word].add(number)
        return found
