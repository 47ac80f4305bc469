"""A generator as one GGUF file that was proved to answer, with its manifest beside it.

    SOURCE -> checkpoint folder -> F16 GGUF -> quantised GGUF -.
    SOURCE -> ready GGUF, its sha256 checked -------------------+-> loaded, asked twice -> FILE.gguf + FILE.toml

Everything happens in a folder next to FILE that is gone afterwards; FILE appears by one rename.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
import time
import uuid
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smile_lite_export.generator_manifest import (
    QUANTS,
    GeneratorManifest,
    check_quant,
    load_generator,
    quant_of_type,
    to_toml,
)
from smile_lite_export.llama_source import QUESTION, check_environment, converter_folder, prove, quantise, to_f16

from smile_lite import __version__
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
from smile_lite.sources import fetch, is_offline
from smile_lite.store import sha256_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["Exported", "export_generator"]

CHECKPOINT_FILES = ("*.json", "*.jinja", "*.txt", "*.model", "*.safetensors", "README.md", "LICENSE*")


@dataclass(frozen=True, slots=True)
class Exported:
    """What was made: the file, the manifest beside it, and the answer that the file gave when it was proved."""

    file: Path
    manifest_file: Path
    manifest: GeneratorManifest
    answer: str


@dataclass(frozen=True, slots=True)
class _Job:
    output: Path
    quant: str | None
    revision: str
    offline: bool
    sha256: str
    licence: str
    say: Callable[[str], object]


def export_generator(
    source: str,
    output: Path,
    *,
    quant: str | None = None,
    revision: str = "main",
    offline: bool = False,
    sha256: str = "",
    licence: str = "",
    allow_no_template: bool = False,
    notify: Callable[[str], object] | None = None,
) -> Exported:
    """Make `output` (a .gguf) out of `source`: a manifest's name or path, a checkpoint folder, a GGUF, or a hub id.

    `quant` is what a checkpoint is quantised to (default Q4_K_M) and which ready file is taken. `sha256` is what a
    ready GGUF must have; `revision` is for a hub id. Raises UsageError or OutputError where an option or the place is
    wrong, UnknownModel, ModelUnavailable, ModelIntegrityError or ModelError where the source or what came of it is. On
    any of them, and when interrupted, nothing is left and what stood under `output` before still does.
    """
    job = _Job(
        output=output,
        quant=check_quant(quant) if quant else None,
        revision=revision,
        offline=offline or is_offline(),
        sha256=sha256.lower(),
        licence=licence,
        say=notify or (lambda _: None),
    )
    if output.suffix != ".gguf" or output.is_dir():
        raise UsageError(f"-o {output}: the file to write must end in .gguf")
    if not output.parent.is_dir():
        raise OutputError(f"{output.parent} is no folder: make it, or choose another place for {output.name}")
    require("llama_cpp", extra="export", purpose="proving a generator")
    with _staging(output) as staged:
        manifest = _acquire(source, staged, job)
        proof = _prove(staged / "model.gguf", allow_no_template, job.say)
        manifest = _describe(manifest, staged / "model.gguf", proof, job)
        (staged / "model.toml").write_text(to_toml(manifest), encoding="utf-8")
        (staged / "model.gguf").replace(output)
        (staged / "model.toml").replace(output.with_suffix(".toml"))
    return Exported(output, output.with_suffix(".toml"), manifest, proof["answer"])


@contextlib.contextmanager
def _staging(output: Path) -> Iterator[Path]:
    folder = output.parent / f".{output.name}-{uuid.uuid4().hex[:12]}.staging"
    try:
        folder.mkdir()
        yield folder
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"{output} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _acquire(source: str, staged: Path, job: _Job) -> GeneratorManifest:
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


def _from_manifest(known: GeneratorManifest, staged: Path, job: _Job) -> GeneratorManifest:
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


def _from_file(path: Path, staged: Path, job: _Job) -> GeneratorManifest:
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


def _from_checkpoint(folder: Path, staged: Path, job: _Job, *, title: str, revision: str = "") -> GeneratorManifest:
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
    licence = _card_licence(folder)
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


def _from_hub(repository: str, staged: Path, job: _Job) -> GeneratorManifest:
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
        licence=_card_licence(folder),
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


def _pick(folder: Path, job: _Job) -> Path:
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


def _check(path: Path, stated: FileSpec, what: str, job: _Job) -> FileSpec:
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


def _card_licence(folder: Path) -> str:
    """The licence in the front matter of a checkpoint's README.md."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        lines = (folder / "README.md").read_text(encoding="utf-8").splitlines()
        for line in lines[1:] if lines[:1] == ["---"] else []:
            if line.startswith("---"):
                break
            if line.startswith("license:"):
                return line.partition(":")[2].strip().strip("'\"") or "unknown"
    return "unknown"


def _need_space(folder: Path, wanted: int, job: _Job) -> None:
    free = shutil.disk_usage(folder).free
    if wanted > free:
        raise OutputError(
            f"{job.output} needs about {wanted / 1e6:.0f} MB while it is made and {folder.parent} has "
            f"{free / 1e6:.0f} MB free: free some, or choose another place"
        )


def _prove(path: Path, allow_no_template: bool, say: Callable[[str], object]) -> dict[str, Any]:
    say("loading the file and asking it one question, twice")
    proof = prove(path)
    if not proof["chat_template"] and not allow_no_template:
        raise ModelError(
            "the file holds no chat template, so it is not known how a question is put to it: take an instruct model, "
            "or add chat_template to tokenizer_config.json; --allow-no-template accepts it as it is"
        )
    if not proof["tokens"]:
        raise ModelError("the file loads but generated nothing")
    if not proof["same"]:
        raise ModelError("the file gave two different greedy answers to the same question")
    return proof


def _describe(manifest: GeneratorManifest, path: Path, proof: Mapping[str, Any], job: _Job) -> GeneratorManifest:
    quant = quant_of_type(proof["file_type"])
    if job.quant and quant != job.quant:
        raise UsageError(
            f"the file is {quant}, not {job.quant}: a ready GGUF is taken as it is; export the checkpoint instead"
        )
    template = proof["chat_template"]
    versions = {"smile-lite": __version__, "llama-cpp-python": metadata.version("llama-cpp-python")}
    made = {**manifest.made, **versions, "question": QUESTION, "answer": proof["answer"]}
    return replace(
        manifest,
        files={quant: FileSpec(sha256=sha256_of(path), bytes=path.stat().st_size)},
        licence=job.licence or manifest.licence,
        sources=(Source("folder", ".", {quant: job.output.name}),),
        context_length=proof["context_length"],
        chat_template_sha256=hashlib.sha256(template.encode()).hexdigest() if template else "",
        made=made,
    )
