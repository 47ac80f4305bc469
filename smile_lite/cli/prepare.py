"""`smile-lite prepare`: an evaluation set in, a folder out that holds all that does not depend on the predictions."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from smile_lite.cli.options import field_map, notify, offline_option
from smile_lite.errors import ModelUnavailable, UsageError
from smile_lite.rows import FORMATS, ReadOptions, part_of, read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from smile_lite.encoder import Encoder
    from smile_lite.prepare import Shard
    from smile_lite.prepared import PreparedSet


@click.command("prepare")
@click.argument("set_file", metavar="SET")
@click.option("-o", "--output", metavar="FOLDER", help="Default: SET with the ending .prepared.")
@click.option("--generator", "generator_name", default="none", show_default=True, metavar="NAME",
              help="What writes synthetic answers: a generator's name, manifest (.toml) or .gguf file; template; "
                   "openai; auto: the default model where llama.cpp is installed, else the template; "
                   "none.")  # fmt: skip
@click.option("--quant", help="Which file of the generator's manifest.")
@click.option("--generator-model", metavar="NAME", help="With openai: what the server calls its model.")
@click.option("--base-url", metavar="URL", help="With openai: the server, up to /v1. Default: OPENAI_BASE_URL.")
@click.option(
    "--key-variable",
    default="OPENAI_API_KEY",
    show_default=True,
    metavar="NAME",
    help="With openai: the environment variable that holds the key.",
)
@click.option(
    "--concurrency", type=click.IntRange(1, 256), default=8, show_default=True, help="With openai: requests at once."
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME",
    help="Encoder whose vectors are computed; may be repeated. Default: minilm.",
)
@click.option("--precision", default="fp32", show_default=True, help="Arithmetic of the encoder.")
@click.option("--threads", type=click.IntRange(min=1), help="Of encoder and generator.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="The first N rows only.")
@click.option("--shard", "shard_text", metavar="I/N", help="Every N-th row, from the I-th.")
@click.option("--merge", "shards", multiple=True, metavar="FOLDER", help="Take rows from these shards of the same set.")
@click.option("--resume", is_flag=True, help="Go on where a stopped run to the same -o left off.")
@click.option("--force", is_flag=True, help="Replace what -o holds.")
@click.option("--field", "field_names", multiple=True, metavar="NAME=COLUMN", help="Where a field is, if elsewhere.")
@click.option("--input-format", type=click.Choice(FORMATS), help="Default: by the file's ending.")
@click.option("--encoding", default="utf-8", show_default=True, help="Of SET.")
@click.option("--allow-duplicate-ids", is_flag=True, help="Let an id stand twice in SET.")
@offline_option
def command(
    set_file: str,
    output: str | None,
    generator_name: str,
    quant: str | None,
    generator_model: str | None,
    base_url: str | None,
    key_variable: str,
    concurrency: int,
    models: tuple[str, ...],
    precision: str,
    threads: int | None,
    limit: int | None,
    shard_text: str | None,
    shards: tuple[str, ...],
    resume: bool,
    force: bool,
    field_names: tuple[str, ...],
    input_format: str | None,
    encoding: str,
    allow_duplicate_ids: bool,
    offline: bool,
) -> None:
    """Compute the vectors of SET's references, and with --generator make its synthetic answers, once for every system
    that is graded on it.

    SET has questions and references; predictions are not looked at. `smile-lite score PREDICTIONS --prepared FOLDER`
    then encodes nothing but predictions.
    """
    target = _target(set_file, output)
    options = ReadOptions(
        format=input_format,
        encoding=encoding,
        fields=field_map(field_names),
        required=("references",),
        allow_duplicate_ids=allow_duplicate_ids,
    )
    shard = _shard(shard_text)
    rows = list(read_rows(set_file, options))
    from smile_lite.cli.progress import told_progress
    from smile_lite.generate.known import Settings, load_generator
    from smile_lite.prepare import prepare
    from smile_lite.prepared import open_prepared

    settings = Settings(
        quant=quant,
        threads=threads,
        offline=offline,
        server_model=generator_model,
        base_url=base_url,
        key_variable=key_variable,
        concurrency=concurrency,
    )
    merged = [open_prepared(one) for one in shards]
    generator = load_generator(generator_name, settings, notify)
    encoders = _encoders(models or ("minilm",), precision, threads, offline)
    with _kept(target), told_progress() as progress:
        made = prepare(
            rows,
            target,
            generator=generator,
            encoders=encoders,
            limit=limit,
            shard=shard,
            merge=merged,
            resume=resume,
            force=force,
            progress=progress,
        )
    _report(made)
    click.echo(str(target))


@contextmanager
def _kept(target: Path) -> Iterator[None]:
    """Where a run is stopped, by whoever, say that its rows are not lost."""
    try:
        yield
    except (ModelUnavailable, KeyboardInterrupt):
        if part_of(target).is_dir():
            notify("what was made is kept: go on with --resume")
        raise


def _target(set_file: str, output: str | None) -> Path:
    if output is not None:
        return Path(output)
    if set_file == "-":
        raise UsageError("from standard input, -o FOLDER must say where the prepared set goes")
    return Path(set_file).with_suffix(".prepared")


def _shard(text: str | None) -> Shard | None:
    if text is None:
        return None
    from smile_lite.prepare import Shard

    index, slash, count = text.partition("/")
    if not (slash and index.isdecimal() and count.isdecimal()):
        raise UsageError(f"--shard takes I/N, such as 1/4, not {text!r}")
    return Shard(int(index), int(count))


def _encoders(models: tuple[str, ...], precision: str, threads: int | None, offline: bool) -> list[Encoder]:
    from smile_lite.encoder import OnnxEncoder

    return [
        OnnxEncoder.from_pretrained(name, precision=precision, threads=threads, offline=offline, notify=notify)
        for name in models
    ]


def _report(made: PreparedSet) -> None:
    counts = dict(made.manifest["counts"])
    total = counts.pop("references")
    told = ", ".join(f"{name} {count}" for name, count in counts.items() if count)
    notify(f"{len(made.rows)} rows, {total} references: {told or 'no synthetic answers'}")
    notify(f"in signatures: syn:{made.synthetic_name}")
