"""`smile-lite models`: what there is, fetching it, where it lies, whether it is sound."""

from __future__ import annotations

import json
from pathlib import Path

import click

from smile_lite.cli.options import notify, offline_option

_model = click.argument("model")


@click.group("models")
def command() -> None:
    """List, pull, locate and verify models."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def list_models(as_json: bool) -> None:
    """The models that have a manifest, and which of them are here."""
    from smile_lite.manifest import known_models, load_manifest
    from smile_lite.store import Store

    store = Store()
    entries = []
    for name in known_models():
        manifest = load_manifest(name)
        found = store.find(manifest)
        entries.append(
            {
                "name": name,
                "title": manifest.title,
                "licence": manifest.licence,
                "kind": "encoder" if manifest.head is None else "pair scorer",
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
    width = max(len(name) for name in known_models())
    for entry in entries:
        size = f"{entry['bytes'] / 1e6:.0f} MB" if isinstance(entry["bytes"], int) else "size unknown"
        state = "pulled" if entry["pulled"] else "not pulled"
        click.echo(f"{entry['name']:<{width}} {state:<11} {size:>12}  {entry['licence']:<11} {entry['title']}")


@command.command("pull")
@_model
@click.option("--precision", default="fp32", show_default=True)
@click.option("--pooling", type=click.Choice(["cls", "mean"]), help="For a checkpoint folder that states none.")
@click.option("--force", is_flag=True, help="Fetch again, replacing what is here.")
@offline_option
def pull(model: str, precision: str, pooling: str | None, force: bool, offline: bool) -> None:
    """Fetch MODEL (a name, a manifest's path, a checkpoint folder), check it, convert it once, keep it."""
    from smile_lite.models import pull_model, resolve_manifest

    manifest = resolve_manifest(model, pooling=pooling)
    pulled = pull_model(manifest, precision=precision, offline=offline, force=force, notify=notify)
    pulled.verify()
    click.echo(str(pulled.folder))


@command.command("path")
@_model
@click.option("--pooling", type=click.Choice(["cls", "mean"]))
def path(model: str, pooling: str | None) -> None:
    """Print the folder of a pulled MODEL."""
    from smile_lite.errors import ModelUnavailable
    from smile_lite.models import find_model

    found = find_model(model, pooling=pooling)
    if found is None:
        raise ModelUnavailable(f"{model} is not pulled: smile-lite models pull {model}")
    click.echo(str(found.folder))


@command.command("verify")
@click.argument("models", nargs=-1)
def verify(models: tuple[str, ...]) -> None:
    """Read every file of the MODELS (default: all that are here) against its sha256, and check known vectors."""
    from smile_lite.errors import ModelError, ModelIntegrityError, ModelUnavailable
    from smile_lite.health import check_golden
    from smile_lite.manifest import known_models
    from smile_lite.models import find_model

    chosen = models or tuple(name for name in known_models() if find_model(name))
    failures: list[ModelError] = []
    for name in chosen:
        try:
            found = find_model(name)
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
