"""The lines of a prepared set's rows: made one by one, taken over from a stopped run, or gathered from shards."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from smile_lite.errors import UsageError
from smile_lite.generate.synthesis import Item, Synthetic, synthesise
from smile_lite.prepared.folder import row_line
from smile_lite.tasks import reference_words
from smile_lite.text import sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from smile_lite.generate.generator import Generator
    from smile_lite.prepared.folder import PreparedSet
    from smile_lite.rows import Row

__all__ = ["finished_lines", "made_lines", "merged_lines", "read_lines"]


def made_lines(rows: Sequence[Row], generator: Generator | None, finished: Sequence[str]) -> Iterator[str]:
    """The lines of `rows`; what one question and reference gave before, here or in `finished`, is not asked again."""
    known: dict[Item, tuple[str | None, dict[str, Any]]] = {}
    for line in finished:
        before = json.loads(line)
        for reference, text, made in zip(before["references"], before["synthetic"], before["made"], strict=True):
            if made["how"] not in ("given", "none"):
                known[Item(before.get("question"), reference)] = (text, made)
    asked = set(known)
    stream: Iterator[Synthetic] = iter(())
    if generator is not None:
        stream = synthesise(_new_items(rows, asked), generator)
    for row in rows:
        texts: list[str | None] = []
        made = []
        for index, reference in enumerate(row.references):
            given, item = row.synthetic[index], Item(row.question, reference)
            if given is not None and sentence(given):
                text, how = given, {"how": "given"}
            elif generator is None or not len(reference_words(reference)):
                text, how = None, {"how": "none"}
            else:
                if item not in known:
                    known[item] = _recorded(next(stream))
                text, how = known[item]
            texts.append(text)
            made.append(how)
        yield row_line(replace(row, synthetic=tuple(texts)), made)


def _new_items(rows: Sequence[Row], asked: set[Item]) -> Iterator[Item]:
    for row in rows:
        for reference, given in zip(row.references, row.synthetic, strict=True):
            item = Item(row.question, reference)
            wanted = not (given is not None and sentence(given)) and len(reference_words(reference)) > 0
            if wanted and item not in asked:
                asked.add(item)
                yield item


def _recorded(made: Synthetic) -> tuple[str | None, dict[str, Any]]:
    record: dict[str, Any] = {"how": made.how}
    if made.refused:
        record["refused"] = [{"text": text, "checks": list(checks)} for text, checks in made.refused]
    return made.text, record


def merged_lines(merge: Sequence[PreparedSet], key: Mapping[str, Any], rows: Sequence[Row]) -> dict[int, str]:
    """The lines of the shards by place. Raises UsageError for a shard of something else, or rows that are in none."""
    found: dict[int, str] = {}
    for one in merge:
        for name in ("set", "generator", "words"):
            if one.manifest["key"].get(name) != key[name]:
                raise UsageError(
                    f"{one.folder} was made of something else ({name}: {one.manifest['key'].get(name)}, {key[name]})"
                )
        found |= {json.loads(line)["row"]: line for line in read_lines(one.folder / "rows.jsonl")}
    missing = [str(row.id) for row in rows if row.line not in found]
    if missing:
        raise UsageError(f"{len(missing)} rows are in none of the merged sets, the first is {missing[0]!r}")
    return found


def finished_lines(path: Path) -> tuple[list[str], int]:
    """The whole lines that an earlier run wrote, and their size in bytes; what it was stopped in is left out."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return [], 0
    size = content.rfind(b"\n") + 1
    return [f"{line}\n" for line in content[:size].decode("utf-8").split("\n")[:-1]], size


def read_lines(path: Path) -> list[str]:
    """The lines of a file, each with its end."""
    return [f"{line}\n" for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
