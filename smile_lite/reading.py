"""What of a row is graded: the answer inside its markup. The row itself stays as it came."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from smile_lite.errors import UsageError
from smile_lite.text import DEFAULT_TAGS, MARKUP_VERSION, unwrap, unwrap_reference

if TYPE_CHECKING:
    from smile_lite.rows import Row

__all__ = ["Reading"]


@dataclass(frozen=True, slots=True)
class Reading:
    """How rows are read. markup: whether reasoning, Markdown and LaTeX are taken off predictions and references;
    tags: names of the elements that hold reasoning.

    Raises UsageError for a tag that is no name.
    """

    markup: bool = True
    tags: tuple[str, ...] = DEFAULT_TAGS

    def __post_init__(self) -> None:
        for tag in self.tags:
            if not tag.replace("-", "").replace("_", "").isalnum():
                raise UsageError(f"a reasoning tag is a name such as think, not {tag!r}")

    @property
    def name(self) -> str:
        """What a signature calls it."""
        if not self.markup:
            return "off"
        return MARKUP_VERSION if self.tags == DEFAULT_TAGS else f"{MARKUP_VERSION}({','.join(self.tags)})"

    def __call__(self, row: Row) -> Row:
        """The row as it is graded; a reference that is nothing but markup stays."""
        if not self.markup:
            return row
        prediction = None if row.prediction is None else unwrap(row.prediction, tags=self.tags)
        references = tuple(unwrap_reference(text, tags=self.tags) for text in row.references)
        return replace(row, prediction=prediction, references=references)
