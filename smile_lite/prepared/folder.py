"""The folder of a prepared set: reading it with every check, and the small writers of its parts."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smile_lite.errors import InputError, UsageError
from smile_lite.prepared.vectors import KnownVectors, encoder_key, load_vectors
from smile_lite.rows import Row, json_line
from smile_lite.store import sha256_of
from smile_lite.text import WORDS_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from smile_lite.encoder import Encoder

__all__ = ["FORMAT", "SCHEMA", "PreparedSet", "file_record", "open_prepared", "row_line", "set_sha256"]

FORMAT = "smile-lite prepared set"
SCHEMA = 1
_OURS = ("row", "id", "question", "references", "synthetic", "made")


@dataclass(frozen=True, slots=True)
class PreparedSet:
    """A prepared set, its rows checked. `manifest`: what manifest.json holds."""

    folder: Path
    manifest: Mapping[str, Any]
    rows: tuple[Row, ...]

    @property
    def synthetic_name(self) -> str:
        """What signatures call its synthetic answers: generator, version of the prompt, share of fallbacks."""
        return str(self.manifest["synthetic"])

    def texts(self) -> list[str]:
        """The unique texts of the reference side, in the order of the vectors."""
        path = self._checked(self.manifest["texts"])
        texts: list[str] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return texts

    def table(self, encoder: Encoder) -> tuple[list[str], NDArray[np.float32]] | None:
        """Texts and vectors for an encoder, or None where there are none for just that one."""
        wanted = encoder_key(encoder)
        record = next((one for one in self.manifest["encoders"] if one["key"] == wanted), None)
        if record is None:
            return None
        return (texts := self.texts()), load_vectors(self._checked(record), len(texts))

    def known(self, encoder: Encoder) -> KnownVectors:
        """`encoder`, with the vectors of this set looked up. Raises UsageError, with what differs, where the set was
        prepared for others only.
        """
        table = self.table(encoder)
        if table is None:
            raise UsageError(
                f"{self.folder} has no vectors of this encoder ({self._nearest(encoder_key(encoder))}): run "
                "`smile-lite prepare` with the same set, -o and --generator and with this --model and --precision, "
                "which adds them"
            )
        return KnownVectors(encoder, table)

    def _nearest(self, wanted: Mapping[str, Any]) -> str:
        keys = [one["key"] for one in self.manifest["encoders"]]
        if not keys:
            return "it has none at all"
        nearest = min(keys, key=lambda key: sum(key.get(name) != wanted[name] for name in wanted))
        return "; ".join(
            f"{name}: {nearest.get(name)} there, {wanted[name]} here"
            for name in wanted
            if nearest.get(name) != wanted[name]
        )

    def _checked(self, record: Mapping[str, Any]) -> Path:
        return _checked(self.folder, record)


def open_prepared(folder: str | Path) -> PreparedSet:
    """The prepared set in a folder, whatever its word rules and encoders; see `PreparedSet.known` for the vectors.

    Raises InputError where it is none, is damaged, or was cut with word rules of another version.
    """
    path = Path(folder)
    name = str(path / "manifest.json")
    try:
        manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise InputError("there is no prepared set: `smile-lite prepare` makes one", file=str(path)) from None
    except (OSError, ValueError) as error:
        raise InputError(f"it cannot be read: {error}", file=name) from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError("this is not the manifest of a prepared set", file=name)
    if manifest.get("schema") != SCHEMA:
        raise InputError(f"schema {manifest.get('schema')} is not known here (this version reads {SCHEMA})", file=name)
    if manifest["words"] != WORDS_VERSION:
        raise InputError(
            f"it was made with word rules {manifest['words']}, and these are {WORDS_VERSION}: prepare it again",
            file=name,
        )
    try:
        lines = _checked(path, manifest["rows"]).read_text(encoding="utf-8").split("\n")[:-1]
        rows = tuple(_row(json.loads(line), str(manifest["synthetic"])) for line in lines)
        for part in ("texts", "encoders", "key", "counts"):
            manifest[part]
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"it is damaged ({type(error).__name__}: {error}): prepare it again", file=str(path)) from None
    return PreparedSet(path, manifest, rows)


def _checked(folder: Path, record: Mapping[str, Any]) -> Path:
    path = folder / str(record["file"])
    if path.parent != folder:
        raise InputError(f"it names {record['file']!r}, which is not in it", file=str(folder / "manifest.json"))
    try:
        sound = sha256_of(path) == record["sha256"]
    except OSError as error:
        raise InputError(f"it cannot be read: {error.strerror}", file=str(path)) from None
    if not sound:
        raise InputError("it was changed or is damaged (sha256): prepare the set again", file=str(path))
    return path


def file_record(path: Path) -> dict[str, Any]:
    """The name, hash and size of a finished file, for the manifest."""
    return {"file": path.name, "sha256": sha256_of(path), "bytes": path.stat().st_size}


def row_line(row: Row, made: Sequence[Mapping[str, Any]]) -> str:
    """A row of the set as a line of rows.jsonl. `row.line` is its place in the set; prediction and label stay out."""
    written: dict[str, Any] = {"row": row.line}
    if not row.numbered:
        written["id"] = row.id
    if row.question is not None:
        written["question"] = row.question
    written |= {"references": list(row.references), "synthetic": list(row.synthetic), "made": list(made)}
    for name, value in row.extra.items():
        while name in _OURS:
            name = f"input_{name}"
        written.setdefault(name, value)
    return json_line(written)


def _row(raw: dict[str, Any], synthetic_name: str) -> Row:
    return Row(
        id=raw.get("id", raw["row"]),
        numbered="id" not in raw,
        references=tuple(raw["references"]),
        question=raw.get("question"),
        synthetic=tuple(raw["synthetic"]),
        synthetic_name=synthetic_name,
        extra={name: value for name, value in raw.items() if name not in _OURS},
        line=raw["row"],
    )


def set_sha256(rows: Iterable[Row]) -> str:
    """One hash over ids, questions, references and given synthetic answers: the key of the set itself."""
    digest = hashlib.sha256()
    for line in _key_lines(rows):
        digest.update(line.encode())
    return digest.hexdigest()


def _key_lines(rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        yield json.dumps([row.id, row.numbered, row.question, row.references, row.synthetic]) + "\n"
