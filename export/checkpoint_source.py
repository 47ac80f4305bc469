"""Finding and describing a checkpoint: a folder, a hub id or a manifest's name becomes files on disk and a manifest."""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smile_lite_export.model_card import card_licence

from smile_lite.checkpoint import architecture_from_config, encoding_from_checkpoint
from smile_lite.errors import ModelError, ModelUnavailable, UnknownModel
from smile_lite.extras import require
from smile_lite.manifest import Architecture, Manifest, known_models, load_manifest
from smile_lite.models import is_folder, pull_model, resolve_manifest
from smile_lite.sources import is_offline
from smile_lite.tokenizer import load_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from smile_lite.store import PulledModel

__all__ = ["TOKENIZER", "Checkpoint", "find_checkpoint"]

_PATTERNS = ("*.json", "*.safetensors", "*.txt", "*.model", "README.md", "*_Pooling/config.json")
TOKENIZER = "tokenizer.json"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint on disk in sentence-transformers' layout, and what is known of it. `manifest` lists no files yet."""

    folder: Path
    manifest: Manifest
    origin: str


def find_checkpoint(
    source: str,
    scratch: Path,
    *,
    via: str = "optimum",
    pooling: str | None = None,
    revision: str = "main",
    offline: bool = False,
    say: Callable[[str], object] = lambda _: None,
) -> Checkpoint:
    """`source` as a folder on disk: a folder itself, a model with a manifest (pulled, its configuration written out
    into `scratch`), or a repository of the hub. Raises ModelError where pooling is neither stated nor given.
    """
    if is_folder(source):
        return _described(Path(source).resolve(), via, pooling, name=Path(source).resolve().name, title="")
    if source in known_models() or source.endswith(".toml"):
        manifest = resolve_manifest(source, pooling=pooling)
        pulled = pull_model(manifest, offline=offline, notify=say)
        pulled.verify()
        return Checkpoint(_write_checkpoint(pulled, scratch), manifest, pulled.origin)
    if source.count("/") != 1 or source.startswith((".", "/", "~")):
        raise UnknownModel(
            f"{source!r} is no checkpoint folder, no hub id (owner/name) and none of {', '.join(known_models())}"
        )
    folder = _from_hub(source, revision, offline=offline or is_offline(), say=say)
    found = _described(folder, via, pooling, name=source.rpartition("/")[2], title=source)
    known = next((one for one in map(load_manifest, known_models()) if _is_from(one, source)), None)
    manifest = replace(found.manifest, revision=folder.name, licence=card_licence(folder))
    if known is not None and known.encoding == manifest.encoding:
        manifest = replace(
            manifest, name=known.name, title=known.title, licence=known.licence, calibrations=known.calibrations
        )
    return Checkpoint(folder, manifest, f"{source}@{folder.name}")


def _described(folder: Path, via: str, pooling: str | None, *, name: str, title: str) -> Checkpoint:
    """Read a checkpoint folder. Raises ModelError for texts made lower case by what would be lost."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelUnavailable(f"{folder}: config.json is missing, so this is no checkpoint folder") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder / 'config.json'}: this is not JSON: {error}") from None
    architecture = architecture_from_config(config) if via == "direct" else _any_architecture(folder)
    encoding = encoding_from_checkpoint(folder, architecture, pooling=pooling)
    if (_json(folder / "sentence_bert_config.json") or {}).get("do_lower_case") and (folder / TOKENIZER).is_file():
        tokenizer = load_tokenizer(folder / TOKENIZER, encoding)
        if tokenizer.encode("A Cat").ids != tokenizer.encode("a cat").ids:
            raise ModelError(f"{folder}: do_lower_case is set beside a tokenizer that keeps case: not supported")
    manifest = Manifest(
        name=re.sub(r"[^a-z0-9.-]+", "-", name.lower()).strip("-.") or "local",
        title=title or f"local checkpoint {name}",
        licence=card_licence(folder),
        architecture=architecture,
        encoding=encoding,
        files={},
        sources=(),
    )
    return Checkpoint(folder, manifest, f"folder {name}")


def _any_architecture(folder: Path) -> Architecture:
    """As much of the shape as the length depends on, of any architecture that transformers knows."""
    transformers = require("transformers", extra="export", purpose="exporting a model")
    try:
        config = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
        positions = int(getattr(config, "max_position_embeddings", 512))
        numbered_from_padding = config.model_type in ("roberta", "xlm-roberta", "camembert", "mpnet", "longformer")
        return Architecture(
            family=config.model_type,
            layers=config.num_hidden_layers,
            hidden_size=config.hidden_size,
            heads=config.num_attention_heads,
            intermediate_size=0,
            vocabulary_size=config.vocab_size,
            max_positions=positions,
            position_offset=int(config.pad_token_id) + 1 if numbered_from_padding else 0,
        )
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise ModelError(f"{folder}: transformers does not know this architecture: {error}") from None


def _write_checkpoint(pulled: PulledModel, scratch: Path) -> Path:
    """The files of a pulled model, with the configuration that its manifest states as transformers wants to see it."""
    manifest, shape = pulled.manifest, pulled.manifest.architecture
    if shape is None or manifest.head is not None:
        raise ModelError(f"{manifest.name} is no encoder that could be converted")
    config = {
        "model_type": shape.family,
        "num_hidden_layers": shape.layers,
        "hidden_size": shape.hidden_size,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.intermediate_size,
        "vocab_size": shape.vocabulary_size,
        "max_position_embeddings": shape.max_positions,
        "layer_norm_eps": shape.layer_norm_eps,
        "hidden_act": shape.activation,
        "type_vocab_size": shape.segments,
        "pad_token_id": max(0, shape.position_offset - 1),
    }
    scratch.mkdir(parents=True)
    (scratch / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for theirs, ours in ((manifest.weights, "model.safetensors"), (manifest.tokenizer, TOKENIZER)):
        (scratch / ours).symlink_to(pulled.path(theirs).resolve())
    return scratch


def _from_hub(repository: str, revision: str, *, offline: bool, say: Callable[[str], object]) -> Path:
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # the client reads it when it is imported
    hub = require("huggingface_hub", extra="export", purpose="fetching a checkpoint from the hub")
    if not sys.stderr.isatty():
        importlib.import_module("huggingface_hub.utils").disable_progress_bars()
    say(f"fetching {repository} from the hub")
    try:
        return Path(
            hub.snapshot_download(repository, revision=revision, allow_patterns=_PATTERNS, local_files_only=offline)
        )
    except Exception as error:  # the client raises errors of its own, of its HTTP library's and of the system's
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), "no reason given")
        state = "offline, and it is not in the hub's cache" if offline else f"{type(error).__name__}: {reason}"
        raise ModelUnavailable(f"the hub did not give {repository} ({revision}): {state}") from error


def _is_from(manifest: Manifest, repository: str) -> bool:
    return any(source.kind == "hub" and source.location == repository for source in manifest.sources)


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: this is not JSON: {error}") from None
