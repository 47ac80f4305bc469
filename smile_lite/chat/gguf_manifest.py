"""What a generator is, as data: one TOML file a generator, shipped for known ones and written beside each made file.

The key of a file is its quantisation; a source maps that key to the name of the file there. In a manifest that was
written beside a file the source is that folder ("."), so the pair can be moved and checked anywhere.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smile_lite.errors import ModelError, UnknownModel, UsageError
from smile_lite.manifest import FileSpec, Source

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "DEFAULT_GENERATOR",
    "QUANTS",
    "GeneratorManifest",
    "Quant",
    "check_quant",
    "known_generators",
    "load_generator",
    "quant_of_type",
    "to_toml",
]

SCHEMA = 1
DEFAULT_GENERATOR = "smollm2-135m-instruct"


@dataclass(frozen=True, slots=True)
class Quant:
    """A form of the weights: llama.cpp's number for it, and about how many bits a weight takes (for estimates)."""

    file_type: int
    bits: float


QUANTS = {
    "F32": Quant(0, 32.0),
    "F16": Quant(1, 16.0),
    "BF16": Quant(32, 16.0),
    "Q8_0": Quant(7, 8.5),
    "Q6_K": Quant(18, 6.6),
    "Q5_K_M": Quant(17, 5.7),
    "Q5_K_S": Quant(16, 5.5),
    "Q5_1": Quant(9, 6.0),
    "Q5_0": Quant(8, 5.5),
    "Q4_K_M": Quant(15, 4.9),
    "Q4_K_S": Quant(14, 4.6),
    "Q4_1": Quant(3, 5.0),
    "Q4_0": Quant(2, 4.5),
    "IQ4_NL": Quant(25, 4.5),
    "IQ4_XS": Quant(30, 4.3),
    "Q3_K_L": Quant(13, 4.3),
    "Q3_K_M": Quant(12, 3.9),
    "Q3_K_S": Quant(11, 3.5),
}


@dataclass(frozen=True, slots=True)
class GeneratorManifest:
    """One generator. `files` and the `files` of each source are keyed by quantisation, the first being the default.

    `made` says how a file came about: versions, seconds, the greedy answer it gave. `context_length` is 0 where
    unknown.
    """

    name: str
    title: str
    licence: str
    files: Mapping[str, FileSpec]
    sources: tuple[Source, ...]
    revision: str = ""
    context_length: int = 0
    chat_template_sha256: str = ""
    notes: str = ""
    made: Mapping[str, str | float] = field(default_factory=dict)


def check_quant(name: str) -> str:
    """The quantisation's name as llama.cpp spells it. Raises UsageError that lists those there are."""
    if (spelled := name.upper()) not in QUANTS:
        raise UsageError(f"there is no quantisation {name!r}: {', '.join(QUANTS)}")
    return spelled


def quant_of_type(file_type: int) -> str:
    """The name of llama.cpp's number for a quantisation; "type N" where the table lacks it."""
    return next((name for name, quant in QUANTS.items() if quant.file_type == file_type), f"type {file_type}")


def known_generators() -> list[str]:
    """The names of the generator manifests that come with the package, sorted."""
    folder = resources.files("smile_lite_models") / "generators"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load_generator(name: str) -> GeneratorManifest:
    """The generator manifest that comes with the package under `name`, or that of a `.toml` path.

    Raises UnknownModel where there is none, ModelError that says what is wrong in it.
    """
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise UnknownModel(f"there is no manifest {name}")
        manifest = _parse(path.read_bytes(), origin=name)
        here = tuple(
            replace(source, location=str(path.parent / source.location)) if source.kind == "folder" else source
            for source in manifest.sources
        )
        return replace(manifest, sources=here)
    if name not in (known := known_generators()):
        raise UnknownModel(
            f"no generator is called {name!r}: there are {', '.join(known)}; a checkpoint folder, a GGUF file, a hub "
            "id (owner/name) or the path of a manifest (.toml) will do as well"
        )
    shipped = resources.files("smile_lite_models") / "generators" / f"{name}.toml"
    return _parse(shipped.read_bytes(), origin=f"{name}.toml")


def to_toml(manifest: GeneratorManifest) -> str:
    """The manifest as TOML, as `load_generator` reads it."""
    head = {
        "schema": SCHEMA,
        "name": manifest.name,
        "title": manifest.title,
        "licence": manifest.licence,
        "revision": manifest.revision,
        "context_length": manifest.context_length,
        "chat_template_sha256": manifest.chat_template_sha256,
        "notes": manifest.notes,
    }
    tables: list[tuple[str, Mapping[str, Any]]] = [("", head)]
    for quant, spec in manifest.files.items():
        tables.append((f"[files.{_value(quant)}]", {"sha256": spec.sha256, "bytes": spec.bytes}))
    for source in manifest.sources:
        place = {"kind": source.kind, "location": source.location}
        if source.kind == "wheel":
            place["sha256"] = source.sha256
        if source.kind == "hub":
            place["revision"] = source.revision
        tables += [("[[sources]]", place), ("[sources.files]", source.files)]
    if manifest.made:
        tables.append(("[made]", manifest.made))
    return "\n".join(_table(title, values) for title, values in tables)


def _table(title: str, values: Mapping[str, Any]) -> str:
    lines = [f"{_key(key)} = {_value(value)}\n" for key, value in values.items()]
    return "".join([f"{title}\n" if title else "", *lines])


def _key(key: str) -> str:
    return key if key.isascii() and key.replace("_", "").isalnum() else _value(key)


def _value(value: str | float) -> str:
    # JSON's strings are TOML's basic strings but for DEL, which TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def _parse(text: bytes, *, origin: str) -> GeneratorManifest:
    try:
        return _build(tomllib.loads(text.decode("utf-8")))
    except KeyError as error:
        raise ModelError(f"{origin}: the key {error.args[0]!r} is missing") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise ModelError(f"{origin}: {error}") from None


def _build(raw: dict[str, Any]) -> GeneratorManifest:
    if raw["schema"] != SCHEMA:
        raise ValueError(f"schema {raw['schema']} is not known here (this version reads {SCHEMA})")
    values = {key: value for key, value in raw.items() if key not in ("schema", "files", "sources")}
    manifest = GeneratorManifest(
        files={quant: FileSpec(**spec) for quant, spec in raw["files"].items()},
        sources=tuple(Source(**source) for source in raw["sources"]),
        **values,
    )
    if not manifest.files or not manifest.sources:
        raise ValueError("a generator has at least one file and one source")
    for quant in manifest.files:
        check_quant(quant)
    for source in manifest.sources:
        if source.kind not in ("wheel", "hub", "folder"):
            raise ValueError(f"a source has the kind {source.kind!r}, not wheel, hub or folder")
    return manifest
