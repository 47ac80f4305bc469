"""How far `smile-lite prepare` is: a bar with rows per second and the time left, on a terminal and nowhere else."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from smile_lite.cli.options import wants_bar
from smile_lite.prepare import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["told_progress"]


@contextmanager
def told_progress() -> Iterator[Progress]:
    """The progress of a run, shown for the time of the block."""
    if not wants_bar():
        yield Progress()
        return
    bar = _Bar()
    try:
        yield bar
    finally:
        bar.close()


class _Bar(Progress):
    """One bar for the rows, then one for the vectors of each encoder."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._started = 0.0
        self._before = 0

    def rows(self, total: int, done: int) -> None:
        self._open(total, "rows", done)

    def row_done(self) -> None:
        self._more(1)

    def vectors(self, encoder: str, total: int) -> None:
        self._open(total, f"vectors of {encoder}", 0)

    def texts_done(self, count: int) -> None:
        self._more(count)

    def close(self) -> None:
        """End the line."""
        if self._bar is not None:
            self._bar.render_finish()
            self._bar = None

    def _open(self, total: int, label: str, done: int) -> None:
        self.close()
        self._started, self._before = time.monotonic(), done
        self._bar = click.progressbar(length=total, label=label, file=sys.stderr, item_show_func=self._rate)
        self._bar.update(done, done)

    def _more(self, count: int) -> None:
        self._bar.update(count, self._bar.pos + count)

    def _rate(self, position: int | None) -> str | None:
        seconds = time.monotonic() - self._started
        return f"{(position - self._before) / seconds:.1f}/s" if position and seconds > 0 else None
