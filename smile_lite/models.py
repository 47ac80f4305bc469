"""From a model's name to a verified folder that can be run: find it, pull it, convert it once, check it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from smile_lite.checkpoint import manifest_from_checkpoint
from smile_lite.convert.version import CONVERTER_VERSION
from smile_lite.errors import ExtraMissing, ModelError, ModelUnavailable, UsageError
from smile_lite.extras import require
from smile_lite.manifest import Manifest, known_models, load_manifest
from smile_lite.sources import fetch, is_offline
from smile_lite.store import PulledModel, Store, open_folder

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["find_model", "get_model", "graph_name", "is_exported", "is_folder", "pull_model", "resolve_manifest"]


def resolve_manifest(model: str, *, pooling: str | None = None) -> Manifest:
    """The manifest of `model`: a name that comes with the package, a `.toml` path, or a checkpoint folder.

    Raises UnknownModel. `pooling` is for a folder that does not state its own.
    """
    if is_folder(model):
        return manifest_from_checkpoint(Path(model), pooling=pooling)
    if pooling is not None:
        raise UsageError("--pooling is for a checkpoint folder: a manifest states its own")
    return load_manifest(model)


def is_exported(model: str) -> bool:
    """Whether `model` is a folder that `smile-lite export encoder` wrote: it is used where it lies."""
    return is_folder(model) and (Path(model) / "manifest.toml").is_file()


def is_folder(model: str) -> bool:
    """Whether `model` means a folder: a name that has a manifest does not, whatever lies in the working folder."""
    return model not in known_models() and Path(model).is_dir()


def find_model(model: str, *, home: Path | None = None, pooling: str | None = None) -> PulledModel | None:
    """`model` if it is here, its files not yet checked: an exported folder, or what was pulled under that name."""
    if is_exported(model):
        return open_folder(Path(model))
    return Store(home).find(resolve_manifest(model, pooling=pooling))


def graph_name(precision: str) -> str:
    """The file that holds the graph of a precision."""
    return f"{precision}.onnx"


def get_model(
    model: str,
    *,
    precision: str = "fp32",
    offline: bool = False,
    home: Path | None = None,
    pooling: str | None = None,
    notify: Callable[[str], object] | None = None,
) -> PulledModel:
    """`model`, ready to run and verified: pulled and converted first where that was not done yet.

    Raises UnknownModel, ModelUnavailable or ModelIntegrityError (all exit 3), ExtraMissing where a conversion is due
    and the extra `convert` is not installed.
    """
    exported = open_folder(Path(model)) if is_exported(model) else None
    manifest = exported.manifest if exported else resolve_manifest(model, pooling=pooling)
    if precision not in manifest.precisions:
        raise ModelError(f"{manifest.name} has no precision {precision!r}: there is {', '.join(manifest.precisions)}")
    found = exported or Store(home).find(manifest)
    if found is None or not (exported or _is_current(found, precision)):
        found = pull_model(manifest, precision=precision, offline=offline, home=home, notify=notify)
    found.verify()
    return found


def pull_model(
    manifest: Manifest,
    *,
    precision: str | None = "fp32",
    offline: bool = False,
    home: Path | None = None,
    force: bool = False,
    notify: Callable[[str], object] | None = None,
) -> PulledModel:
    """Fetch the files of `manifest` from the first source that gives them, check them, convert them, keep them.

    `precision` None: nothing is to be converted, the files are used as they come.
    """
    say = notify or (lambda _: None)
    store = Store(home)
    with store.lock(manifest):
        found = None if force else store.find(manifest)
        if found is None:
            found = _pull(store, manifest, precision, offline or is_offline(), force, say)
        elif precision is not None and not _is_current(found, precision):
            found.verify()
            with store.staging(manifest) as staged:
                made = _convert(manifest, found.folder, staged / graph_name(precision), precision)
                found = store.add_files(found, made, converter=CONVERTER_VERSION)
    return found


def _pull(
    store: Store, manifest: Manifest, precision: str | None, offline: bool, force: bool, say: Callable[[str], object]
) -> PulledModel:
    refusals = []
    for source in manifest.sources:
        with store.staging(manifest) as staged:
            if source.kind != "folder" and not offline:
                size = f" ({manifest.bytes / 1e6:.0f} MB)" if manifest.bytes else ""
                say(f"fetching {manifest.name}{size} from {_place(source.kind)}: {source.location}")
            try:
                origin = fetch(source, staged, offline=offline)
            except (ModelUnavailable, ExtraMissing) as refusal:
                refusals.append(str(refusal))
                continue
            records = {name: store.check_new(manifest, name, staged / name) for name in manifest.files}
            for name, record in records.items():
                if not record["stated"] and source.kind != "folder":
                    say(f"recorded for the first time: {name} of {manifest.name}, sha256 {record['sha256']}")
            if precision is not None and graph_name(precision) not in manifest.files:
                for path in _convert(manifest, staged, staged / graph_name(precision), precision):
                    records[path.name] = {
                        **store.check_new(manifest, path.name, path),
                        "converter": CONVERTER_VERSION,
                    }
            return store.commit(manifest, staged, origin=origin, files=records, replace=force)
    raise ModelUnavailable(f"the model {manifest.name} is not here and cannot be had: {'; '.join(refusals)}")


def _is_current(model: PulledModel, precision: str) -> bool:
    """Whether the graph of a precision is there, of this converter; an older one will do where nothing can convert."""
    graph = graph_name(precision)
    if graph not in model.files or graph in model.manifest.files:
        return graph in model.files
    return model.files[graph].get("converter") == CONVERTER_VERSION or find_spec("onnx") is None


def _place(kind: str) -> str:
    return {"wheel": "the package index", "hub": "the hub"}[kind]


def _convert(manifest: Manifest, folder: Path, target: Path, precision: str) -> list[Path]:
    require("onnx", extra="convert", purpose=f"converting the model {manifest.name} (once)")
    from smile_lite.convert import convert_bert

    return convert_bert(manifest, folder / manifest.weights, target, precision=precision)
