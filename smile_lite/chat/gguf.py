"""From a generator's name to a verified GGUF file: a manifest's is pulled into the store, others are taken as they
are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from smile_lite.chat.gguf_manifest import GeneratorManifest, known_generators, load_generator
from smile_lite.errors import ModelError, ModelIntegrityError, ModelUnavailable, UnknownModel, UsageError
from smile_lite.manifest import Encoding, Manifest, Source
from smile_lite.models import pull_model
from smile_lite.store import Store, sha256_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["GgufFile", "check_name", "get_gguf", "store_manifest"]


@dataclass(frozen=True, slots=True)
class GgufFile:
    """A GGUF on this machine. `name`: what a signature calls it, with eight digits of its sha256."""

    path: Path
    name: str
    sha256: str


def get_gguf(
    model: str,
    *,
    quant: str | None = None,
    offline: bool = False,
    home: Path | None = None,
    notify: Callable[[str], object] | None = None,
) -> GgufFile:
    """The file of `model`: the name or path (.toml) of a generator manifest, or a .gguf file.

    A manifest's file is fetched once and checked against its sha256; a .gguf with a manifest of the same name beside it
    (`smile-lite export generator` writes one) is checked against that. Raises UnknownModel, ModelUnavailable,
    ModelIntegrityError; ModelError for what is no GGUF.
    """
    check_name(model)
    if model.endswith(".gguf"):
        if quant is not None:
            raise UsageError("--quant chooses a file of a manifest: a .gguf file is one already")
        return _from_file(Path(model))
    return _from_manifest(load_generator(model), quant, offline, home, notify)


def check_name(model: str) -> None:
    """Raises UnknownModel for what is neither a shipped generator's name nor the path of a manifest or GGUF."""
    if not model.endswith((".gguf", ".toml")) and model not in known_generators():
        raise UnknownModel(
            f"no generator is called {model!r}: there are {', '.join(known_generators())}; the path of a .gguf file or "
            "of a manifest (.toml) will do as well"
        )


def _from_file(path: Path) -> GgufFile:
    try:
        with path.open("rb") as stream:
            magic = stream.read(4)
    except OSError as error:
        raise ModelUnavailable(f"{path} cannot be read: {error.strerror}") from None
    if magic != b"GGUF":
        raise ModelError(f"{path} is no GGUF file")
    digest = sha256_of(path)
    beside = path.with_suffix(".toml")
    if beside.is_file():
        stated = {spec.sha256 for spec in load_generator(str(beside)).files.values()} - {""}
        if stated and digest not in stated:
            raise ModelIntegrityError(f"{path}: its sha256 {digest[:16]}... is not the one that {beside} states")
    return GgufFile(path, _name(path.stem, digest), digest)


def _from_manifest(
    known: GeneratorManifest,
    quant: str | None,
    offline: bool,
    home: Path | None,
    notify: Callable[[str], object] | None,
) -> GgufFile:
    manifest = store_manifest(known, quant)
    found = Store(home).find(manifest) or pull_model(
        manifest, precision=None, offline=offline, home=home, notify=notify
    )
    found.verify()
    digest = str(found.files[manifest.weights]["sha256"])
    return GgufFile(found.path(manifest.weights), _name(known.name, digest), digest)


def store_manifest(known: GeneratorManifest, quant: str | None = None) -> Manifest:
    """One file of a generator, by default its first, as the store keeps it: a model of which nothing is converted.

    Raises UsageError where it has no file of that quantisation.
    """
    quant = quant or next(iter(known.files))
    if quant not in known.files:
        raise UsageError(f"{known.name} has no {quant} file: there is {', '.join(known.files)}")
    name = f"{quant}.gguf"
    return Manifest(
        name=known.name,
        title=known.title,
        licence=known.licence,
        architecture=None,
        encoding=Encoding(pooling="mean", normalise=False, max_tokens=known.context_length),
        files={name: known.files[quant]},
        sources=tuple(
            Source(source.kind, source.location, {name: source.files[quant]}, source.sha256, source.revision)
            for source in known.sources
            if quant in source.files
        ),
        weights=name,
        tokenizer=name,
        revision=known.revision,
    )


def _name(stem: str, digest: str) -> str:
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '-', stem)}@{digest[:8]}"
