"""`smile-lite score`: a file of rows in, one scored row out for each, in order."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from smile_lite.cli.options import SHARE, field_map, load_smile, metric_options, model_options, notify, wants_bar
from smile_lite.cli.output import STYLES, WRITERS
from smile_lite.errors import GateFailed, InputError, UsageError
from smile_lite.rows import (
    FORMATS,
    ReadOptions,
    atomic_text_writer,
    display_name,
    has_known_ending,
    join_predictions,
    read_rows,
    resumable_text_writer,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from smile_lite.prepared import PreparedSet
    from smile_lite.report import RowScore, Summary
    from smile_lite.rows import Row


@click.command("score")
@click.argument("input_file", metavar="INPUT", default="-")
@click.option("--predictions", "predictions_file", metavar="FILE", help="Predictions in a file of their own, by id.")
@click.option("--prepared", "prepared_folder", metavar="FOLDER", help="Questions, references and vectors, made once.")
@click.option(
    "--join",
    "join_by",
    type=click.Choice(["auto", "id", "question"]),
    default="auto",
    show_default=True,
    help="With --prepared: what a prediction is found by.",
)
@click.option("-o", "--output", metavar="FILE", help="Where the scored rows go; default standard output.")
@click.option("--format", "style", type=click.Choice(STYLES), default="jsonl", show_default=True)
@click.option("--resume", is_flag=True, help="Go on where a stopped run to the same -o FILE left off.")
@click.option("--summary", "summary_file", metavar="FILE", help="Write counts, mean, signature and versions as JSON.")
@click.option("--fail-under", type=SHARE, metavar="MEAN", help="Exit 1 where the mean score is lower.")
@click.option("--min-pass-rate", type=SHARE, metavar="SHARE", help="Exit 1 where a smaller share of rows is correct.")
@click.option("--field", "field_names", multiple=True, metavar="NAME=COLUMN", help="Where a field is, if elsewhere.")
@click.option("--input-format", type=click.Choice(FORMATS), help="Default: by the file's ending; JSONL from a pipe.")
@click.option("--encoding", default="utf-8", show_default=True, help="Of the input files.")
@click.option("--skip-bad-rows", is_flag=True, help="A row that cannot be read comes out unscored (bad_row).")
@click.option("--allow-duplicate-ids", is_flag=True, help="Let an id stand twice in INPUT.")
@click.option(
    "--allow-missing",
    is_flag=True,
    help="With --predictions or --prepared: go on where rows or predictions have no partner.",
)
@metric_options
@model_options
def command(
    input_file: str,
    predictions_file: str | None,
    prepared_folder: str | None,
    join_by: str,
    output: str | None,
    style: str,
    resume: bool,
    summary_file: str | None,
    fail_under: float | None,
    min_pass_rate: float | None,
    field_names: tuple[str, ...],
    input_format: str | None,
    encoding: str,
    skip_bad_rows: bool,
    allow_duplicate_ids: bool,
    allow_missing: bool,
    **settings: Any,
) -> None:
    """Grade the rows of INPUT (JSONL, JSON, CSV, TSV, Parquet; - for standard input).

    A row has a prediction, one or more references and, if there are, a question and a synthetic answer. Scored rows go
    to standard output or -o; the summary goes to standard error. Every row comes out once, in order, with its id.
    """
    options = ReadOptions(
        format=input_format,
        encoding=encoding,
        fields=field_map(field_names),
        skip_bad_rows=skip_bad_rows,
        allow_duplicate_ids=allow_duplicate_ids,
    )
    if prepared_folder is not None and predictions_file is not None:
        raise UsageError("with --prepared the predictions are INPUT: --predictions is for a set that is not prepared")
    _refuse_nonsense(input_file, predictions_file, output, style, summary_file, resume=resume)
    from smile_lite.report import Summary

    summary = Summary()
    progress = _Progress(input_file)
    prepared = None
    if prepared_folder is None:
        rows = _rows(input_file, predictions_file, options, progress.read, allow_missing=allow_missing)
    else:
        prepared = _open_prepared(prepared_folder)
        rows = _joined(prepared, input_file, options, progress.read, by=join_by, allow_missing=allow_missing)
    rows = chain([next(rows)], rows)  # a wrong file is told before a model is fetched and loaded
    smile = load_smile(prepared=prepared, **settings)
    if smile.rule.kind == "paper" and settings["verdict"] is None:
        notify("no calibration for this model and these settings: the verdict is the paper's (score of at least 2/3)")
    kept = 0
    if resume and output is not None:
        from smile_lite.cli.resume import take_over

        kept = take_over(output, rows, smile, summary)
        notify(f"going on behind {summary.n_rows} rows that were finished before")
    with progress.shown(), _destination(output, style, kept) as out:
        WRITERS[style](out, _counted(_located(smile.stream(rows), input_file), summary, out))
    _report(summary, smile.environment(), summary_file)
    _gates(summary, fail_under, min_pass_rate)


def _refuse_nonsense(
    input_file: str,
    predictions_file: str | None,
    output: str | None,
    style: str,
    summary_file: str | None,
    *,
    resume: bool,
) -> None:
    if input_file == predictions_file == "-":
        raise UsageError("only one of INPUT and --predictions can be standard input")
    if input_file == "-" and sys.stdin.isatty():
        raise UsageError("name an INPUT file, or pipe rows in")
    if summary_file == "-":
        raise UsageError("--summary needs a file's name: standard output is for the rows")
    if output is not None and summary_file is not None and Path(output).resolve() == Path(summary_file).resolve():
        raise UsageError(f"-o and --summary both name {output}")
    for written in filter(None, (output, summary_file)):
        for read in filter(None, (input_file, predictions_file)):
            if Path(written).is_file() and Path(read).is_file() and Path(written).samefile(read):
                raise UsageError(f"{written} is read, and would be written over: give the output another name")
    if resume and (output in (None, "-") or style != "jsonl"):
        raise UsageError("--resume needs -o FILE and --format jsonl: it goes on from FILE.part")


def _rows(
    input_file: str,
    predictions_file: str | None,
    options: ReadOptions,
    on_bytes: Callable[[int], object],
    *,
    allow_missing: bool,
) -> Iterator[Row]:
    if predictions_file is None:
        return read_rows(input_file, options, on_bytes=on_bytes)
    known = has_known_ending(predictions_file) or predictions_file == "-"
    of_set = replace(options, required=("id", "references"))
    of_predictions = replace(
        options,
        required=("id", "prediction"),
        format=None if known else options.format,
        fields=options.fields.only("id", "prediction"),
        allow_duplicate_ids=False,
    )
    return join_predictions(
        read_rows(input_file, replace(of_set, fields=options.fields.without("prediction")), on_bytes=on_bytes),
        read_rows(predictions_file, of_predictions),
        rows_file=display_name(input_file),
        predictions_file=display_name(predictions_file),
        allow_missing=allow_missing,
    )


def _open_prepared(folder: str) -> PreparedSet:
    from smile_lite.prepared import open_prepared

    return open_prepared(folder)


def _joined(
    prepared: PreparedSet,
    input_file: str,
    options: ReadOptions,
    on_bytes: Callable[[int], object],
    *,
    by: str,
    allow_missing: bool,
) -> Iterator[Row]:
    from smile_lite.prepared import join_prepared

    predictions = read_rows(input_file, replace(options, required=("prediction",)), on_bytes=on_bytes)
    joined = join_prepared(prepared, predictions, by=by, allow_missing=allow_missing, file=display_name(input_file))
    for notice in joined.notices():
        notify(notice)
    return iter(joined.rows)


def _located(scored: Iterator[tuple[Row, RowScore]], file: str) -> Iterator[tuple[Row, RowScore]]:
    """An input error found while scoring (--on-empty error) is told with its file."""
    try:
        yield from scored
    except InputError as error:
        raise error if error.file else error.at(file=display_name(file)) from None


_ROWS_PER_FLUSH = 256


def _counted(scored: Iterator[tuple[Row, RowScore]], summary: Summary, out: IO[str]) -> Iterator[tuple[Row, RowScore]]:
    for row, score in scored:
        summary.add(score)
        yield row, score
        if summary.n_rows % _ROWS_PER_FLUSH == 0:
            out.flush()  # what is finished survives whatever stops the run


class _Progress:
    """A bar over the bytes of the file, on standard error, where that is a terminal."""

    def __init__(self, input_file: str) -> None:
        path = Path(input_file)
        self._size = path.stat().st_size if wants_bar() and path.is_file() else 0
        self._before = 0
        self._bar: Any = None

    def read(self, count: int) -> None:
        """Hear that `count` more bytes were read."""
        if self._bar is None:
            self._before += count
        else:
            self._bar.update(count)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the bar for the time of the block."""
        if not self._size:
            yield
            return
        with click.progressbar(length=self._size, label="grading", file=sys.stderr) as bar:
            bar.update(self._before)
            self._bar = bar
            yield


@contextmanager
def _destination(output: str | None, style: str, kept: int) -> Iterator[IO[str]]:
    if output is None or output == "-":
        yield sys.stdout
        return
    with resumable_text_writer(output, keep=kept) if style == "jsonl" else atomic_text_writer(output) as stream:
        yield stream


def _report(summary: Summary, environment: dict[str, Any], summary_file: str | None) -> None:
    from smile_lite.report import format_summary

    click.echo(format_summary(summary), err=True)
    if summary_file is not None:
        figures = {**summary.to_dict(), "environment": environment}
        with atomic_text_writer(summary_file) as out:
            out.write(json.dumps(figures, ensure_ascii=False, indent=1, allow_nan=False) + "\n")


def _gates(summary: Summary, fail_under: float | None, min_pass_rate: float | None) -> None:
    gates = (
        ("mean score", "--fail-under", summary.mean, fail_under),
        ("pass rate", "--min-pass-rate", summary.pass_rate, min_pass_rate),
    )
    failed = []
    for what, option, reached, wanted in gates:
        if wanted is None:
            continue
        if reached is None:
            failed.append(f"{option} {wanted:g}: no row could be scored")
        elif reached < wanted:
            failed.append(f"{what} {reached:.6g} is under {option} {wanted:g}")
    if failed:
        raise GateFailed("gate failed: " + "; ".join(failed))
