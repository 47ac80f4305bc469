"""`smile-lite models`: what there is, fetching it, where it lies, whether it is sound."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from smile_lite.cli.options import notify, offline_option

if TYPE_CHECKING:
    from smile_lite.manifest import Manifest
    from smile_lite.store import PulledModel

_model = click.argument("model")


@click.group("models")
def command() -> None:
    """List, pull, locate and verify models."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def list_models(as_json: bool) -> None:
    """The models that have a manifest, and which of them are here."""
    from smile_lite.chat.gguf_manifest import known_generators
    from smile_lite.manifest import known_models
    from smile_lite.store import Store

    store = Store()
    entries = []
    generators = known_generators()
    for name in [*known_models(), *generators]:
        manifest = _manifest(name)
        found = store.find(manifest)
        entries.append(
            {
                "name": name,
                "title": manifest.title,
                "licence": manifest.licence,
                "kind": "generator" if name in generators else "pair scorer" if manifest.head else "encoder",
                "dimensions": manifest.architecture.hidden_size if manifest.architecture else None,
                "labels": list(manifest.head.labels) if manifest.head else None,
                "max_tokens": manifest.encoding.max_tokens,
                "precisions": list(manifest.precisions),
                "sources": [f"{source.kind}:{source.location}" for source in manifest.sources],
                "bytes": found.bytes if found else manifest.bytes or None,
                "pulled": found is not None,
                "notes": manifest.notes,
            }
        )
    if as_json:
        click.echo(json.dumps(entries, ensure_ascii=False, indent=1))
        return
    width = max(len(str(entry["name"])) for entry in entries)
    for entry in entries:
        size = f"{entry['bytes'] / 1e6:.0f} MB" if isinstance(entry["bytes"], int) else "size unknown"
        state = "pulled" if entry["pulled"] else "not pulled"
        what = f"{entry['kind']}, {entry['licence']}"
        click.echo(f"{entry['name']:<{width}} {state:<11} {size:>12}  {entry['title']} ({what})")


def _manifest(model: str, pooling: str | None = None) -> Manifest:
    """Of a model or of a generator, as the store keeps it."""
    from smile_lite.chat.gguf import store_manifest
    from smile_lite.chat.gguf_manifest import known_generators, load_generator
    from smile_lite.models import resolve_manifest

    if model in known_generators():
        return store_manifest(load_generator(model))
    return resolve_manifest(model, pooling=pooling)


def _find(model: str, pooling: str | None = None) -> PulledModel | None:
    from smile_lite.models import find_model, is_exported
    from smile_lite.store import Store

    return find_model(model) if is_exported(model) else Store().find(_manifest(model, pooling))


@command.command("pull")
@_model
@click.option("--precision", default="fp32", show_default=True)
@click.option("--pooling", type=click.Choice(["cls", "mean"]), help="For a checkpoint folder that states none.")
@click.option("--force", is_flag=True, help="Fetch again, replacing what is here.")
@offline_option
def pull(model: str, precision: str, pooling: str | None, force: bool, offline: bool) -> None:
    """Fetch MODEL (a name, a manifest's path, a checkpoint folder), check it, convert it once, keep it."""
    from smile_lite.chat.gguf_manifest import known_generators
    from smile_lite.models import pull_model

    manifest = _manifest(model, pooling)
    form = None if model in known_generators() else precision
    pulled = pull_model(manifest, precision=form, offline=offline, force=force, notify=notify)
    pulled.verify()
    click.echo(str(pulled.folder))


@command.command("path")
@_model
@click.option("--pooling", type=click.Choice(["cls", "mean"]))
def path(model: str, pooling: str | None) -> None:
    """Print the folder of a pulled MODEL."""
    from smile_lite.errors import ModelUnavailable

    found = _find(model, pooling)
    if found is None:
        raise ModelUnavailable(f"{model} is not pulled: smile-lite models pull {model}")
    click.echo(str(found.folder))


@command.command("verify")
@click.argument("models", nargs=-1)
def verify(models: tuple[str, ...]) -> None:
    """Read every file of the MODELS (default: all that are here) against its sha256, and check known vectors."""
    from smile_lite.chat.gguf_manifest import known_generators
    from smile_lite.errors import ModelError, ModelIntegrityError, ModelUnavailable
    from smile_lite.health import check_golden
    from smile_lite.manifest import known_models

    chosen = models or tuple(name for name in (*known_models(), *known_generators()) if _find(name))
    failures: list[ModelError] = []
    for name in chosen:
        try:
            found = _find(name)
            if found is None:
                raise ModelUnavailable(f"{name} is not pulled: smile-lite models pull {name}")
            found.verify(thorough=True)
            worst = {one: check_golden(found, precision=one) for one in found.precisions}
            known = [f"{one} within {value:.1e}" for one, value in worst.items() if value is not None]
            vectors = f"known vectors: {', '.join(known)}" if known else "no known vectors"
            click.echo(f"{name}: {len(found.files)} files match, {vectors} ({Path(found.folder)})")
        except ModelError as error:
            failures.append(error)
            click.echo(f"{name}: {error}", err=True)
    if failures:
        raise (failures[0] if len(failures) == 1 else ModelIntegrityError(f"{len(failures)} models failed"))
