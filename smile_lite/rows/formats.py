"""What each file format makes of a row: a line number and a mapping, or the reason why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smile_lite.rows.csv_format import separated
from smile_lite.rows.json_format import read_json, read_jsonl
from smile_lite.rows.parquet_format import read_parquet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from smile_lite.rows.source import Content, Source

__all__ = ["READERS"]

READERS: dict[str, Callable[[Source], Iterator[Content]]] = {
    "jsonl": read_jsonl,
    "json": read_json,
    "csv": separated("CSV", ","),
    "tsv": separated("TSV", "\t"),
    "parquet": read_parquet,
}
