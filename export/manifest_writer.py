"""The manifest and the lock of an exported folder: written, and read back into a model that the runtime runs."""

from __future__ import annotations

import json
import tomllib
from dataclasses import asdict, replace
from importlib import metadata
from typing import TYPE_CHECKING, Any

from smile_lite.manifest import SCHEMA, FileSpec, Golden, Manifest, Source, parse_manifest
from smile_lite.store import PulledModel, sha256_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from smile_lite.encoder import Encoder

__all__ = ["describe_files", "golden_of", "read_made", "record_parity", "to_toml", "write_folder"]


_GOLDEN_TEXTS = (
    "The cat sat on the mat.",
    "A cat was sitting on a rug.",
    "The stock market fell sharply on Monday.",
    "Paris is the capital of France.",
    "東京は日本の首都です。",
    "3.5 mg of adrenaline, given twice",
)
_NUMBERS = 8


def golden_of(torch: Encoder) -> Golden:
    """Known vectors: torch's, one unpadded text at a time."""
    vectors = [torch.encode([text])[0].astype(float) for text in _GOLDEN_TEXTS]
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("torch", "transformers"))
    return Golden(
        made_with=f"{versions}, CPU, fp32",
        texts=_GOLDEN_TEXTS,
        heads=tuple(tuple(round(float(one), 7) for one in vector[:_NUMBERS]) for vector in vectors),
        cosines=tuple(
            tuple(round(float(vector @ before), 7) for before in vectors[:index])
            for index, vector in enumerate(vectors)
        ),
    )


def describe_files(manifest: Manifest, folder: Path, names: Sequence[str]) -> Manifest:
    """`manifest` for the files of an exported folder: each with its hash, the folder itself as their source."""
    files = {name: FileSpec(sha256_of(folder / name), (folder / name).stat().st_size) for name in names}
    source = Source("folder", ".", {name: name for name in names}, revision=manifest.revision or "local")
    return replace(manifest, files=files, sources=(source,))


def write_folder(
    manifest: Manifest, folder: Path, *, origin: str, made: Mapping[str, Any], parity: Mapping[str, Mapping[str, Any]]
) -> PulledModel:
    """Write manifest.toml and lock.json beside the files. Raises ModelError where the runtime would not read it."""
    text = to_toml(manifest, made=made, parity=parity)
    parse_manifest(text, origin="manifest.toml")
    (folder / "manifest.toml").write_text(text, encoding="utf-8")
    files = {
        name: {"sha256": spec.sha256, "bytes": spec.bytes, "stated": True} for name, spec in manifest.files.items()
    }
    lock = {"model": manifest.name, "origin": origin, "files": files}
    (folder / "lock.json").write_text(json.dumps(lock, indent=1) + "\n", encoding="utf-8")
    return PulledModel(manifest, folder, files, origin)


def read_made(folder: Path) -> dict[str, Any]:
    """How the folder was made, as its manifest states it."""
    return dict(_read(folder).get("made", {}))


def record_parity(folder: Path, parity: Mapping[str, Mapping[str, Any]]) -> None:
    """Put new figures of the gate into the manifest of an exported folder; those of other precisions stay."""
    before = _read(folder)
    manifest = parse_manifest((folder / "manifest.toml").read_text(encoding="utf-8"), origin=str(folder))
    text = to_toml(manifest, made=before.get("made", {}), parity={**before.get("parity", {}), **parity})
    temporary = folder / ".manifest.toml.new"
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(folder / "manifest.toml")


def to_toml(manifest: Manifest, *, made: Mapping[str, Any], parity: Mapping[str, Mapping[str, Any]]) -> str:
    """A manifest as TOML for `smile_lite.manifest.parse_manifest`, with `made` and `parity` as tables of their own.

    Of the figures those that quote a text stay out: rows may be private.
    """
    stated = asdict(manifest)
    tables = {name: stated.pop(name) for name in ("architecture", "encoding", "files", "sources", "golden")}
    tables["calibration"] = stated.pop("calibrations")
    plain = {key: value for key, value in stated.items() if value is not None and not isinstance(value, dict)}
    lines = [f"schema = {SCHEMA}", *(f"{key} = {_value(value)}" for key, value in plain.items())]
    for name in ("architecture", "encoding", "head"):
        if values := tables.get(name, stated.get(name)):
            lines += _table(name, values)
    for name, spec in tables["files"].items():
        lines += _table(f"files.{_key(name)}", spec)
    for source in tables["sources"]:
        files = source.pop("files")
        lines += ["", "[[sources]]", *(f"{key} = {_value(value)}" for key, value in source.items() if value)]
        lines += ["[sources.files]", *(f"{_key(key)} = {_value(value)}" for key, value in files.items())]
    for precision, calibration in tables["calibration"].items():
        lines += _table(f"calibration.{_key(precision)}", calibration)
    if tables["golden"]:
        lines += _table("golden", tables["golden"])
    lines += _table("made", made)
    for precision, figures in parity.items():
        kept = {key: value for key, value in figures.items() if key not in ("worst_text", "broken")}
        lines += _table(f"parity.{_key(precision)}", kept)
    return "\n".join(lines) + "\n"


def _table(name: str, values: Mapping[str, Any]) -> list[str]:
    plain = {key: value for key, value in values.items() if value is not None and not isinstance(value, dict)}
    lines = ["", f"[{name}]", *(f"{_key(key)} = {_value(value)}" for key, value in plain.items())]
    for key, value in values.items():
        if isinstance(value, dict):
            lines += _table(f"{name}.{_key(key)}", value)
    return lines


def _value(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        broken = bool(value) and isinstance(value[0], (list, tuple))
        inner = (",\n    " if broken else ", ").join(_value(one) for one in value)
        return f"[\n    {inner},\n]" if broken else f"[{inner}]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else json.dumps(name)


def _read(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "manifest.toml").read_text(encoding="utf-8"))
