"""`smile-lite export encoder`, step by step: find the checkpoint, make each precision, hold it against torch.

The folder appears whole or not at all: everything is made in a hidden folder beside it, which is renamed at the end.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import re
import shutil
import tempfile
import uuid
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smile_lite_export.checkpoint_source import TOKENIZER, Checkpoint, find_checkpoint
from smile_lite_export.manifest_writer import (
    describe_files,
    golden_of,
    read_made,
    record_parity,
    write_folder,
)
from smile_lite_export.parity import (
    Reference,
    format_table,
    gate_of,
    measure,
    parity_rows,
    parity_table,
    raise_if_failed,
)

from smile_lite import __version__
from smile_lite.convert import convert_bert
from smile_lite.convert.pipeline import activation_bits
from smile_lite.errors import ExtraMissing, ModelError, ModelUnavailable, OutputError, UsageError
from smile_lite.extras import require
from smile_lite.store import PulledModel, open_folder
from smile_lite.verdict import PAPER_THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from smile_lite.manifest import Manifest

__all__ = [
    "DEFAULT_SOURCE",
    "PRECISIONS",
    "VERSIONS",
    "check_folder",
    "check_versions",
    "export_encoder",
]

DEFAULT_SOURCE = "llmrails/ember-v1"
PRECISIONS = ("fp32", "int8", "int8-token", "int8-dynamic")
VERSIONS: Mapping[str, str] = {  # as in the extra `export`: what works together; a prefix of the version installed
    "torch": "2.13.0",
    "transformers": "4.57.6",
    "onnx": "1.23",
    "onnxruntime": "1.32",
    "optimum": "2.1.0",
    "optimum-onnx": "0.1.0",
}


@dataclass(frozen=True, slots=True)
class _Job:
    precisions: Sequence[str]
    via: str
    check: bool
    say: Callable[[str], object]


def export_encoder(
    source: str,
    output: Path,
    *,
    precisions: Sequence[str] = ("fp32", "int8", "int8-token"),
    via: str = "optimum",
    pooling: str | None = None,
    revision: str = "main",
    offline: bool = False,
    check: bool = True,
    notify: Callable[[str], object] | None = None,
) -> PulledModel:
    """Make the folder `output` from `source` (hub id, checkpoint folder, manifest name) and prove it; gives the model.

    Raises ExtraMissing where the installed versions do not work together, UsageError, OutputError where `output` holds
    something already, UnknownModel, ModelUnavailable, ModelError; GateFailed (and no folder) where an artefact is not
    faithful to torch, unless `check` is False.
    """
    job = _Job(_checked(precisions), via, check, notify or (lambda _: None))
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise OutputError(f"{output} is there already: choose another folder, or remove it first")
    check_versions(via)
    with _scratch(output) as scratch:
        found = find_checkpoint(
            source, scratch / "checkpoint", via=via, pooling=pooling, revision=revision, offline=offline, say=job.say
        )
        made = _make(found, scratch, job)
        try:
            made.folder.rename(output)
        except OSError as error:
            raise OutputError(f"{output} cannot be written: {error.strerror}") from None
    return replace(made, folder=output)


def check_folder(
    folder: Path,
    against: str,
    *,
    rows: Path | None = None,
    limit: int | None = None,
    revision: str = "main",
    record: bool = False,
    threads: int | None = None,
    offline: bool = False,
    notify: Callable[[str], object] | None = None,
) -> dict[str, dict[str, Any]]:
    """Hold every artefact of an exported `folder` against torch running the checkpoint `against`; a table by precision.

    `record` writes it into the folder's manifest. Raises ModelUnavailable where `folder` is none, ModelIntegrityError
    where a file is not the one that was exported, UsageError without rows; what is past its limits is for
    `raise_if_failed`.
    """
    from smile_lite_export.optimum_road import reference_encoder

    say = notify or (lambda _: None)
    model, made = open_folder(folder), read_made(folder)
    model.verify(thorough=True)
    taken = parity_rows(rows, limit)
    check_versions(str(made.get("via", "optimum")))
    with tempfile.TemporaryDirectory(prefix="smile-lite-") as scratch:
        stated = model.manifest.encoding.pooling
        place = Path(scratch) / "checkpoint"
        options: dict[str, Any] = {"via": "optimum", "revision": revision, "offline": offline, "say": say}
        try:
            found = find_checkpoint(against, place, **options)
        except ModelError:
            if not Path(against).is_dir():
                raise
            found = find_checkpoint(against, place, pooling=stated, **options)
        torch = reference_encoder(found.folder, found.manifest.encoding)
        say(f"asking {torch.name} on {len(taken)} rows")
        reference = Reference(torch, taken, threshold=_threshold(model.manifest))
        del torch
        gc.collect()
    measured = {}
    for precision in [one for one in PRECISIONS if f"{one}.onnx" in model.files]:
        say(f"{precision}: {len(reference.vectors)} texts")
        gate = gate_of(precision, int(made.get("activation_bits", 8)))
        measured[precision] = (measure(model, precision, reference, threads=threads), gate)
    table = parity_table(measured, reference.name)
    if record:
        record_parity(folder, table)
    return table


def check_versions(via: str = "optimum") -> None:
    """Raises ExtraMissing where a package of the toolchain is missing, or of another version than those that work."""
    needed = [name for name in VERSIONS if via == "optimum" or not name.startswith("optimum")]
    wrong = []
    for name in needed:
        try:
            installed = metadata.version(name)
        except metadata.PackageNotFoundError:
            installed = "missing"
        if not re.match(re.escape(VERSIONS[name]) + r"($|[.+])", installed):
            wrong.append(f"{name} {VERSIONS[name]} (here: {installed})")
    if wrong:
        raise ExtraMissing(
            f"exporting needs versions that work together: {', '.join(wrong)}: pip install 'smile-lite[export]'"
        )


def _make(found: Checkpoint, scratch: Path, job: _Job) -> PulledModel:
    from smile_lite_export.optimum_road import TorchEncoder

    work, made = scratch / "work", scratch / "made"
    work.mkdir()
    made.mkdir()
    _place_tokenizer(found.folder, work / TOKENIZER)
    manifest = replace(found.manifest, tokenizer=TOKENIZER)
    if job.via == "optimum":
        manifest = replace(manifest, architecture=None)
    job.say(f"asking torch for the vectors of {manifest.name}")
    torch = TorchEncoder(found.folder, manifest.encoding, tokenizer=work / TOKENIZER)
    manifest = replace(manifest, golden=golden_of(torch))
    reference = Reference(torch, parity_rows(None), threshold=_threshold(manifest)) if job.check else None
    del torch
    gc.collect()
    files = _convert(found, manifest, work, job)
    for name in (TOKENIZER, *files):
        (work / name).rename(made / name)
    precisions = tuple(one for one in job.precisions if one != "int8-dynamic")
    weights = next(name for name in files if not name.endswith(".onnx"))
    manifest = describe_files(
        replace(manifest, precisions=precisions, weights=weights), made, sorted((TOKENIZER, *files))
    )
    parity = _prove(manifest, made, reference, job) if reference is not None else {}
    return write_folder(manifest, made, origin=found.origin, made=_provenance(found, job), parity=parity)


def _convert(found: Checkpoint, manifest: Manifest, work: Path, job: _Job) -> list[str]:
    """The files of every precision that was asked for, made in `work`; their names."""
    files: dict[str, None] = {}
    steps = _direct_steps if job.via == "direct" else _optimum_steps
    for precision, written in steps(found, manifest, work, job):
        if precision in job.precisions:
            files |= dict.fromkeys(path.name for path in written)
    if "int8-dynamic" in job.precisions:
        from smile_lite_export.optimum_road import quantise_dynamic

        job.say("int8-dynamic is for comparison only: with it a text's score depends on its neighbours")
        files |= dict.fromkeys(p.name for p in quantise_dynamic(work / "fp32.onnx", work / "int8-dynamic.onnx"))
    return list(files)


def _direct_steps(found: Checkpoint, manifest: Manifest, work: Path, job: _Job) -> Iterator[tuple[str, list[Path]]]:
    weights = work / "model.safetensors"
    if not (found.folder / weights.name).is_file():
        raise ModelUnavailable(f"{found.folder}: {weights.name} is missing, in one piece; --via optimum takes shards")
    shutil.copyfile(found.folder / weights.name, weights)
    for precision in _in_order(job.precisions):
        job.say(f"converting {manifest.name} to {precision}, without torch")
        written = convert_bert(manifest, weights, work / f"{precision}.onnx", precision=precision)
        yield precision, [*written, weights] if precision == "fp32" and len(written) == 1 else written


def _optimum_steps(found: Checkpoint, manifest: Manifest, work: Path, job: _Job) -> Iterator[tuple[str, list[Path]]]:
    from smile_lite_export.optimum_road import convert_through_optimum, export_graph, measure_smoothing

    job.say(f"tracing {manifest.name} with torch")
    traced, factors = export_graph(found.folder, work / "traced"), None
    for precision in _in_order(job.precisions):
        job.say(f"writing {manifest.name} in {precision}")
        graph = work / f"{precision}.onnx"
        if precision != "fp32" and factors is None:
            factors = measure_smoothing(manifest, traced, work / "fp32.onnx")
        yield precision, convert_through_optimum(manifest, traced, graph, precision=precision, factors=factors)


def _in_order(precisions: Sequence[str]) -> list[str]:
    """What has to be made: fp32 first, which the others are measured on."""
    return ["fp32", *(one for one in PRECISIONS[1:3] if one in precisions)]


def _prove(manifest: Manifest, folder: Path, reference: Reference, job: _Job) -> dict[str, dict[str, Any]]:
    records = {
        name: {"sha256": spec.sha256, "bytes": spec.bytes, "stated": True} for name, spec in manifest.files.items()
    }
    model, measured = PulledModel(manifest, folder, records, ""), {}
    for precision in job.precisions:
        job.say(f"holding {precision} against torch")
        measured[precision] = (measure(model, precision, reference), gate_of(precision, activation_bits()))
    table = parity_table(measured, reference.name)
    job.say(f"against torch, on the rows that come with the package:\n{format_table(table)}")
    raise_if_failed(table)
    return table


def _place_tokenizer(checkpoint: Path, target: Path) -> None:
    """tokenizer.json of the checkpoint, or what transformers makes of its older files."""
    if (checkpoint / TOKENIZER).is_file():
        shutil.copyfile(checkpoint / TOKENIZER, target)
        return
    transformers = require("transformers", extra="export", purpose="exporting a model")
    try:
        loaded = transformers.AutoTokenizer.from_pretrained(checkpoint, use_fast=True, local_files_only=True)
        loaded.backend_tokenizer.save(str(target))
    except (OSError, ValueError, AttributeError) as error:
        raise ModelError(f"{checkpoint}: it has no tokenizer.json, and none could be made: {error}") from None


def _provenance(found: Checkpoint, job: _Job) -> dict[str, Any]:
    names = [name for name in VERSIONS if importlib.util.find_spec(name.split("-")[0]) is not None]
    used = [name for name in names if job.via == "optimum" or not name.startswith("optimum")]
    made: dict[str, Any] = {"source": found.origin, "via": job.via, "smile-lite": __version__}
    made |= {name: metadata.version(name) for name in used}
    if "int8-token" in job.precisions:
        made["activation_bits"] = activation_bits()
    if "int8-dynamic" in job.precisions:
        made["unfit"] = ["int8-dynamic"]
    return made


def _threshold(manifest: Manifest) -> float:
    """Where a score becomes "correct": as calibrated for fp32, else the paper's."""
    calibration = manifest.calibrations.get("fp32")
    return calibration.threshold if calibration else PAPER_THRESHOLD


def _checked(precisions: Sequence[str]) -> list[str]:
    wanted = list(dict.fromkeys(precisions))
    if unknown := [one for one in wanted if one not in PRECISIONS]:
        raise UsageError(f"no precision is called {', '.join(unknown)}: there are {', '.join(PRECISIONS)}")
    if not set(wanted) - {"int8-dynamic"}:
        raise UsageError("int8-dynamic is for comparison only: ask for another precision besides")
    return [one for one in PRECISIONS if one in wanted]


@contextlib.contextmanager
def _scratch(output: Path) -> Iterator[Path]:
    """A hidden folder beside `output`, gone afterwards."""
    path = output.resolve().parent / f".{output.name}-{uuid.uuid4().hex[:12]}.export"
    try:
        path.mkdir(parents=True)
    except OSError as error:
        raise OutputError(f"{output} cannot be written: {error.strerror}") from None
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
