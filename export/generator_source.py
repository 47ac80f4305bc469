"""Acquiring a generator: a manifest, checkpoint folder, GGUF or hub id becomes one GGUF file, not proved yet."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import time
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from smile_lite_export.llama_source import check_environment, converter_folder, quantise, to_f16
from smile_lite_export.model_card import card_licence

from smile_lite.chat.gguf_manifest import QUANTS, GeneratorManifest, load_generator
from smile_lite.errors import (
    ExtraMissing,
    ModelError,
    ModelIntegrityError,
    ModelUnavailable,
    OutputError,
    UnknownModel,
    UsageError,
)
from smile_lite.extras import require
from smile_lite.manifest import FileSpec, Source
from smile_lite.sources import fetch
from smile_lite.store import sha256_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Job", "acquire"]

CHECKPOINT_FILES = ("*.json", "*.jinja", "*.txt", "*.model", "*.safetensors", "README.md", "LICENSE*")


@dataclass(frozen=True, slots=True)
class Job:
    """What was asked for: the file to write, and how its source is to be taken."""

    output: Path
    quant: str | None
    revision: str
    offline: bool
    sha256: str
    licence: str
    say: Callable[[str], object]


def acquire(source: str, staged: Path, job: Job) -> GeneratorManifest:
    """Put `source` into `staged` as model.gguf; gives its manifest, as far as that is known before the proof."""
    path = Path(source)
    if source.endswith(".toml") or not (path.exists() or "/" in source or source.endswith(".gguf")):
        return _from_manifest(load_generator(source), staged, job)
    if path.is_dir() and (path / "config.json").is_file():
        return _from_checkpoint(path, staged, job, title=path.resolve().name)
    if path.is_dir():
        return _from_file(_pick(path, job), staged, job)
    if path.exists() or source.endswith(".gguf"):
        return _from_file(path, staged, job)
    if not re.fullmatch(r"\w[\w.-]*/[\w.-]+", source):
        raise UnknownModel(f"{source} is no file, no folder and no hub id (owner/name)")
    return _from_hub(source, staged, job)


def _from_manifest(known: GeneratorManifest, staged: Path, job: Job) -> GeneratorManifest:
    """One file of a manifest, from the first source that gives it."""
    quant = job.quant or next(iter(known.files))
    if quant not in known.files:
        raise UsageError(
            f"{known.name} has no {quant} file, there is {', '.join(known.files)}: name one of these, or export the "
            f"checkpoint {known.title} to {quant}"
        )
    spec = known.files[quant]
    stated = replace(spec, sha256=job.sha256 or spec.sha256)
    _need_space(staged, spec.bytes, job)
    refusals = []
    for place in known.sources:
        if quant not in place.files:
            continue
        wanted = replace(place, files={"model.gguf": place.files[quant]})
        job.say(f"fetching {known.name} {quant} from {place.kind} {place.location}")
        try:
            origin = fetch(wanted, staged, offline=job.offline)
        except (ModelUnavailable, ExtraMissing) as refusal:
            refusals.append(str(refusal))
            continue
        if not stated.sha256 and place.kind == "hub":
            stated = replace(stated, sha256=_hub_sha256(wanted))
        checked = _check(staged / "model.gguf", stated, known.name, job)
        made = {"source": f"{place.kind}:{origin}", **_hash_origin(stated)}
        return replace(known, files={quant: checked}, revision=_commit(place, origin), made=made)
    raise ModelUnavailable(
        f"the generator {known.name} cannot be had: {'; '.join(refusals) or f'no source of {quant}'}"
    )


def _from_file(path: Path, staged: Path, job: Job) -> GeneratorManifest:
    """A ready GGUF, against --sha256 or else the manifest that stands beside it."""
    if not path.is_file():
        raise ModelUnavailable(f"there is no file {path}")
    with path.open("rb") as stream:
        if stream.read(4) != b"GGUF":
            raise ModelError(f"{path} is no GGUF file: give a GGUF, a checkpoint folder, a hub id or a manifest's name")
    beside = path.with_suffix(".toml")
    manifest = GeneratorManifest(name=path.stem, title=path.stem, licence="unknown", files={}, sources=())
    spec = FileSpec()
    if beside.is_file():
        known = load_generator(str(beside))
        place = known.sources[0]
        quant = next((quant for quant, name in place.files.items() if name == path.name), "")
        if place.kind == "folder" and quant in known.files:
            manifest, spec = known, known.files[quant]
    stated = replace(spec, sha256=job.sha256 or spec.sha256)
    _need_space(staged, path.stat().st_size, job)
    shutil.copyfile(path, staged / "model.gguf")
    checked = _check(staged / "model.gguf", stated, str(path), job)
    made = {**manifest.made, "source": f"file:{path.name}", **_hash_origin(stated)}
    return replace(manifest, files={"": checked}, made=made)


def _from_checkpoint(folder: Path, staged: Path, job: Job, *, title: str, revision: str = "") -> GeneratorManifest:
    """A Hugging Face checkpoint: F16, then quantised."""
    weights = _check_checkpoint(folder)
    quant = job.quant or "Q4_K_M"
    if job.sha256:
        raise UsageError(
            "--sha256 is for a ready GGUF: the file that is made out of a checkpoint has no hash beforehand"
        )
    check_environment()
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    kept = 2 if (config.get("torch_dtype") or config.get("dtype")) == "float32" else 1
    half = sum(path.stat().st_size for path in weights) // kept
    _need_space(staged, half + (0 if quant == "F16" else int(half * QUANTS[quant].bits / 16)), job)
    converter = converter_folder(offline=job.offline, notify=job.say)
    seconds = {}
    started = time.perf_counter()
    job.say(f"converting {title} to F16 GGUF")
    to_f16(folder, staged / "f16.gguf", converter=converter)
    seconds["seconds_f16"] = round(time.perf_counter() - started, 1)
    if quant == "F16":
        (staged / "f16.gguf").rename(staged / "model.gguf")
    else:
        started = time.perf_counter()
        job.say(f"quantising {title} to {quant}")
        said = quantise(staged / "f16.gguf", staged / "model.gguf", QUANTS[quant].file_type)
        (staged / "f16.gguf").unlink()
        seconds["seconds_quantised"] = round(time.perf_counter() - started, 1)
        if said:
            job.say(said)
    licence = card_licence(folder)
    if licence == "unknown" and not job.licence:
        job.say(f"{title} states no licence in its README.md: --licence writes one into the manifest")
    made: dict[str, str | float] = {
        "source": f"hub:{title}@{revision}" if revision else f"folder:{title}",
        "checkpoint_sha256": _weights_sha256(weights),
        **{package: metadata.version(package) for package in ("torch", "transformers")},
        **seconds,
    }
    return GeneratorManifest(
        name=job.output.stem,
        title=title,
        licence=licence,
        revision=revision,
        files={"": FileSpec()},
        sources=(),
        made=made,
    )


def _from_hub(repository: str, staged: Path, job: Job) -> GeneratorManifest:
    """A hub id: its GGUF of the wanted quantisation where it holds any, else its checkpoint."""
    hub = require("huggingface_hub", extra="export", purpose="fetching a generator from the hub")
    patterns = list(CHECKPOINT_FILES)
    try:
        if not job.offline:
            listed = hub.HfApi().model_info(repository, revision=job.revision, files_metadata=True)
            sizes = {entry.rfilename: entry.size or 0 for entry in listed.siblings}
            if ready := sorted(name for name in sizes if name.endswith(".gguf")):
                patterns = [_pick_name(ready, job.quant or "Q4_K_M", repository), "README.md", "LICENSE*"]
            taken = [name for name in sizes if any(Path(name).match(pattern) for pattern in patterns)]
            _need_space(staged, sum(sizes[name] for name in taken), job)
            job.say(f"fetching {repository} ({sum(sizes[name] for name in taken) / 1e6:.0f} MB) from the hub")
        folder = Path(
            hub.snapshot_download(
                repository,
                revision=job.revision,
                allow_patterns=None if job.offline else patterns,
                local_files_only=job.offline,
            )
        )
    except (ModelError, UsageError, OutputError):
        raise
    except Exception as error:  # the client raises errors of its own, of its HTTP library's and of the system's
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), "no reason given")
        state = "offline, and it is not in the hub's cache" if job.offline else f"{type(error).__name__}: {reason}"
        raise ModelUnavailable(f"the hub did not give {repository} ({job.revision}): {state}") from error
    if (folder / "config.json").is_file() and not any(folder.glob("*.gguf")):
        return _from_checkpoint(folder, staged, job, title=repository, revision=folder.name)
    chosen = _pick(folder, replace(job, quant=job.quant or "Q4_K_M"))
    known = GeneratorManifest(
        name=repository.rpartition("/")[2].lower(),
        title=repository,
        licence=card_licence(folder),
        files={job.quant or "Q4_K_M": FileSpec(bytes=chosen.stat().st_size)},
        sources=(Source("hub", repository, {job.quant or "Q4_K_M": chosen.name}, revision=job.revision),),
    )
    return _from_manifest(known, staged, job)


def _check_checkpoint(folder: Path) -> list[Path]:
    """The weight files of a checkpoint, each whole. Raises ModelError where it is none or would run code of its own."""
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise ModelError(
            f"{folder} has a config.json but no *.safetensors: pickled weights are not read, convert them first"
        )
    for name in ("config.json", "tokenizer_config.json"):
        try:
            read = json.loads((folder / name).read_text(encoding="utf-8")) if (folder / name).is_file() else {}
        except ValueError as error:
            raise ModelError(f"{folder / name} is not JSON: {error}") from None
        if not isinstance(read, dict) or "auto_map" in read:
            raise ModelError(f"{folder / name} asks for code of its own (auto_map), which is never run")
    safetensors = require("safetensors", extra="export", purpose="converting a generator to GGUF")
    for path in weights:
        try:
            with safetensors.safe_open(str(path), framework="numpy"):
                pass
        except (OSError, safetensors.SafetensorError) as error:
            raise ModelError(f"{path} is damaged ({error}): fetch it again") from None
    return weights


def _pick(folder: Path, job: Job) -> Path:
    ready = sorted(path.name for path in folder.glob("*.gguf"))
    if not ready:
        raise ModelError(f"{folder} holds neither a config.json with *.safetensors nor a .gguf: it is no generator")
    return folder / (
        ready[0] if len(ready) == 1 and not job.quant else _pick_name(ready, job.quant or "Q4_K_M", str(folder))
    )


def _pick_name(names: list[str], quant: str, where: str) -> str:
    fitting = [name for name in names if name.upper().removesuffix(".GGUF").endswith(quant)]
    if len(fitting) == 1:
        return fitting[0]
    raise UsageError(f"{where} holds no single file of {quant}: choose with --quant among {', '.join(names)}")


def _check(path: Path, stated: FileSpec, what: str, job: Job) -> FileSpec:
    digest = sha256_of(path)
    if stated.sha256 and digest != stated.sha256:
        raise ModelIntegrityError(
            f"{what} came with sha256 {digest[:16]}..., not {stated.sha256[:16]}... as was stated: it is damaged, or "
            "another file"
        )
    if not stated.sha256:
        job.say(f"recorded for the first time: {what}, sha256 {digest}")
    return FileSpec(sha256=digest, bytes=path.stat().st_size)


def _hash_origin(stated: FileSpec) -> dict[str, str | float]:
    return {
        "sha256": "as stated beforehand" if stated.sha256 else "recorded when it was pulled: nothing stated one before"
    }


def _hub_sha256(source: Source) -> str:
    """What the hub itself states of a large file, read from its cache (large files lie there under their sha256)."""
    hub = require("huggingface_hub", extra="export", purpose="fetching a generator from the hub")
    cached = hub.try_to_load_from_cache(source.location, source.files["model.gguf"], revision=source.revision)
    name = Path(cached).resolve().name if isinstance(cached, str) else ""
    return name if len(name) == hashlib.sha256().digest_size * 2 else ""


def _commit(place: Source, origin: str) -> str:
    return origin.rpartition("@")[2] if place.kind == "hub" else ""


def _weights_sha256(weights: list[Path]) -> str:
    lines = "".join(f"{sha256_of(path)}  {path.name}\n" for path in weights)
    return hashlib.sha256(lines.encode()).hexdigest()


def _need_space(folder: Path, wanted: int, job: Job) -> None:
    free = shutil.disk_usage(folder).free
    if wanted > free:
        raise OutputError(
            f"{job.output} needs about {wanted / 1e6:.0f} MB while it is made and {folder.parent} has "
            f"{free / 1e6:.0f} MB free: free some, or choose another place"
        )
