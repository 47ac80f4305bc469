"""From a row to what an encoder must be asked of it, or the reason why it cannot be graded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from smile_lite.tasks import paper_task, published_task, reference_words
from smile_lite.text import Words, published_words, sentence, split_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from smile_lite.plan import RowTask
    from smile_lite.reading import Reading
    from smile_lite.rows import Row
    from smile_lite.tasks import Exact

__all__ = ["Gradable", "RowReader"]


@dataclass(frozen=True, slots=True)
class Gradable:
    """A row that can be graded, as it is read, with the words that were taken from it. `references`: index -> number of
    words. `truncated`: the semantic part does not see all of the prediction.
    """

    row: Row
    words: Words | list[str]
    references: dict[int, int]
    task: RowTask
    truncated: bool

    def as_written(self, reference: int, position: int) -> str:
        """The n-gram of the prediction that begins at word `position`, as long as the reference, as it was written."""
        size = self.references[reference]
        if isinstance(self.words, Words):
            return self.words.as_written(position, min(size, len(self.words)))
        return " ".join(self.words[position : position + size])


class RowReader:
    """Cuts rows into words and tasks. windows: cuts a long text into pieces that the encoder reads whole; window:
    compare with each of them, not with the first alone; lemma: None for the paper's words, else the published ones.
    """

    def __init__(
        self,
        reading: Reading,
        exact: Exact,
        windows: Callable[[str], list[str]] | None,
        *,
        window: bool,
        lemma: Callable[[str], str] | None,
    ) -> None:
        self._reading = reading
        self._exact = exact
        self._windows = windows or _in_one
        self._window = window
        self._lemma = lemma

    def __call__(self, row: Row) -> Gradable | str:
        """The row ready to be graded, or its reason code (`missing_prediction`, `empty_reference`, ...)."""
        if row.reason is not None:
            return row.reason
        row = self._reading(row)
        return self._by_paper(row) if self._lemma is None else self._as_published(row, self._lemma)

    def _by_paper(self, row: Row) -> Gradable | str:
        references = {index: words for index, text in enumerate(row.references) if len(words := reference_words(text))}
        if reason := _without(row, references):
            return reason
        words = split_words(row.prediction or "")
        if not len(words):
            return "empty_prediction"
        wholes, truncated = self._wholes(row)
        task = paper_task(row, words, references, self._exact, wholes)
        return Gradable(row, words, {index: len(one) for index, one in references.items()}, task, truncated)

    def _as_published(self, row: Row, lemma: Callable[[str], str]) -> Gradable | str:
        cut = {index: published_words(text, lemma) for index, text in enumerate(row.references)}
        references = {index: words for index, words in cut.items() if words}
        if reason := _without(row, references):
            return reason
        prediction = row.prediction or ""
        words = published_words(prediction, lemma)
        if not words:
            return "empty_prediction"
        wholes, truncated = self._wholes(row)
        task = published_task(row, prediction, words, references, self._exact, wholes)
        return Gradable(row, words, {index: len(one) for index, one in references.items()}, task, truncated)

    def _wholes(self, row: Row) -> tuple[tuple[str, ...], bool]:
        text = sentence(row.prediction or "")
        windows = self._windows(text)
        return (tuple(windows), False) if self._window else ((text,), len(windows) > 1)


def _in_one(text: str) -> list[str]:
    return [text]


def _without(row: Row, references: object) -> str | None:
    if not references:
        return "empty_reference"
    return "missing_prediction" if row.prediction is None else None
