"""A generator as one GGUF file that was proved to answer, with its manifest beside it.

    SOURCE -> checkpoint folder -> F16 GGUF -> quantised GGUF -.
    SOURCE -> ready GGUF, its sha256 checked -------------------+-> loaded, asked twice -> FILE.gguf + FILE.toml

Everything happens in a folder next to FILE that is gone afterwards; FILE appears by one rename.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import uuid
from dataclasses import dataclass, replace
from importlib import metadata
from typing import TYPE_CHECKING, Any

from smile_lite_export.generator_source import Job, acquire
from smile_lite_export.llama_source import QUESTION, prove

from smile_lite import __version__
from smile_lite.chat.gguf_manifest import GeneratorManifest, check_quant, quant_of_type, to_toml
from smile_lite.errors import ModelError, OutputError, UsageError
from smile_lite.extras import require
from smile_lite.manifest import FileSpec, Source
from smile_lite.sources import is_offline
from smile_lite.store import sha256_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

__all__ = ["Exported", "export_generator"]


@dataclass(frozen=True, slots=True)
class Exported:
    """What was made: the file, the manifest beside it, and the answer that the file gave when it was proved."""

    file: Path
    manifest_file: Path
    manifest: GeneratorManifest
    answer: str


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
    job = Job(
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
        manifest = acquire(source, staged, job)
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


def _describe(manifest: GeneratorManifest, path: Path, proof: Mapping[str, Any], job: Job) -> GeneratorManifest:
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
