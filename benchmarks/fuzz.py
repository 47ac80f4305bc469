"""Throws generated inputs at what people's files reach first, and tells every crash that is not an error of ours.

    python -m benchmarks.fuzz --minutes 60 [--seed 1] [--only files rows text scores]

files: any bytes in each format, read with and without --skip-bad-rows. rows: valid rows with something changed.
text: words, n-grams, folding, markup and guards. scores: rows through the metric: finite, in [0, 1], strict JSON.
Exit 1 where there was a crash, each distinct one printed with an input that reproduces it, as small as could be found.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException

from smile_lite import text as words
from smile_lite.errors import SmileLiteError
from smile_lite.guards import flags
from smile_lite.metric import Smile
from smile_lite.rows import FORMATS, BadRow, FieldMap, ReadOptions, Row, json_line, read_rows, row_from_mapping
from smile_lite.testing import FakeEncoder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_EXAMPLES_PER_TURN = 300
_ENCODINGS = ("utf-8", "utf-8", "utf-8", "utf-16", "utf-32", "utf-8-sig", "latin-1", "cp1252", "utf-7", "ascii", "big5")

# -- what is generated

_SNIPPETS = st.sampled_from(
    (
        "answer", "pred", "id", "references", "synthetic", "human", "question", "NaN", "null", "-Infinity", "1e999",
        "\ufeff", "\ud83d", "\x00", "\r", "\r\n", "\n", "\u2028", "\x85", '"', '""', "'", "\\", "\\u0000",
        "\\ud800", ",", ";", "\t", "|", "[", "]", "{", "}", ":", "=1+1", "@SUM(1)", "sep=;", "0" * 30, "9" * 5000,
        "[" * 300, "\x1b[31m", "<think>", "</think>", "**", "```", "\\boxed{", "\\frac{1}{2}", "$", "&lt;", "<b>",
        "½", "²", "ﬁ", "İ", "ß", "東京", "สวัสดี", "e\u0301", "\u202e", "\u200b", "1,000.50", "1.000,50", "3/4",
        "10:30", "2024-02-30", "no", "not", "yes", "XIV", "twenty-one", "-5 °C", "$1.5B", "(A)", "I cannot answer",
        "\u0661\u0662", "Ⅻ", "㎏", "①", "\U0001d7d8", "\U0001f469\u200d\U0001f467",
    )
)  # fmt: skip
_TEXT = st.lists(_SNIPPETS | st.text(max_size=6) | st.text(st.characters(), max_size=6), max_size=8).map("".join)
_SPACED = st.lists(_SNIPPETS | st.text(st.characters(), max_size=6), max_size=10).map(" ".join)
_ANY_TEXT = _TEXT | _SPACED
_NUMBERS = st.integers() | st.floats() | st.sampled_from([10**400, -0.0, 2**63, 1e308])
_JSON = st.recursive(
    st.none() | st.booleans() | _NUMBERS | _ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_ANY_TEXT, inner, max_size=4),
    max_leaves=6,
)
_NAMES = st.sampled_from(
    ["id", "question_id", "question", "query", "references", "answer", "gold", "target", "prediction", "pred",
     "response", "synthetic", "syn_ans", "human", "score", "input_score", "reason", "extra", ""]
)  # fmt: skip
_VALID = st.fixed_dictionaries(
    {"answer": _ANY_TEXT | st.lists(_ANY_TEXT | st.none(), max_size=3), "pred": _ANY_TEXT | st.none()},
    optional={"id": _ANY_TEXT | st.integers(), "question": _ANY_TEXT | st.none(), "human": st.floats(0, 1)},
)
_MAPPINGS = st.builds(
    lambda row, more: {**row, **more}, _VALID | st.just({}), st.dictionaries(_NAMES | _ANY_TEXT, _JSON, max_size=4)
)


@st.composite
def _file(draw: st.DrawFn) -> tuple[str, str, bytes]:
    """(format, encoding, bytes): noise, or rows of that format with a little noise in them."""
    kind, encoding = draw(st.sampled_from(FORMATS)), draw(st.sampled_from(_ENCODINGS))
    how = draw(st.sampled_from(["noise", "text", "rows", "rows", "rows"]))
    if how == "noise":
        return kind, encoding, draw(st.binary(max_size=200))
    if how == "text":
        return kind, encoding, _encoded(draw(_ANY_TEXT), encoding)
    rows = draw(st.lists(_MAPPINGS, max_size=4))
    content = bytearray(_parquet(rows) if kind == "parquet" else _encoded(_written(rows, kind), encoding))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(content)))
        content[at : at + draw(st.integers(0, 4))] = draw(
            st.binary(max_size=4) | st.sampled_from([b"\r", b"\x00", b'"'])
        )
    return kind, encoding, bytes(content)


def _encoded(text: str, encoding: str) -> bytes:
    return text.encode(encoding, "replace" if encoding == "big5" else "ignore")


def _written(rows: list[dict[str, Any]], kind: str) -> str:
    if kind in ("json", "jsonl"):
        lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        return "[" + ",\n".join(lines) + "]" if kind == "json" else "\n".join(lines)
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = [names, *([str(row.get(name, "")) for name in names] for row in rows)]
    separator = "\t" if kind == "tsv" else ","
    return "\n".join(separator.join('"' + cell.replace('"', '""') + '"' for cell in line) for line in table)


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    try:
        import pyarrow as pa
        from pyarrow import parquet

        sink = pa.BufferOutputStream()
        parquet.write_table(pa.Table.from_pylist(rows), sink)
        return bytes(sink.getvalue())
    except Exception:  # not every row fits into columns; then other bytes do
        return b"PAR1" + repr(rows).encode("utf-8", "replace") + b"PAR1"


# -- what is held


def _files(example: tuple[str, str, bytes]) -> None:
    kind, encoding, content = example
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"rows.{kind}"
        path.write_bytes(content)
        for skip in (False, True):
            with contextlib.suppress(SmileLiteError):
                for row in read_rows(path, ReadOptions(encoding=encoding, skip_bad_rows=skip)):
                    _strict(json_line({"id": row.id, **row.extra}))


def _rows(raw: dict[str, Any]) -> None:
    try:
        row = row_from_mapping(raw, FieldMap(), number=1, file="f", line=1)
    except SmileLiteError as error:
        row = BadRow(1, error).as_row()  # type: ignore[arg-type]
    _hold(all(isinstance(reference, str) for reference in row.references), row)
    _hold(len(row.synthetic) == len(row.references), row)
    _hold(row.prediction is None or isinstance(row.prediction, str), row)


def _text(text: str) -> None:
    words.fold(text)
    split = words.split_words(text)
    for size in (1, 2, max(1, len(split.keys))):
        words.ngrams(split.keys, size)
    words.unwrap(text)
    flags(text[: len(text) // 2], text, text[len(text) // 3 :])


_SMILES = [
    Smile(FakeEncoder()),
    Smile(FakeEncoder(), long="window", exact="strict", on_empty="null", guards=True),
    Smile(FakeEncoder(), markup=False, weight=1),
]


def _scores(raws: list[dict[str, Any]]) -> None:
    rows: list[Row] = []
    for number, raw in enumerate(raws, start=1):
        with contextlib.suppress(SmileLiteError):
            rows.append(row_from_mapping(raw, FieldMap(), number=number))
    for smile in _SMILES:
        report = smile.score_rows(rows)
        _hold(len(report.rows) == len(rows), report)
        for row, score in zip(rows, report.rows, strict=True):
            _hold(score.id == row.id, score)
            parts = (score.score, score.semantic, score.lexical, score.exact, score.ngram_similarity)
            _hold((score.score is None) == (score.verdict is None), score)
            _hold(score.score is not None or score.reason is not None, score)
            _hold(all(part is None or (math.isfinite(part) and 0 <= part <= 1) for part in parts), score)
            _strict(json_line(score.to_dict()))
        _strict(report.format("json").encode("utf-8", "replace").decode())
        report.format("table", width=40)


def _hold(promise: bool, what: object) -> None:
    if not promise:
        raise AssertionError(what)


def _strict(line: str) -> None:
    def refuse(constant: str) -> Any:
        raise AssertionError(f"{constant} is not JSON")

    json.loads(line, parse_constant=refuse)
    line.encode("utf-8")


TARGETS: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], None]]] = {
    "files": (_file(), _files),
    "rows": (_MAPPINGS, _rows),
    "text": (_ANY_TEXT | st.text(st.characters(), max_size=40), _text),
    "scores": (st.lists(_VALID, min_size=1, max_size=4), _scores),
}


# -- how


def run(minutes: float, start: int, only: list[str]) -> dict[str, tuple[str, str]]:
    """The distinct crashes: where -> (the target with its input, the traceback)."""
    crashes: dict[str, tuple[str, str]] = {}
    until, turn, tried = time.monotonic() + 60 * minutes, 0, 0
    while time.monotonic() < until:
        for name in only:
            tried += _turn(name, start + turn, until, crashes)
        turn += 1
    print(f"{tried} inputs in {turn} turns from seed {start}, {len(crashes)} crashes", file=sys.stderr)
    return crashes


def _turn(name: str, number: int, until: float, crashes: dict[str, tuple[str, str]]) -> int:
    strategy, held = TARGETS[name]
    tried = 0
    last: Any = None

    @seed(number)
    @settings(
        max_examples=_EXAMPLES_PER_TURN,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
        print_blob=False,
        report_multiple_bugs=False,
    )
    @given(strategy)
    def attempt(example: Any) -> None:
        nonlocal tried, last
        if time.monotonic() > until:
            return
        tried += 1
        try:
            held(example)
        except Exception as error:
            if _place(error) not in crashes:
                last = example
                raise

    try:
        attempt()
    except HypothesisException:
        raise
    except Exception as error:
        place = _place(error)
        crashes[place] = (f"{name}: {last!r}", "".join(traceback.format_exception(error)[-8:]))
        print(f"CRASH {place}\n  {crashes[place][0]}", file=sys.stderr, flush=True)
    return tried


def _place(error: BaseException) -> str:
    """The kind of an error and the last line of ours that it passed."""
    ours = [frame for frame in _frames(error) if "smile_lite" in frame.filename or "fuzz" in frame.filename]
    at = ours[-1] if ours else None
    return f"{type(error).__name__} at {Path(at.filename).name}:{at.lineno}" if at else type(error).__name__


def _frames(error: BaseException) -> Iterator[traceback.FrameSummary]:
    yield from traceback.extract_tb(error.__traceback__)


def main() -> None:
    """Run for so many minutes; crashes go to standard output."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, help="default: another one each time")
    parser.add_argument("--only", nargs="+", choices=TARGETS, default=list(TARGETS))
    arguments = parser.parse_args()
    start = random.SystemRandom().randrange(2**31) if arguments.seed is None else arguments.seed
    crashes = run(arguments.minutes, start, arguments.only)
    for place, (what, trace) in crashes.items():
        print(f"== {place}\n{what}\n{trace}")
    sys.exit(bool(crashes))


if __name__ == "__main__":
    main()
