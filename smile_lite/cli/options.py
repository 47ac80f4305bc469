"""Options that several commands share, and how they become a Smile."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from smile_lite.errors import UsageError
from smile_lite.rows import FieldMap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from smile_lite.metric import Smile
    from smile_lite.prepared import PreparedSet

__all__ = [
    "SHARE",
    "field_map",
    "load_smile",
    "metric_options",
    "model_options",
    "notify",
    "offline_option",
    "wants_bar",
]


class _Share(click.FloatRange):
    """A number from 0 to 1; click's own range lets NaN pass, which would make every comparison false."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if number != number:
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


SHARE = _Share(0, 1)


def _apply(options: list[Callable[..., Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


offline_option = click.option("--offline", is_flag=True, help="Open no connection (as HF_HUB_OFFLINE=1 does).")

model_options = _apply(
    [
        click.option(
            "--model",
            default="minilm",
            show_default=True,
            help="Name, manifest (.toml), exported or checkpoint folder.",
        ),
        click.option("--precision", default="fp32", show_default=True, help="Arithmetic of the encoder."),
        click.option("--threads", type=click.IntRange(min=1), help="Default: SMILE_LITE_THREADS, or all usable CPUs."),
        click.option("--batch-size", type=click.IntRange(min=1), help="Texts in a batch, at most; changes no score."),
        offline_option,
    ]
)

metric_options = _apply(
    [
        click.option("--profile", type=click.Choice(["paper", "reference"]), default="paper", show_default=True,
                     help="The paper's equations, or what its published code computes."),
        click.option("--weight", type=SHARE, help="Of the semantic part (paper: 0.3)."),
        click.option("--exact", type=click.Choice(["contain", "strict", "fraction", "off"]),
                     help="Exact match: the reference stands in the prediction, or is all of it."),
        click.option("--on-empty", type=click.Choice(["zero", "null", "error"]), default="zero", show_default=True,
                     help="What an empty prediction is worth."),
        click.option("--markup/--no-markup", default=True, show_default=True,
                     help="Grade the answer inside reasoning tags, Markdown and LaTeX, or the text as it is."),
        click.option("--reasoning-tag", "reasoning_tags", multiple=True, metavar="NAME",
                     help="Elements that hold reasoning, in place of think and its like; may be repeated."),
        click.option("--long", type=click.Choice(["truncate", "window"]), default="truncate", show_default=True,
                     help="A prediction longer than the encoder reads: its beginning, or all of it in pieces."),
        click.option("--guards", is_flag=True, help="Let the flags of a row decide its verdict."),
        click.option("--verdict", type=click.Choice(["calibrated", "paper"]),
                     help="Default: calibrated where the model has a calibration, else paper."),
        click.option("--threshold", type=SHARE, help="Verdict at a threshold of your own."),
    ]
)  # fmt: skip


def field_map(pairs: Iterable[str]) -> FieldMap:
    """What `--field NAME=COLUMN`, several times, says of the columns."""
    fields: dict[str, str] = {}
    for pair in pairs:
        name, equals, column = pair.partition("=")
        if not (name and equals and column):
            raise UsageError(f"--field takes NAME=COLUMN, not {pair!r}")
        if name in fields:
            raise UsageError(f"--field {name} is given twice")
        fields[name] = column
    return FieldMap(fields)


def wants_bar() -> bool:
    """Whether standard error is a terminal that takes a moving line."""
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def notify(message: str) -> None:
    """One line on standard error."""
    click.echo(f"smile-lite: {message}", err=True)


def load_smile(
    *,
    model: str,
    precision: str,
    threads: int | None,
    batch_size: int | None,
    offline: bool,
    prepared: PreparedSet | None = None,
    reasoning_tags: tuple[str, ...] = (),
    **settings: Any,
) -> Smile:
    """The metric that the options describe, with the vectors of a prepared set looked up."""
    from smile_lite.metric import Smile

    if reasoning_tags:
        settings["reasoning_tags"] = reasoning_tags
    return Smile.from_pretrained(
        model,
        precision=precision,
        threads=threads,
        batch_size=batch_size,
        offline=offline,
        prepared=prepared,
        notify=notify,
        **settings,
    )
