"""`smile-lite export generator`: a checkpoint, a hub id, a manifest's name or a ready GGUF to one proved GGUF file."""

from __future__ import annotations

import contextlib
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from smile_lite.cli.options import notify, offline_option

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


@click.command("generator")
@click.argument("source", default="smollm2-135m-instruct")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="The .gguf file to write.")
@click.option("--quant", help="Form of the weights (default: Q4_K_M, or the first of a manifest's files).")
@click.option("--revision", default="main", show_default=True, help="Of a hub id: branch, tag or commit.")
@click.option("--sha256", default="", help="What a ready GGUF must have.")
@click.option("--licence", default="", help="Written into the manifest where the source states none.")
@click.option("--allow-no-template", is_flag=True, help="Accept a file without a chat template.")
@offline_option
def command(
    source: str,
    output: Path,
    quant: str | None,
    revision: str,
    sha256: str,
    licence: str,
    allow_no_template: bool,
    offline: bool,
) -> None:
    """Make a GGUF file of SOURCE, prove that it answers, and write its manifest beside it.

    SOURCE: a Hugging Face checkpoint folder or hub id (converted and quantised), a GGUF file or a folder or hub id that
    holds some (checked by sha256), or the name or path of a generator manifest. Default: smollm2-135m-instruct.
    """
    from smile_lite_export.generator import export_generator

    with _terminated_as_interrupted():
        made = export_generator(
            source,
            output,
            quant=quant,
            revision=revision,
            offline=offline,
            sha256=sha256,
            licence=licence,
            allow_no_template=allow_no_template,
            notify=notify,
        )
    notify(f"asked for the capital of France it says: {made.answer!r}")
    click.echo(str(made.file))


@contextlib.contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """A container that is stopped sends SIGTERM: clean up as after Ctrl-C."""

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - signal's own signature
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
