"""What came out: one RowScore a row, and a Report that counts, averages and prints them."""

from __future__ import annotations

import json
import math
import unicodedata
from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from smile_lite.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Report", "RowScore", "Summary", "format_summary", "format_table", "plain"]

_LONGEST_ID = 32


@dataclass(frozen=True, slots=True)
class RowScore:
    """The score of one row and its parts, all in [0, 1] (under the profile `reference` the parts are raw cosines).

    score: None where the row cannot be scored; then `reason` holds the code (missing_prediction, missing_reference,
    empty_reference, bad_row). reason is empty_prediction, with score 0, for a prediction of nothing. best_reference:
    index of the reference that scored highest. flags: what the guards noticed, and "truncated" where the semantic part
    saw the beginning of the prediction only. best_ngram: the stretch of the prediction nearest to it, as written.
    bin: 0 to 5.
    """

    id: str | int | None
    score: float | None
    semantic: float | None
    lexical: float | None
    exact: float | None
    ngram_similarity: float | None
    best_ngram: str | None
    best_reference: int | None
    bin: int | None
    verdict: str | None
    reason: str | None
    signature: str
    flags: tuple[str, ...] = ()
    average: float | None = None
    harmonic: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """The fields by name; `average` and `harmonic` only under the profile `reference`."""
        names = list(RowScore.__slots__)
        if self.average is None:
            names = names[:-2]
        return {name: getattr(self, name) for name in names} | {"flags": list(self.flags)}


class Summary:
    """Counts and sums over rows as they come, so that a file larger than memory can be summed up."""

    def __init__(self) -> None:
        self.n_rows = 0
        self.n_correct = 0
        self.bins = [0] * 6
        self.reasons: Counter[str] = Counter()
        self.flags: Counter[str] = Counter()
        self.signatures: Counter[str] = Counter()
        self._scores = array("d")  # eight bytes a row, so that the mean is exact and does not depend on the order

    def add(self, row: RowScore) -> None:
        """Count one row."""
        self.n_rows += 1
        self.signatures[row.signature] += 1
        self.flags.update(row.flags)
        if row.reason is not None:
            self.reasons[row.reason] += 1
        if row.score is None or row.bin is None:
            return
        self.bins[row.bin] += 1
        self.n_correct += row.verdict == "correct"
        self._scores.append(row.score)

    @property
    def n_scored(self) -> int:
        """Rows that have a score."""
        return sum(self.bins)

    @property
    def mean(self) -> float | None:
        """The mean score of the scored rows; None where there are none. Independent of the rows' order."""
        return math.fsum(self._scores) / self.n_scored if self.n_scored else None

    @property
    def pass_rate(self) -> float | None:
        """The share of the scored rows that are correct; None where there are none."""
        return self.n_correct / self.n_scored if self.n_scored else None

    @property
    def signature(self) -> str:
        """The signature of the rows; where they differ (some rows with a synthetic answer, some without) in `syn`,
        how many of each.
        """
        return merge_signatures(self.signatures)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "n_rows": self.n_rows,
            "n_scored": self.n_scored,
            "n_unscored": self.n_rows - self.n_scored,
            "mean": self.mean,
            "pass_rate": self.pass_rate,
            "bins": list(self.bins),
            "reasons": dict(sorted(self.reasons.items())),
            "flags": dict(sorted(self.flags.items())),
            "signature": self.signature,
        }


def merge_signatures(counts: Mapping[str, int]) -> str:
    """One signature for rows of several: fields that differ list each value with its count, joined by +."""
    if len(counts) < 2:
        return next(iter(counts), "")
    split = {signature: signature.split("|") for signature in counts}
    merged = []
    for parts in zip(*split.values(), strict=True):
        if len(set(parts)) == 1:
            merged.append(parts[0])
            continue
        tally: Counter[str] = Counter()
        for part, signature in zip(parts, split, strict=True):
            tally[part.partition(":")[2]] += counts[signature]
        name = parts[0].partition(":")[0]
        merged.append(f"{name}:" + "+".join(f"{value}*{count}" for value, count in sorted(tally.items())))
    return "|".join(merged)


@dataclass(frozen=True)
class Report:
    """The scored rows, in the order they were given."""

    rows: tuple[RowScore, ...]
    environment: Mapping[str, Any] = field(default_factory=dict)

    @property
    def summary(self) -> Summary:
        """Counts and mean."""
        summary = Summary()
        for row in self.rows:
            summary.add(row)
        return summary

    @property
    def scores(self) -> list[float | None]:
        """One score a row; None for a row that cannot be scored."""
        return [row.score for row in self.rows]

    @property
    def verdicts(self) -> list[str | None]:
        """One verdict a row: "correct", "incorrect" or None."""
        return [row.verdict for row in self.rows]

    @property
    def mean(self) -> float | None:
        """The mean score of the scored rows; None where there are none."""
        return self.summary.mean

    @property
    def signature(self) -> str:
        """What these numbers are called; quote it beside them."""
        return self.summary.signature

    def to_dict(self) -> dict[str, Any]:
        """Summary, environment and rows as plain data, ready for json.dumps."""
        return {
            **self.summary.to_dict(),
            "environment": dict(self.environment),
            "rows": [row.to_dict() for row in self.rows],
        }

    def format(self, style: str = "table", *, width: int = 100) -> str:
        """As text: "table" (aligned columns, at most `width` wide) or "json". Raises UsageError for another style."""
        if style == "json":
            return json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False)
        if style != "table":
            raise UsageError(f"no format is called {style!r}: there are table and json")
        return f"{format_table(self.rows, width=width)}\n{format_summary(self.summary)}"

    def __str__(self) -> str:
        return format_summary(self.summary)


def format_summary(summary: Summary) -> str:
    """The figures, the flags if there are any, and the signature they are quoted with, a line each."""
    figures = [f"{summary.n_scored} of {summary.n_rows} rows scored"]
    if summary.mean is not None and summary.pass_rate is not None:
        figures += [f"mean {summary.mean:.4f}", f"correct {summary.n_correct} ({summary.pass_rate:.1%})"]
    figures += [f"{reason} {count}" for reason, count in sorted(summary.reasons.items())]
    lines = [", ".join(figures)]
    if summary.flags:
        lines.append(f"flags: {', '.join(f'{name} {count}' for name, count in sorted(summary.flags.items()))}")
    return "\n".join([*lines, summary.signature])


def format_table(rows: Sequence[RowScore], *, inputs: Sequence[tuple[str, str]] | None = None, width: int = 100) -> str:
    """Rows as aligned columns; with `inputs` the reference and the prediction of each beside its numbers.

    At most `width` wide: texts are cut, and long ids; numbers never are, though the table be wider for it.
    """
    numbers = [
        (
            _clip(_beginning(str(row.id), _LONGEST_ID), _LONGEST_ID),
            _number(row.score),
            _number(row.semantic),
            _number(row.exact),
            _number(row.ngram_similarity),
            "-" if row.bin is None else str(row.bin),
            (row.verdict or "-") if row.reason is None else row.reason,
        )
        for row in rows
    ]
    header = ("id", "score", "meaning", "exact", "n-gram", "bin", "verdict")
    columns = [max(map(_columns, column)) for column in zip(header, *numbers, strict=True)]
    left = max(16, width - sum(columns) - 2 * len(columns) - 2)
    texts = [
        (_beginning(one, left), _beginning(two, left))
        for one, two in inputs or [("", row.best_ngram or "") for row in rows]
    ]
    titles = ("reference", "prediction") if inputs else ("", "best n-gram")
    first = min(max([_columns(one) for one, _ in texts] + [len(titles[0])]), left // 3) if inputs else 0
    lines = []
    for cells, (one, two) in zip([header, *numbers], [titles, *texts], strict=True):
        parts = [_pad(cell, size) for cell, size in zip(cells, columns, strict=True)]
        if inputs:
            parts.append(_pad(_clip(one, first), first))
        parts.append(_clip(two, left - first - (2 if inputs else 0)))
        lines.append("  ".join(parts).rstrip())
    lines.insert(1, "-" * min(width, max(map(_columns, lines))))
    return "\n".join(lines)


def plain(text: str) -> str:
    """`text` on one line, harmless to a terminal: control, format and direction characters are left out."""
    spaced = " ".join(text.split())
    return "".join(char for char in spaced if unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn"))


def _beginning(text: str, size: int) -> str:
    """As `plain`, of as much as can be shown in `size` columns and a little more; texts may be of any length."""
    return plain(text.lstrip()[: 20 * size + 200])


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _columns(text: str) -> int:
    """Terminal columns: East Asian wide characters take two, marks none."""
    return sum(
        0 if unicodedata.category(char) in ("Mn", "Me") else 1 + (unicodedata.east_asian_width(char) in "WF")
        for char in text
    )


def _pad(text: str, size: int) -> str:
    return text + " " * (size - _columns(text))


def _clip(text: str, size: int) -> str:
    if _columns(text) <= size:
        return text
    kept: list[str] = []
    used = 0
    for char in text:
        used += _columns(char)
        if used > size - 1:
            break
        kept.append(char)
    return "".join(kept) + "…"
