"""Every item once, in order: ask, check, ask again, fall back to the template; and say how each came about."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from smile_lite.errors import NoReply
from smile_lite.generate.check import faults
from smile_lite.generate.template import template_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from smile_lite.generate.generator import Generator

__all__ = ["HOW", "Item", "Synthetic", "synthesise"]

_AHEAD = 4  # items that are handed out for each worker

HOW = {
    "given": "it came with the row",
    "first": "the generator's first answer passed the checks",
    "retry": "the second did",
    "fallback": "neither did: it is the template's",
    "none": "there is none: the reference is blank, or no synthetic answers were wanted",
}


class Item(NamedTuple):
    """A question with one of its references."""

    question: str | None
    reference: str


@dataclass(frozen=True, slots=True)
class Synthetic:
    """A synthetic answer. how: one of `HOW`; refused: each answer that failed, with the names of the checks it failed
    ("no_reply" where none came).
    """

    text: str | None
    how: str
    refused: tuple[tuple[str, tuple[str, ...]], ...] = ()


def synthesise(items: Iterable[Item], generator: Generator) -> Iterator[Synthetic]:
    """The synthetic answer of each item, in order, as soon as it and those before it are there.

    Each depends on its item alone. Raises ModelUnavailable where the generator cannot be asked any more; what was
    yielded before stands.
    """
    if generator.concurrency == 1:
        yield from (_one(item, generator) for item in items)
    else:
        yield from _in_order(lambda item: _one(item, generator), items, generator.concurrency)


def _one(item: Item, generator: Generator) -> Synthetic:
    refused: list[tuple[str, tuple[str, ...]]] = []
    for attempt in range(generator.attempts):
        try:
            text = generator.answer(item.question, item.reference, attempt)
        except NoReply:
            refused.append(("", ("no_reply",)))
            continue
        failed = faults(item.question, item.reference, text) if not generator.trusted else ()
        if not failed:
            return Synthetic(text, "retry" if attempt else "first", tuple(refused))
        refused.append((text, failed))
    return Synthetic(template_answer(item.question, item.reference), "fallback", tuple(refused))


def _in_order(function: Callable[[Item], Synthetic], items: Iterable[Item], workers: int) -> Iterator[Synthetic]:
    """`map` over threads that nobody waits for at the end: an interrupted run does not sit out its last requests."""
    tasks: queue.SimpleQueue[tuple[Future[Synthetic], Item] | None] = queue.SimpleQueue()

    def work() -> None:
        while (task := tasks.get()) is not None:
            future, item = task
            try:
                future.set_result(function(item))
            except BaseException as error:
                future.set_exception(error)

    for _ in range(workers):
        threading.Thread(target=work, daemon=True).start()
    waiting: deque[Future[Synthetic]] = deque()
    coming = iter(items)
    try:
        while True:
            for item in islice(coming, _AHEAD * workers - len(waiting)):
                waiting.append(Future())
                tasks.put((waiting[-1], item))
            if not waiting:
                return
            yield waiting.popleft().result()
    finally:
        with contextlib.suppress(queue.Empty):
            while True:
                tasks.get_nowait()
        for _ in range(workers):
            tasks.put(None)
