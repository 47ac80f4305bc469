"""`smile-lite export`: checkpoints to the artefacts that the runtime uses, and the proof that these are faithful."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import click

from smile_lite.cli.options import notify, offline_option

_DEFAULT_SOURCE = "llmrails/ember-v1"
_LAZY = {"generator": "smile_lite_export.cli_generator"}


class _Group(click.Group):
    """A group that imports some of its commands when they are wanted."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *_LAZY})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _LAZY:
            command = import_module(_LAZY[cmd_name]).command
            return command if isinstance(command, click.Command) else None
        return super().get_command(ctx, cmd_name)


@click.group("export", cls=_Group)
def command() -> None:
    """Make models for the runtime from checkpoints (extra `export`: torch lives here)."""


@command.command("encoder")
@click.argument("source", default=_DEFAULT_SOURCE)
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to make.")
@click.option(
    "--precision",
    default="fp32,int8,int8-token",
    show_default=True,
    help="One or more of fp32, int8, int8-token; int8-dynamic for comparison only.",
)
@click.option(
    "--via",
    type=click.Choice(["optimum", "direct"]),
    default="optimum",
    show_default=True,
    help="Through torch and optimum (any architecture), or the converter that needs neither (BERT).",
)
@click.option("--pooling", type=click.Choice(["cls", "mean"]), help="For a checkpoint that states none.")
@click.option("--revision", default="main", show_default=True, help="Of a hub id: branch, tag or commit.")
@click.option("--no-check", is_flag=True, help="Keep the folder without holding it against torch.")
@offline_option
def encoder(
    source: str,
    output: Path,
    precision: str,
    via: str,
    pooling: str | None,
    revision: str,
    no_check: bool,
    offline: bool,
) -> None:
    """Make a folder that the runtime loads from SOURCE, and prove that it computes what torch computes.

    SOURCE: a hub id (default llmrails/ember-v1), a checkpoint folder in sentence-transformers' layout, or the name of a
    model (`smile-lite models list`). Exit 1, and no folder, where an artefact is not faithful.
    """  # fmt: skip
    from smile_lite_export.encoder import export_encoder

    made = export_encoder(
        source,
        output,
        precisions=[one.strip() for one in precision.split(",") if one.strip()],
        via=via,
        pooling=pooling,
        revision=revision,
        offline=offline,
        check=not no_check,
        notify=notify,
    )
    for name, record in sorted(made.files.items()):
        notify(f"{name}: {int(record['bytes']) / 1e6:.1f} MB, sha256 {record['sha256'][:16]}...")
    click.echo(str(made.folder))


@command.command("check")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--against", required=True, help="The checkpoint that the folder was made from: folder, hub id or name.")
@click.option("--rows", type=click.Path(path_type=Path), help="Rows to compare on (default: the packaged sample).")
@click.option("--limit", type=click.IntRange(min=1), help="Take so many rows at most.")
@click.option("--revision", default="main", show_default=True, help="Of a hub id: branch, tag or commit.")
@click.option("--record", is_flag=True, help="Write the figures into the folder's manifest.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.option("--threads", type=click.IntRange(min=1), help="Default: SMILE_LITE_THREADS, or all usable CPUs.")
@offline_option
def check(
    folder: Path,
    against: str,
    rows: Path | None,
    limit: int | None,
    revision: str,
    record: bool,
    as_json: bool,
    threads: int | None,
    offline: bool,
) -> None:
    """Hold every artefact of an exported FOLDER against torch on sentences and n-grams. Exit 1 past the limits."""
    from smile_lite_export.encoder import check_folder
    from smile_lite_export.parity import format_table, raise_if_failed

    table = check_folder(
        folder,
        against,
        rows=rows,
        limit=limit,
        revision=revision,
        record=record,
        threads=threads,
        offline=offline,
        notify=notify,
    )
    click.echo(json.dumps(table, ensure_ascii=False, indent=1) if as_json else format_table(table))
    raise_if_failed(table)
