"""Preparing a set: synthetic answers made and checked, the vectors of the reference side computed, all in a folder.

A run that is stopped leaves FOLDER.part, from which another goes on; the result is the same, byte for byte.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smile_lite import __version__
from smile_lite.errors import InputError, OutputError, SmileLiteError, UsageError
from smile_lite.generate.synthesis import HOW
from smile_lite.prepared import KnownVectors, PreparedSet, open_prepared
from smile_lite.prepared.folder import FORMAT, SCHEMA, file_record, set_sha256
from smile_lite.prepared.lines import finished_lines, made_lines, merged_lines, read_lines
from smile_lite.prepared.vectors import encoder_key, vectors_name, write_vectors
from smile_lite.reading import Reading
from smile_lite.rows import atomic_text_writer, part_of
from smile_lite.rows.writers import claim
from smile_lite.signature import FALLBACK
from smile_lite.tasks import reference_side
from smile_lite.text import WORDS_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from smile_lite.encoder import Encoder
    from smile_lite.generate.generator import Generator
    from smile_lite.rows import Row

__all__ = ["NO_SYNTHETIC", "Progress", "Shard", "prepare"]

NO_SYNTHETIC = "none"


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `index` (from 1) of `count`: every count-th row. Raises UsageError for one that does not exist."""

    index: int
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.index <= self.count:
            raise UsageError(f"there is no shard {self.index} of {self.count}: they go from 1/{self.count}")


class Progress:
    """What a run tells as it goes; this one keeps it to itself."""

    def rows(self, total: int, done: int) -> None:
        """So many rows there are, of which an earlier run finished `done`."""

    def row_done(self) -> None:
        """One more row is written."""

    def vectors(self, encoder: str, total: int) -> None:
        """The rows are done; now `total` texts go through an encoder."""

    def texts_done(self, count: int) -> None:
        """So many more texts are encoded."""


def prepare(
    rows: Iterable[Row],
    target: str | Path,
    *,
    generator: Generator | None,
    encoders: Sequence[Encoder] = (),
    limit: int | None = None,
    shard: Shard | None = None,
    merge: Sequence[PreparedSet] = (),
    resume: bool = False,
    force: bool = False,
    progress: Progress | None = None,
) -> PreparedSet:
    """Make the prepared set of `rows` in the folder `target`.

    generator: None for no synthetic answers (the metric then compares with reference and question + reference). A row's
    own synthetic answers are kept. limit: the first so many rows only; shard: of these, every n-th. merge: shards of
    the same set, whose rows are taken instead of made. resume: go on where a stopped run left off. A finished `target`
    of the same set, generator and rules gets the vectors of `encoders` that it lacks; another is replaced with `force`.

    Raises UsageError where `target` or what a stopped run left is of something else, ModelUnavailable where the
    generator cannot be asked any more (what was made is kept), OutputError where nothing can be written.
    """
    whole = list(rows)
    chosen = _chosen(whole, limit, shard)
    name = generator.name if generator else NO_SYNTHETIC
    key = {
        "set": set_sha256(whole),
        "rows": len(chosen),
        "limit": limit,
        "shard": f"{shard.index}/{shard.count}" if shard else None,
        "generator": name,
        "words": WORDS_VERSION,
    }
    run = _Run(Path(target), chosen, key, progress or Progress())
    if run.target.exists():
        run.check_target()
        if not force:
            return run.add_vectors(encoders)
    with run.working(resume=resume):
        run.make_rows(generator, merged_lines(merge, key, chosen) if merge else None)
        run.make_texts()
        for encoder in encoders:
            tables = [table for one in merge if (table := one.table(encoder))]
            run.make_vectors(run.part, KnownVectors(encoder, *tables) if tables else encoder)
        run.finish()
    return open_prepared(run.target)


class _Run:
    """One making of a prepared set: the steps, each of which goes on where it was stopped."""

    def __init__(self, target: Path, rows: Sequence[Row], key: Mapping[str, Any], progress: Progress) -> None:
        self.target = target
        self.part = part_of(target)
        self._rows = rows
        self._key = key
        self._progress = progress
        self._encoders: list[dict[str, Any]] = []

    def check_target(self) -> None:
        """Raises OutputError where the target is there and no prepared set: neither is it used, nor does `force` delete
        it.
        """
        if not (self.target / "manifest.json").is_file():
            raise OutputError(f"{self.target} is there and is no prepared set: choose another name for it")

    def add_vectors(self, encoders: Sequence[Encoder]) -> PreparedSet:
        """The vectors of encoders that the finished target lacks. Raises UsageError where it is of something else."""
        found = open_prepared(self.target)
        if others := [name for name, value in self._key.items() if found.manifest["key"].get(name) != value]:
            told = "; ".join(f"{name}: {found.manifest['key'].get(name)}, {self._key[name]}" for name in others)
            raise UsageError(f"{self.target} is there and was made of something else ({told}): --force replaces it")
        self._encoders = list(found.manifest["encoders"])
        with _told(self.target):
            for encoder in encoders:
                if found.table(encoder) is None:
                    self.make_vectors(self.target, encoder)
            _write_json(self.target / "manifest.json", {**found.manifest, "encoders": self._encoders})
        return open_prepared(self.target)

    @contextmanager
    def working(self, *, resume: bool) -> Iterator[None]:
        """The folder that the run works in, held against others; kept where the run is stopped."""
        job = self.part / "job.json"
        with _told(self.target):
            if self.part.exists() and not resume:
                self._refuse_strangers()
                shutil.rmtree(self.part)
            self.part.mkdir(parents=True, exist_ok=True)
            with job.open("a+", encoding="utf-8") as stream:
                claim(stream, self.target)
                stream.seek(0)
                self._compare(stream.read())
                stream.truncate(0)
                stream.write(json.dumps(self._key))
                stream.flush()
                yield

    def _refuse_strangers(self) -> None:
        if not (self.part / "job.json").is_file():
            raise OutputError(f"{self.part} is in the way and is not what a stopped run left: remove it")

    def _compare(self, text: str) -> None:
        try:
            before = json.loads(text) if text else self._key
        except ValueError:
            before = {}
        for name, value in self._key.items():
            if before.get(name) != value:
                raise UsageError(
                    f"{self.part} was made with other settings ({name}: {before.get(name)}, {value}): remove it, or "
                    "use those"
                )

    def make_rows(self, generator: Generator | None, ready: Mapping[int, str] | None) -> None:
        """rows.jsonl, a line as soon as it is known."""
        path = self.part / "rows.jsonl"
        finished, size = finished_lines(path)
        with path.open("a", encoding="utf-8", newline="\n") as out:
            out.truncate(size)
            self._progress.rows(len(self._rows), len(finished))
            rest = self._rows[len(finished) :]
            lines = (ready[row.line or 0] for row in rest) if ready else made_lines(rest, generator, finished)
            for line in lines:
                out.write(line)
                out.flush()
                self._progress.row_done()

    def make_texts(self) -> None:
        """texts.jsonl: each text of the reference side once, in the order of the rows."""
        texts = dict.fromkeys(text for row in self._finished_rows() for text in reference_side(Reading()(row)))
        with atomic_text_writer(self.part / "texts.jsonl") as out:
            out.writelines(json.dumps(text) + "\n" for text in texts)

    def make_vectors(self, folder: Path, encoder: Encoder) -> None:
        """The vectors of one encoder, recorded for the manifest."""
        texts = [json.loads(line) for line in (folder / "texts.jsonl").read_text(encoding="utf-8").splitlines()]
        path = folder / vectors_name(encoder)
        if not path.exists():
            self._progress.vectors(encoder.name, len(texts))
            write_vectors(path, encoder, texts, on_texts=self._progress.texts_done)
        self._encoders.append({"key": encoder_key(encoder), **file_record(path)})

    def finish(self) -> None:
        """Write the manifest and give the folder its name."""
        made = [one for line in read_lines(self.part / "rows.jsonl") for one in json.loads(line)["made"]]
        how = Counter(one["how"] for one in made)
        refused = Counter(name for one in made for answer in one.get("refused", ()) for name in answer["checks"])
        manifest = {
            "format": FORMAT,
            "schema": SCHEMA,
            "smile_lite": __version__,
            "key": self._key,
            "words": WORDS_VERSION,
            "synthetic": _synthetic_name(str(self._key["generator"]), how),
            "counts": {"references": len(made), **{name: how[name] for name in HOW}},
            "refused": dict(sorted(refused.items())),
            "rows": file_record(self.part / "rows.jsonl"),
            "texts": file_record(self.part / "texts.jsonl"),
            "encoders": self._encoders,
        }
        _write_json(self.part / "manifest.json", manifest)
        (self.part / "job.json").unlink()
        if self.target.exists():
            shutil.rmtree(self.target)
        self.part.rename(self.target)

    def _finished_rows(self) -> Iterator[Row]:
        for row, line in zip(self._rows, read_lines(self.part / "rows.jsonl"), strict=True):
            yield replace(row, synthetic=tuple(json.loads(line)["synthetic"]))


def _chosen(rows: Sequence[Row], limit: int | None, shard: Shard | None) -> list[Row]:
    """The rows to prepare; `line` of each becomes its place in the set."""
    for row in rows:
        if row.reason == "bad_row":
            raise InputError(str(row.extra.get("error", "a row cannot be read")), line=row.line)
    placed = [replace(row, line=place, reason=None) for place, row in enumerate(rows[:limit], start=1)]
    return placed if shard is None else placed[shard.index - 1 :: shard.count]


def _synthetic_name(generator: str, how: Mapping[str, int]) -> str:
    asked = how["first"] + how["retry"] + how["fallback"]
    if not asked:
        return "given" if how["given"] else FALLBACK
    name = f"{generator}/fallback{how['fallback'] / asked:.3g}" if how["fallback"] else generator
    return f"given+{name}" if how["given"] else name


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    with atomic_text_writer(path) as out:
        out.write(json.dumps(value, ensure_ascii=False, indent=1) + "\n")


@contextmanager
def _told(target: Path) -> Iterator[None]:
    """What the system refuses becomes an error that names the target."""
    try:
        yield
    except OSError as error:
        if isinstance(error, SmileLiteError):
            raise
        raise OutputError(f"cannot write {target}: {error.strerror or error}") from error
