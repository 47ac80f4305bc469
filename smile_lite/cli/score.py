"""`smile-lite score`: a file of rows in, one scored row out for each, in order."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from smile_lite.cli.options import load_smile, metric_options, model_options, notify
from smile_lite.errors import GateFailed, InputError, OutputError, UsageError
from smile_lite.rows import (
    FORMATS,
    FieldMap,
    ReadOptions,
    atomic_text_writer,
    display_name,
    join_predictions,
    json_line,
    read_rows,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import IO

    from smile_lite.report import RowScore, Summary
    from smile_lite.rows import Row

STYLES = ("jsonl", "json", "csv", "table")


@click.command("score")
@click.argument("input_file", metavar="INPUT", default="-")
@click.option(
    "--predictions",
    "predictions_file",
    metavar="FILE",
    help="Predictions in a file of their own, joined by id.",
)
@click.option("-o", "--output", metavar="FILE", help="Where the scored rows go; default standard output.")
@click.option("--format", "style", type=click.Choice(STYLES), default="jsonl", show_default=True)
@click.option("--summary", "summary_file", metavar="FILE", help="Write counts, mean, signature and versions as JSON.")
@click.option("--fail-under", type=click.FloatRange(0, 1), metavar="MEAN", help="Exit 1 where the mean score is lower.")
@click.option("--min-pass-rate", type=click.FloatRange(0, 1), metavar="SHARE",
              help="Exit 1 where a smaller share of the scored rows is correct.")  # fmt: skip
@click.option(
    "--field",
    "field_names",
    multiple=True,
    metavar="NAME=COLUMN",
    help="Where a field is, if under another name.",
)
@click.option("--input-format", type=click.Choice(FORMATS), help="Default: by the file's ending; JSONL from a pipe.")
@click.option("--encoding", default="utf-8", show_default=True, help="Of the input files.")
@click.option("--skip-bad-rows", is_flag=True, help="A row that cannot be read comes out unscored (bad_row).")
@click.option("--allow-duplicate-ids", is_flag=True, help="Let an id stand twice.")
@click.option("--allow-missing", is_flag=True, help="With --predictions: rows without one come out unscored.")
@metric_options
@model_options
def command(
    input_file: str,
    predictions_file: str | None,
    output: str | None,
    style: str,
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

    A row has a prediction, one or more references and, if there are, a question and a synthetic answer. Scored rows
    go to standard output or -o; the summary goes to standard error. Every row comes out once, in order, with its id.
    """
    options = ReadOptions(
        format=input_format,
        encoding=encoding,
        fields=FieldMap(_fields(field_names)),
        skip_bad_rows=skip_bad_rows,
        allow_duplicate_ids=allow_duplicate_ids,
    )
    if "-" in (input_file, predictions_file) and input_file == predictions_file:
        raise UsageError("only one of INPUT and --predictions can be standard input")
    if input_file == "-" and sys.stdin.isatty():
        raise UsageError("name an INPUT file, or pipe rows in")
    from smile_lite.report import Summary

    summary = Summary()
    with _progress(input_file) as on_bytes:
        rows = _rows(input_file, predictions_file, options, on_bytes, allow_missing=allow_missing)
        rows = _peeked(rows)  # a wrong file is told before a model is fetched and loaded
        smile = load_smile(**settings)
        if smile.rule.kind == "paper" and settings["verdict"] is None:
            notify(
                "no calibration for this model and these settings: the verdict is the paper's (score of at least 2/3)"
            )
        with _destination(output) as out:
            _WRITERS[style](out, _counted(_located(smile.stream(rows), input_file), summary))
    environment = smile.environment()
    _report(summary, environment, summary_file)
    _gates(summary, fail_under, min_pass_rate)


def _fields(pairs: Iterable[str]) -> dict[str, str]:
    fields = {}
    for pair in pairs:
        name, equals, column = pair.partition("=")
        if not (name and equals and column):
            raise UsageError(f"--field takes NAME=COLUMN, not {pair!r}")
        fields[name] = column
    return fields


def _rows(
    input_file: str,
    predictions_file: str | None,
    options: ReadOptions,
    on_bytes: Callable[[int], object] | None,
    *,
    allow_missing: bool,
) -> Iterator[Row]:
    from dataclasses import replace

    if predictions_file is None:
        return read_rows(input_file, options, on_bytes=on_bytes)
    return join_predictions(
        read_rows(input_file, replace(options, required=("id", "references")), on_bytes=on_bytes),
        read_rows(predictions_file, replace(options, required=("id", "prediction"), format=None)),
        rows_file=display_name(input_file),
        predictions_file=display_name(predictions_file),
        allow_missing=allow_missing,
    )


def _peeked(rows: Iterator[Row]) -> Iterator[Row]:
    first = next(rows)
    return _chain(first, rows)


def _chain(first: Row, rest: Iterator[Row]) -> Iterator[Row]:
    yield first
    yield from rest


def _located(scored: Iterator[tuple[Row, RowScore]], file: str) -> Iterator[tuple[Row, RowScore]]:
    """An input error found while scoring (--on-empty error) is told with its file."""
    try:
        yield from scored
    except InputError as error:
        if error.file is not None:
            raise
        raise InputError(error.message, file=display_name(file), line=error.line, field=error.field) from None


def _counted(scored: Iterator[tuple[Row, RowScore]], summary: Summary) -> Iterator[tuple[Row, RowScore]]:
    for row, score in scored:
        summary.add(score)
        yield row, score


@contextmanager
def _progress(input_file: str) -> Iterator[Callable[[int], object] | None]:
    """A bar over the bytes of the file, on standard error, where that is a terminal."""
    path = Path(input_file)
    if not sys.stderr.isatty() or not path.is_file():
        yield None
        return
    with click.progressbar(length=path.stat().st_size, label="grading", file=sys.stderr) as bar:
        yield bar.update


@contextmanager
def _destination(output: str | None) -> Iterator[IO[str]]:
    if output is None or output == "-":
        # Strict UTF-8 with bare line feeds, whatever the locale and the platform say.
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(encoding="utf-8", newline="\n")
        with nullcontext(sys.stdout) as stream:
            yield stream
        return
    with atomic_text_writer(output) as stream:
        yield stream


def output_row(row: Row, score: RowScore) -> dict[str, Any]:
    """What is written for a row: the score's fields, then the row's own, then what else came with it."""
    written = score.to_dict()
    own = {
        "question": row.question,
        "references": list(row.references),
        "prediction": row.prediction,
        "synthetic": list(row.synthetic) if any(row.synthetic) else None,
        "human": row.human,
    }
    written.update((name, value) for name, value in own.items() if value is not None)
    for name, value in row.extra.items():
        written[name if name not in written and name not in own else f"input_{name}"] = value
    return written


def _write_jsonl(out: IO[str], scored: Iterator[tuple[Row, RowScore]]) -> None:
    for row, score in scored:
        out.write(json_line(output_row(row, score)))


def _write_json(out: IO[str], scored: Iterator[tuple[Row, RowScore]]) -> None:
    separator = "[\n"
    for row, score in scored:
        out.write(separator + json_line(output_row(row, score)).rstrip("\n"))
        separator = ",\n"
    out.write("\n]\n" if separator == ",\n" else "[]\n")


_CSV_COLUMNS = (
    "id", "score", "semantic", "lexical", "exact", "ngram_similarity", "best_ngram", "best_reference", "bin", "verdict",
    "reason", "signature", "question", "references", "prediction",
)  # fmt: skip


def _write_csv(out: IO[str], scored: Iterator[tuple[Row, RowScore]]) -> None:
    import csv

    table = csv.writer(out, lineterminator="\n")
    table.writerow(_CSV_COLUMNS)
    for row, score in scored:
        written = output_row(row, score)
        written["references"] = json.dumps(written["references"], ensure_ascii=False)
        table.writerow([_safe_cell(written.get(column)) for column in _CSV_COLUMNS])


def _safe_cell(value: Any) -> Any:
    """Text that a spreadsheet would run as a formula gets an apostrophe in front (OWASP's advice on CSV injection)."""
    if not isinstance(value, str):
        return value
    value = value.encode("utf-8", "replace").decode("utf-8")
    return f"'{value}" if value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def _write_table(out: IO[str], scored: Iterator[tuple[Row, RowScore]]) -> None:
    from shutil import get_terminal_size

    from smile_lite.report import format_table

    listed = list(scored)
    inputs = [
        (row.references[score.best_reference or 0] if row.references else "", row.prediction or "")
        for row, score in listed
    ]
    width = get_terminal_size((120, 40)).columns
    out.write(format_table([score for _, score in listed], inputs=inputs, width=max(80, width)) + "\n")


_WRITERS: dict[str, Callable[[IO[str], Iterator[tuple[Row, RowScore]]], None]] = {
    "jsonl": _write_jsonl,
    "json": _write_json,
    "csv": _write_csv,
    "table": _write_table,
}


def _report(summary: Summary, environment: dict[str, Any], summary_file: str | None) -> None:
    from smile_lite.report import format_summary

    click.echo(format_summary(summary), err=True)
    if summary_file is not None:
        if summary_file == "-":
            raise OutputError("--summary needs a file's name")
        with atomic_text_writer(summary_file) as out:
            json.dump(
                {**summary.to_dict(), "environment": environment},
                out,
                ensure_ascii=False,
                indent=1,
                allow_nan=False,
            )
            out.write("\n")


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
