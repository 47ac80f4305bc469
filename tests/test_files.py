"""Files as people have them: every table is of a kind of mess, and what becomes of it."""

from __future__ import annotations

import codecs
import csv
import errno
import gzip
import io
import json
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unicodedata import combining

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from smile_lite.cli.output import WRITERS
from smile_lite.cli.resume import take_over
from smile_lite.errors import InputError, OutputError, SmileLiteError, UsageError
from smile_lite.metric import Smile
from smile_lite.report import Summary, format_table
from smile_lite.rows import (
    FieldMap,
    ReadOptions,
    Row,
    atomic_text_writer,
    has_known_ending,
    json_line,
    part_of,
    read_rows,
    resumable_text_writer,
    rows_from_columns,
    writers,
)
from smile_lite.testing import FakeEncoder

from .conftest import Run

BOM = codecs.BOM_UTF8
JSONL = '{"answer": "café", "pred": "x"}\n{"answer": "b", "pred": "y"}\n'
CSV = "answer,pred\ncafé,x\nb,y\n"
JSON = '[{"answer": "café", "pred": "x"},\n{"answer": "b", "pred": "y"}]'
WANTED = [(("café",), "x"), (("b",), "y")]


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def packed(content: str | bytes) -> bytes:
    return gzip.compress(content.encode() if isinstance(content, str) else content, mtime=0)


def read(path: Path, **options: Any) -> list[Row]:
    return list(read_rows(path, ReadOptions(**options)))


def pairs(rows: list[Row]) -> list[tuple[tuple[str, ...], str | None]]:
    return [(row.references, row.prediction) for row in rows]


# -- encodings


@pytest.mark.parametrize(
    ("name", "content", "encoding"),
    [
        ("twice.jsonl", BOM + BOM + JSONL.encode(), "utf-8"),
        ("twice.csv", BOM + BOM + CSV.encode(), "utf-8"),
        ("twice.json", BOM + BOM + JSON.encode(), "UTF8"),
        ("quoted.csv", BOM + CSV.replace("answer,pred", '"answer","pred"').encode(), "utf-8"),
        ("sig.csv", BOM + CSV.encode(), "utf-8-sig"),
        ("joined.jsonl", JSONL.encode()[:33] + BOM + JSONL.encode()[33:], "utf-8"),
        ("u16.jsonl", JSONL.encode("utf-16"), "utf-16"),
        ("u16le.csv", CSV.encode("utf-16-le"), "utf-16-le"),
        ("u16le-marked.csv", codecs.BOM_UTF16_LE + CSV.encode("utf-16-le"), "utf_16_le"),
        ("u16be.json", codecs.BOM_UTF16_BE + JSON.encode("utf-16-be"), "utf-16"),
        ("u32.csv", CSV.encode("utf-32"), "utf-32"),
        ("u32.jsonl", codecs.BOM_UTF32_BE + JSONL.encode("utf-32-be"), "utf-32"),
        ("latin.csv", CSV.encode("latin-1"), "latin-1"),
        ("cp1252.tsv", CSV.replace(",", "\t").encode("cp1252"), "cp1252"),
        ("mac.jsonl", JSONL.encode("mac-roman"), "mac-roman"),
    ],
)
def test_a_file_is_read_in_the_encoding_that_is_named_with_or_without_marks(
    tmp_path: Path, name: str, content: bytes, encoding: str
) -> None:
    assert pairs(read(write(tmp_path, name, content), encoding=encoding)) == WANTED


@pytest.mark.parametrize(
    ("name", "content", "encoding", "message"),
    [
        ("u16.csv", CSV.encode("utf-16"), "utf-8", "line 1: it is not UTF-8; it looks like UTF-16: use --encoding"),
        ("u16le.jsonl", JSONL.encode("utf-16-le"), "utf-8", "looks like UTF-16-LE: use --encoding utf-16-le"),
        ("u16be.csv", CSV.encode("utf-16-be"), "utf-8", "looks like UTF-16-BE: use --encoding utf-16-be"),
        ("u32.json", JSON.encode("utf-32"), "utf-8", "looks like UTF-32: use --encoding utf-32"),
        ("u32le.csv", CSV.encode("utf-32-le"), "utf-8", "looks like UTF-32-LE: use --encoding utf-32-le"),
        ("u32be.csv", CSV.encode("utf-32-be"), "utf-8", "looks like UTF-32-BE: use --encoding utf-32-be"),
        ("marked.csv", BOM + CSV.encode(), "cp1252", "it is not cp1252; it looks like UTF-8: use --encoding utf-8"),
        ("marked16.csv", CSV.encode("utf-16"), "latin-1", "it looks like UTF-16"),
        ("latin.csv", CSV.encode("latin-1"), "utf-8", r"line 2: it is not UTF-8 \(byte 0xe9 at column 4\): use --enc"),
        ("latin.jsonl", JSONL.encode("latin-1"), "utf-8", "line 1: it is not UTF-8 .byte 0xe9 at column 16"),
        ("latin.json", b'[{"answer": "a",\n\n"pred": "\xfc"}]', "utf-8", "line 3: it is not UTF-8 .byte 0xfc at col"),
        ("cell.csv", b'answer,pred\n"a\n\xe9",x\n', "utf-8", "line 3: it is not UTF-8 .byte 0xe9 at column 1"),
        ("header.csv", b"answer,pred,\xe9\na,b,c\n", "utf-8", "line 1: it is not UTF-8"),
        ("hole.csv", b"answer,pred\na,\x81\n", "cp1252", "line 2: it is not cp1252 .byte 0x81.*use another --encoding"),
        ("surrogate.jsonl", b'{"answer": "a", "pred": "\xed\xa0\xbd"}', "utf-8", "line 1: it is not UTF-8 .byte 0xed"),
        ("cut.jsonl", JSONL.encode("utf-16")[:-1], "utf-16", "line 2: it is not utf-16"),
        ("ascii.jsonl", JSONL.encode(), "ascii", "line 1: it is not ascii .byte 0xc3"),
    ],
)
def test_a_file_of_another_encoding_is_refused_with_its_line_and_what_to_name(
    tmp_path: Path, name: str, content: bytes, encoding: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read(write(tmp_path, name, content), encoding=encoding)


@pytest.mark.parametrize("encoding", ["utf-99", "", "base64", "rot13", "a\0b", "utf-8 "])
def test_an_encoding_that_does_not_exist_is_a_matter_of_usage(tmp_path: Path, encoding: str) -> None:
    if encoding == "utf-8 ":  # spaces are forgiven
        assert len(read(write(tmp_path, "a.jsonl", JSONL), encoding=encoding)) == 2
        return
    with pytest.raises(UsageError, match="no encoding is called"):
        read(write(tmp_path, "a.jsonl", JSONL), encoding=encoding)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", b'{"answer": "a", "pred": "\xe9"}\n{"answer": "b", "pred": "y"}\n'),
        ("a.csv", b"answer,pred\na,\xe9\nb,y\n"),
    ],
)
def test_a_line_in_another_encoding_is_a_bad_row_where_those_are_skipped(
    tmp_path: Path, name: str, content: bytes
) -> None:
    rows = read(write(tmp_path, name, content), skip_bad_rows=True)
    assert [row.reason for row in rows] == ["bad_row", None]
    assert "it is not UTF-8" in rows[0].extra["error"]
    assert rows[1].prediction == "y"


# -- lines


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n", "\n\n", "\r\n \r\n", "\n\r"])
@pytest.mark.parametrize(
    ("name", "content"), [("a.jsonl", JSONL), ("a.csv", CSV), ("a.tsv", CSV.replace(",", "\t")), ("a.json", JSON)]
)
def test_lines_end_in_any_way_and_blank_ones_are_passed_over(tmp_path: Path, name: str, content: str, end: str) -> None:
    assert pairs(read(write(tmp_path, name, content.replace("\n", end)))) == WANTED
    assert pairs(read(write(tmp_path, name, content.replace("\n", end).rstrip("\r\n ")))) == WANTED


def test_line_ends_inside_a_quoted_cell_stay_as_they_are(tmp_path: Path) -> None:
    content = 'answer,pred\r\n"a\rb","x\r\ny"\r\n"c\n\nd",\r\n'
    rows = read(write(tmp_path, "q.csv", content))
    assert pairs(rows) == [(("a\rb",), "x\r\ny"), (("c\n\nd",), "")]
    assert [row.line for row in rows] == [2, 5]


def test_separators_of_lines_that_are_no_line_ends_stay_in_the_text(tmp_path: Path) -> None:
    text = "a\u2028b\u2029c\x85d\x1ce"
    rows = read(
        write(tmp_path, "s.jsonl", json.dumps({"answer": "a", "pred": text}, ensure_ascii=False) + "\n" + JSONL)
    )
    assert rows[0].prediction == text
    rows = read(write(tmp_path, "s.csv", f"answer,pred\na,{text}\n"))
    assert rows[0].prediction == text


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.json"])
def test_a_line_of_many_megabytes_is_a_line(tmp_path: Path, name: str) -> None:
    huge = "x" * 20_000_000
    content = {
        "a.jsonl": json.dumps({"answer": "a", "pred": huge}) + "\n",
        "a.csv": f"answer,pred\na,{huge}\n",
        "a.json": json.dumps([{"answer": "a", "pred": huge}]),
    }
    rows = read(write(tmp_path, name, content[name]))
    assert [len(row.prediction or "") for row in rows] == [len(huge)]


# -- other kinds of files


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (packed(JSONL), "packed with gzip: let its name end in .gz"),
        (b"PK\x03\x04rest", "a ZIP archive or a workbook: unpack it, or save it as CSV"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "a workbook of an old kind"),
        (b"PAR1\x15\x04", "Parquet: use --input-format parquet"),
        (b"\x28\xb5\x2f\xfd\x04", "packed with zstd"),
        (b"\xfd7zXZ\x00\x00", "packed with xz"),
        (b"SQLite format 3\x00", "a database"),
        (b"%PDF-1.7\n", "a PDF"),
    ],
)
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.json"])
def test_a_file_that_is_no_text_is_told_for_what_it_is(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    for skip in (False, True):
        with pytest.raises(InputError, match=message):
            read(write(tmp_path, name, content), skip_bad_rows=skip)


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.jsonl.gz", JSONL), ("a.CSV.GZ", CSV), ("a.json.gz", JSON), ("a.tsv.gz", CSV.replace(",", "\t"))],
)
def test_a_file_whose_name_ends_in_gz_is_unpacked(tmp_path: Path, name: str, content: str) -> None:
    heard: list[int] = []
    path = write(tmp_path, name, packed(content))
    assert has_known_ending(path)
    assert pairs(list(read_rows(path, on_bytes=heard.append))) == WANTED
    assert sum(heard) == path.stat().st_size  # progress is over what lies on the disk
    utf16 = write(tmp_path, "u.csv.gz", packed(CSV.encode("utf-16")))
    assert pairs(read(utf16, encoding="utf-16")) == WANTED


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (JSONL.encode(), "it is not sound gzip"),
        (packed(JSONL)[:-4], "its end is missing"),
        (packed(JSONL)[:20], "its end is missing"),
        (packed(JSONL)[:-8] + b"\0" * 8, "it is not sound gzip"),
        (packed(""), "there are no rows in it"),
        (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xff\xff", "it is not sound gzip"),
    ],
)
def test_gzip_that_is_not_sound_is_told(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(write(tmp_path, "a.jsonl.gz", content))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("It is Paris.", "there is no such file"),
        ("none.txt", "there is no such file"),
        ("none.jsonl", "there is no such file"),
        ("x" * 5000 + ".jsonl", "it cannot be read"),
        ("a\0b.jsonl", "it cannot be read"),
        ("folder", "it is a folder"),
        ("folder.csv", "it cannot be read"),
        ("book.xlsx", "save it as CSV"),
        ("rows.jsonl.zip", "unpack it"),
        ("rows.txt", "choose with --input-format"),
    ],
)
def test_a_name_is_a_file_or_an_error_and_never_text(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.csv").mkdir()
    for known in ("book.xlsx", "rows.jsonl.zip", "rows.txt"):
        write(tmp_path, known, "x")
    with pytest.raises(InputError, match=message):
        read(tmp_path / name)


# -- CSV


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("semicolon.csv", "answer;pred\na, b;x\nc;y\n"),
        ("tabs.csv", "answer\tpred\na, b\tx\nc\ty\n"),
        ("bars.csv", "answer|pred\na, b|x\nc|y\n"),
        ("commas.tsv", 'answer,pred\n"a, b",x\nc,y\n'),
        ("stated.csv", "sep=;\nanswer;pred\na, b;x\nc;y\n"),
        ("quoted.csv", '"answer";"pred"\n"a, b";"x"\n"c";"y"\n'),
        ("blank.csv", "\n  \n;\nanswer;pred\na, b;x\n\nc;y\n".replace(";\n", "\n", 1)),
    ],
)
def test_a_separator_is_told_by_the_header(tmp_path: Path, name: str, content: str) -> None:
    assert pairs(read(write(tmp_path, name, content))) == [(("a, b",), "x"), (("c",), "y")]


def test_the_line_that_states_the_separator_counts_as_a_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 3: 1 cells where the header has 2"):
        read(write(tmp_path, "s.csv", "sep=;\nanswer;pred\na\n"))


def test_a_column_that_the_user_names_is_not_split(tmp_path: Path) -> None:
    path = write(tmp_path, "p.csv", "a;b\nx;y\n")
    rows = list(read_rows(path, ReadOptions(fields=FieldMap({"prediction": "a;b"}), required=("prediction",))))
    assert rows[0].prediction == "x;y"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("answer,pred\na\n", "line 2: 1 cells where the header has 2"),
        ("answer,pred\na,x,\n", "line 2: 3 cells where the header has 2"),
        ('answer,pred\n"a\nb",x,y\n', "line 2: 3 cells where the header has 2"),
        ("answer,pred,answer\na,x,b\n", "line 1: the column 'answer' stands twice"),
        ("\n\nanswer, answer\na,x\n", "line 3: the column 'answer' stands twice"),
        ('answer,pred\nok,x\n"a"b,x\n', "line 3: this is not CSV: ',' expected after '\"'"),
        ('answer,pred\nok,x\n"a,b\nc,d\n', "line 3: this is not CSV: a quote that opens in this row is never closed"),
        ("answer;other\na;x\n", "line 2: field 'prediction' is missing .present: answer, other."),
    ],
)
def test_a_table_that_is_wrong_is_told_with_its_line(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(write(tmp_path, "w.csv", content))


def test_bad_rows_of_a_table_keep_their_place_and_say_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, "b.csv", 'id,answer,pred\n1,a,x\n2,a\n"3"x,a,y\n4,b,y,z\n5,c,z\n')
    rows = read(path, skip_bad_rows=True)
    assert [(row.line, row.reason) for row in rows] == [
        (2, None), (3, "bad_row"), (4, "bad_row"), (5, "bad_row"), (6, None)
    ]  # fmt: skip
    assert all(row.extra["error"].startswith(f"{path}, line {row.line}: ") for row in rows if row.reason)
    named = read(write(tmp_path, "n.jsonl", '{"answer": 5, "pred": "x"}'), skip_bad_rows=True)[0]
    assert named.extra["error"].startswith(f"{tmp_path / 'n.jsonl'}, line 1: field 'answer'")
    with pytest.raises(InputError, match="never closed"):  # all that follows may be in the quotes
        read(write(tmp_path, "q.csv", 'answer,pred\n"a,x\nb,y\n'), skip_bad_rows=True)


@pytest.mark.parametrize("text", ["NA", "None", "nan", "null", "N/A", "NaN", "#N/A", "true", "1e5", "007", "-", "inf"])
def test_words_for_nothing_are_words(tmp_path: Path, text: str) -> None:
    row = read(write(tmp_path, "w.csv", f"id,question,answer,pred\n{text},{text},{text},{text}\n"))[0]
    assert (row.id, row.question, row.references, row.prediction) == (text, text, (text,), text)
    row = read(write(tmp_path, "w.json", json.dumps([{"id": text, "answer": [text], "pred": text}])))[0]
    assert (row.id, row.references, row.prediction) == (text, (text,), text)


def test_an_empty_cell_is_empty_text_and_an_empty_id_is_none(tmp_path: Path) -> None:
    rows = read(write(tmp_path, "e.csv", "id,answer,pred,question,human\n,a,,,\n ,,x,,\n7,,,,1\n"))
    assert [(row.id, row.references, row.prediction) for row in rows] == [
        (1, ("a",), ""),
        (2, ("",), "x"),
        ("7", ("",), ""),
    ]
    assert [row.human for row in rows] == [None, None, 1.0]
    with pytest.raises(InputError, match="line 2: field 'id' is null: a join needs ids"):
        read(write(tmp_path, "j.csv", "id,pred\n,a\n"), required=("id", "prediction"))


def test_columns_without_a_name_are_called_by_their_place(tmp_path: Path) -> None:
    row = read(write(tmp_path, "n.csv", ",answer,pred,,\n0,a,x,,y\n"))[0]
    assert row.extra == {"column 1": "0", "column 4": "", "column 5": "y"}


def test_zero_bytes_and_control_characters_are_text_in_a_table(tmp_path: Path) -> None:
    assert pairs(read(write(tmp_path, "z.csv", b"answer,pred\na\x00b,\x1b[31mx\n"))) == [(("a\0b",), "\x1b[31mx")]
    with pytest.raises(InputError, match="line 1: this is not JSON: Invalid control character"):
        read(write(tmp_path, "z.jsonl", b'{"answer": "a\x00", "pred": "x"}\n'))


CELLS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=5), st.sampled_from("\n\r"))
@example([("a\rb", ' "'), ("", ""), ("\ufeff", "=1")], "\r")
def test_whatever_text_is_written_to_a_table_is_read_from_it(
    tmp_path_factory: pytest.TempPathFactory, table: list[tuple[str, str]], end: str
) -> None:
    out = io.StringIO()
    csv.writer(out, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(
        [("question", "pred", "gold"), *((*t, "g") for t in table)]
    )
    path = write(tmp_path_factory.getbasetemp(), "given.csv", out.getvalue())
    assert [(row.question, row.prediction) for row in read(path)] == table


# -- JSON


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("null.json", "null", "must hold an array of rows, not null"),
        ("text.json", '"x"', 'must hold an array of rows, not "x"'),
        ("empty.json", "[]", "there are no rows in it"),
        ("no-rows.json", '{"rows": []}', "there are no rows in it"),
        ("nothing.json", "{}", "field 'references' is missing .present: nothing"),
        ("nulls.json", "[null]", "line 1: a row must be a JSON object, not null"),
        ("nested.json", '[\n[{"answer": "a"}]]', "line 2: a row must be a JSON object, not .*answer"),
        ("named.json", '{"a": {"answer": "a", "pred": "x"}}', "not an object of objects"),
        ("two.json", '{"train": [{"answer": "a"}], "test": [{"pred": "x"}]}', "several arrays .*'train', 'test'"),
        ("lines.json", JSONL, "line 1: this is not one JSON value: use --input-format jsonl"),
        ("behind.json", '{"answer": "a", "pred": "x"}{"answer": "a"}', "separate the values by line ends"),
        ("trailing.json", '{"answer": "a", "pred": "x"}\nbye', "there is more behind the value"),
        ("trailing-array.json", JSON + " bye", "there is more behind the array"),
        ("array.jsonl", JSON.replace("\n", ""), "this is a JSON array, not JSONL: use --input-format json"),
        ("pretty.jsonl", "\n[\n" + JSON[1:], "line 2: this is a JSON array, not JSONL"),
        ("pretty-object.jsonl", '{\n"answer": "a",\n"pred": "x"\n}\n', "line 1: this is JSON over several lines"),
        ("two-a-line.jsonl", JSONL.replace("\n", ""), "line 1: .*a second value .a row has a line of its own"),
        ("comma.jsonl", JSONL.replace("\n", ",\n"), "line 1: this is not JSON: there is more behind the value"),
        ("zeros.jsonl", JSONL + "\0\0\0", "line 3: this is not JSON"),
        ("python.jsonl", "{'answer': 'a', 'pred': None}\n", "line 1: this is not JSON"),
        ("nan.jsonl", '{"answer": nan, "pred": "x"}\n', "line 1: this is not JSON"),
        ("twice.json", '[{"answer": "a", "pred": "x",\n"pred": "x"}]', "line 1: .*the key 'pred' stands twice"),
        ("twice-inside.jsonl", '{"answer": "a", "pred": "x", "z": [{"a": 1, "a": 2}]}', "the key 'a' stands twice"),
        ("deep.json", "[" * 100_000, "nested too deeply"),
        ("deep-object.jsonl", '{"z": ' + '{"a":' * 50_000 + "1" + "}" * 50_000 + "}", "nested too deeply"),
        ("deeper.jsonl", '{"answer": "a", "pred": "x", "z": ' + "[" * 200 + "]" * 200 + "}", "nested too deeply"),
        ("digits.jsonl", '{"answer": "a", "pred": "x", "n": ' + "9" * 5000 + "}", "a number of 5000 digits: write it"),
    ],
)  # fmt: skip
def test_json_that_is_no_file_of_rows_is_refused_with_what_to_do(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    path = write(tmp_path, name, content)
    with pytest.raises(InputError, match=message) as caught:
        read(path)
    assert caught.value.file == str(path)


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ('{"answer": "a", "pred": "x", "sources": [{"title": "t"}]}', [1]),
        ('\n{"model": "m",\n"output": [\n{"answer": "a", "pred": "x"},\n\n{"answer": "b", "pred": "y"}]}', [4, 6]),
        ('{"meta": [{"k": 1}], "rows": [{"answer": "a", "pred": "x"}]}', [1]),
        ('{"rows": [{"answer": "a", "pred": "x"}], "note": "[]{"}', [1]),
        ('{"a\\"b": "c",\n"d": {"e": [1]}, "rows":\n[{"answer": "a", "pred": "x"}]\n}\n', [3]),
    ],
)
def test_the_rows_of_an_object_are_found_with_their_lines(tmp_path: Path, content: str, lines: list[int]) -> None:
    rows = read(write(tmp_path, "o.json", content))
    assert [row.line for row in rows] == lines
    assert rows[0].prediction == "x"


def test_what_is_nested_as_deeply_as_may_be_comes_out_again(tmp_path: Path) -> None:
    inner = "[" * 199 + "]" * 199
    for name, text in (
        ("d.jsonl", '{"answer": "a", "pred": "x", "z": ' + inner + "}\n"),
        ("d.json", '[{"answer": "a", "pred": "x", "z": ' + inner + "}]"),
    ):
        row = read(write(tmp_path, name, text))[0]
        assert json.loads(json_line({"z": row.extra["z"]})) == {"z": json.loads(inner)}


@pytest.mark.parametrize(
    ("raw", "reason", "references"),
    [
        ({"answer": [], "pred": "x"}, "empty_reference", ()),
        ({"answer": [None], "pred": "x"}, "missing_reference", ("",)),
        ({"answer": None, "pred": "x"}, "missing_reference", ()),
        ({"answer": [""], "pred": "x"}, "empty_reference", ("",)),
        ({"answer": ["", None, "b"], "pred": "x"}, None, ("", "", "b")),
        ({"answer": "b", "pred": None}, "missing_prediction", ("b",)),
        ({"answer": float("nan"), "pred": "x"}, "missing_reference", ()),
        ({"answer": ["a", float("inf")], "pred": "x"}, None, ("a", "")),
        ({"answer": "b", "pred": ""}, "empty_prediction", ("b",)),
        ({"answer": "\ud83d", "pred": "\ud83d \0"}, "empty_reference", ("\ud83d",)),
    ],
)
def test_nothing_in_a_row_is_a_reason_and_never_a_crash(
    tmp_path: Path, raw: dict[str, Any], reason: str | None, references: tuple[str, ...]
) -> None:
    row = read(write(tmp_path, "r.jsonl", json.dumps(raw)))[0]
    assert row.references == references
    score = Smile(FakeEncoder()).score_rows([row]).rows[0]
    if raw["answer"] != "\ud83d":
        assert score.reason == reason
    json.loads(json_line(score.to_dict()), parse_constant=lambda _: pytest.fail("not JSON"))


@pytest.mark.parametrize("identity", [True, False, 1.5, 1.0, [1], {"a": 1}])
def test_an_id_is_text_or_a_whole_number(tmp_path: Path, identity: Any) -> None:
    with pytest.raises(InputError, match="line 1: field 'id' must be a string or an integer"):
        read(write(tmp_path, "i.jsonl", json.dumps({"id": identity, "answer": "a", "pred": "x"})))


@pytest.mark.parametrize("identity", [0, -1, 2**70, "", " 1", "01", "1.0", "\ud83d", "=1"])
def test_an_id_comes_out_as_it_came(tmp_path: Path, identity: str | int) -> None:
    rows = read(write(tmp_path, "i.jsonl", json.dumps({"id": identity, "answer": "a", "pred": "x"}) + "\n" + JSONL))
    assert json.loads(json_line(Smile(FakeEncoder()).score_rows(rows).rows[0].to_dict()))["id"] == identity


# -- Parquet


def test_parquet_of_every_type_is_rows_or_an_error_with_its_place(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    def table(**columns: Any) -> list[Row]:
        parquet.write_table(pa.table({"answer": ["a"], "pred": ["x"], **columns}), tmp_path / "t.parquet")
        return read(tmp_path / "t.parquet")

    assert table(answer=pa.array(["b"], pa.large_string()))[0].references == ("b",)
    assert table(answer=pa.array(["b"]).dictionary_encode())[0].references == ("b",)
    assert table(answer=pa.array([["b", None]], pa.list_(pa.string(), 2)))[0].references == ("b", "")
    assert table(answer=pa.array([None], pa.null()))[0].reason == "missing_reference"
    assert table(id=pa.array([2**64 - 1], pa.uint64()))[0].id == 2**64 - 1
    assert table(z=pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())))[0].extra == {"z": [["k", 1]]}
    assert table(z=pa.array([[{"a": float("nan"), "b": b"x"}]]))[0].extra == {"z": [{"a": None, "b": "x"}]}
    for columns, message in (
        ({"pred": [5]}, "row 1: field 'pred' must be a string, not a number"),
        ({"answer": [[1, 2]]}, "row 1: field 'answer' must be a string or a list of strings"),
        ({"id": [1.0]}, "row 1: field 'id' must be a string or an integer"),
        ({"image": [b"\xff"]}, "row 1: the column 'image' holds bytes that are not UTF-8"),
    ):
        with pytest.raises(InputError, match=message):
            table(**columns)
    whole = (tmp_path / "t.parquet").read_bytes()
    rows = read(tmp_path / "t.parquet", skip_bad_rows=True)
    assert [row.reason for row in rows] == ["bad_row"]
    assert "t.parquet, row 1: the column 'image'" in rows[0].extra["error"]
    for content in (b"", b"PAR1", b"hello world!", JSONL.encode(), whole[:-1], whole[: len(whole) // 2]):
        with pytest.raises(InputError, match=r"n.parquet: this is not Parquet that can be read"):
            read(write(tmp_path, "n.parquet", content))
    parquet.write_table(
        pa.table({"answer": pa.array([], pa.string()), "pred": pa.array([], pa.string())}), tmp_path / "e.pq"
    )
    with pytest.raises(InputError, match="there are no rows in it"):
        read(tmp_path / "e.pq")
    assert len(read(write(tmp_path, "p.parquet.gz", packed(whole)), skip_bad_rows=True)) == 1


# -- Python lists


class NAType:
    """As pandas has it: not even a truth value."""

    def __bool__(self) -> bool:
        raise TypeError("boolean value of NA is ambiguous")


def test_values_of_data_frames_are_text_null_or_an_error() -> None:
    np = pytest.importorskip("numpy")
    wrong: Any = NAType()
    made = rows_from_columns(np.array(["x", "y"]), [np.array(["a", "b"]), wrong], ids=np.array([1, 2]))
    assert [(row.id, row.references, row.reason) for row in made] == [
        (1, ("a", "b"), None),
        (2, (), "missing_reference"),
    ]
    assert rows_from_columns([np.float32("nan"), wrong], ["a", "b"])[0].reason == "missing_prediction"
    assert rows_from_columns("x", "a", ids=np.int64(5))[0].id == 5
    for predictions in ({"x": 1}, {"x", "y"}, b"xy", np.array([["x"]]), np.array("x"), 5):
        with pytest.raises(UsageError, match="predictions must be text or a list of texts"):
            rows_from_columns(predictions, ["a"])  # type: ignore[arg-type]
    for reference in ({"x": 1}, b"x", 5, [b"x"], np.array([1])):
        with pytest.raises(InputError, match="row 1: field 'references' must be a string or a list of strings"):
            rows_from_columns(["x"], [reference])  # type: ignore[list-item]
    with pytest.raises(InputError, match="row 1: field 'id' must be a string or an integer"):
        rows_from_columns(["x"], ["a"], ids=np.array([True]))


# -- reports


def report(rows: list[Row], style: str, sink: Callable[[], io.StringIO] = io.StringIO) -> str:
    out = sink()
    WRITERS[style](out, Smile(FakeEncoder()).stream(rows))
    return out.getvalue()


def row(prediction: str, **fields: Any) -> Row:
    return Row(**{"id": 1, "references": ("a",), "synthetic": (None,), "prediction": prediction, **fields})


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+c|' /C'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "\u00a0=1", "＝1", "+1 234", "--5", "-"],
)  # fmt: skip
def test_a_report_for_spreadsheets_carries_no_formula(text: str) -> None:
    cells = next(csv.DictReader(io.StringIO(report([row(text, extra={text: text})], "csv"), newline="")))
    assert cells["prediction"] == f"'{text}"
    assert cells[f"'{text}"] == f"'{text}"


@pytest.mark.parametrize(
    "text", ["-5", "+3.5", "-1,000.50", "-1e-05", "-50%", "5", "007", "1e5", "12345678901234567890"]
)
def test_a_number_in_a_report_stays_one(text: str) -> None:
    cells = next(csv.DictReader(io.StringIO(report([row(text, id=-7, extra={"n": -0.1})], "csv"))))
    assert (cells["prediction"], cells["id"], cells["n"]) == (text, "-7", "-0.1")
    assert float(cells["score"]) == Smile(FakeEncoder()).score_rows([row(text)]).rows[0].score


@pytest.mark.parametrize("text", ["a\rb", "a\r=1+1", "a\n=1", 'a";=1+1;"', "a;=1", "a,=1", "a\t=1", "x\r\n"])
def test_no_text_breaks_out_of_its_cell(text: str) -> None:
    written = report([row(text)], "csv")
    assert [cells["prediction"] for cells in csv.DictReader(io.StringIO(written, newline=""))] == [text]
    assert all(f'"{start}' in written for start in ("a", "x") if text.startswith(start))  # quoted, whatever separates


@pytest.mark.parametrize("style", ["csv", "table", "json", "jsonl"])
def test_surrogates_and_control_characters_can_be_written_in_every_format(tmp_path: Path, style: str) -> None:
    rows = [row("\ud83d \x00\x1b[31m\x9b31m\u202e", id="\ud83d", extra={"\udfff": ["\ud83d"]}), row("é \x9b31m\x7f")]
    with atomic_text_writer(tmp_path / "out") as out:
        WRITERS[style](out, Smile(FakeEncoder()).stream(rows))
    text = (tmp_path / "out").read_text(encoding="utf-8")
    if style != "csv":  # a table of cells keeps what was written
        assert not {"\x1b", "\x9b", "\x7f", "\x00"} & set(text)
    if style == "jsonl":
        assert [json.loads(line)["prediction"] for line in text.splitlines()] == [one.prediction for one in rows]


@pytest.mark.parametrize("width", [1, 40, 80, 200])
@pytest.mark.parametrize(
    "text", ["short", "x" * 5000, "東京" * 50, "e\u0301" * 400, "\x1b[31m\x9b2J\r\x07\u202e\u200b", ""]
)
def test_a_table_of_any_width_is_whole_in_its_numbers_and_harmless(width: int, text: str) -> None:
    rows = Smile(FakeEncoder()).score_rows([row(text, id=2**63), row("a", id="i" * 500)]).rows
    table = format_table(rows, inputs=[(text, text), ("a", text)], width=width)
    lines = table.splitlines()
    assert len(lines) == 4
    assert str(2**63) in lines[2]
    for scored, line in zip(rows, lines[2:], strict=True):
        assert all(
            f"{part:.3f}" in line
            for part in (scored.score, scored.semantic, scored.exact, scored.ngram_similarity)
            if part is not None
        )
    assert all(char.isprintable() for line in lines for char in line)
    assert max(sum(not combining(char) for char in line) for line in lines) <= max(width, 110)


@pytest.mark.parametrize(("columns", "widest"), [("40", 80), ("90", 90), ("200", 200), ("0", 120), ("wide", 120)])
def test_a_table_is_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: str, widest: int) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(os, "get_terminal_size", lambda _=1: os.terminal_size((120, 40)))
    lines = report([row("x" * 500, references=("y" * 500,))], "table").splitlines()
    assert max(map(len, lines)) <= widest
    assert max(map(len, lines)) > widest - 25


def test_a_table_of_huge_texts_takes_no_time_to_speak_of() -> None:
    rows = Smile(FakeEncoder()).score_rows([row("a")]).rows
    assert "…" in format_table(rows, inputs=[(" " * 1000 + "x" * 10_000_000, "y" * 10_000_000)], width=80)


# -- writing


@contextmanager
def small_disk() -> Iterator[None]:
    """No file grows over 1000 bytes, for the block alone: the test run's own report may go to one."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_told_and_what_was_finished_is_kept(tmp_path: Path) -> None:
    told = pytest.raises(OutputError, match=r"cannot write .*a.csv: ")
    with small_disk(), told, atomic_text_writer(tmp_path / "a.csv") as out:
        out.write("x" * 5000)
    assert list(tmp_path.iterdir()) == []
    kept = pytest.raises(OutputError, match=r"what was finished is in a.jsonl.part, and --resume goes on")
    with small_disk(), kept, resumable_text_writer(tmp_path / "a.jsonl") as out:
        for _ in range(500):
            out.write("finished\n")
            out.flush()
    assert (tmp_path / "a.jsonl.part").read_text().startswith("finished\n" * 100)
    assert not (tmp_path / "a.jsonl").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("writer", [atomic_text_writer, resumable_text_writer])
def test_a_device_that_is_full_is_told(writer: Any) -> None:
    with pytest.raises(OutputError, match="cannot write /dev/full: No space left"), writer("/dev/full") as out:
        out.write("x" * 100_000)


@pytest.mark.parametrize("writer", [atomic_text_writer, resumable_text_writer])
def test_a_link_stays_a_link_and_its_file_is_written(tmp_path: Path, writer: Any) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "file")
    assert part_of(tmp_path / "link") == tmp_path / "elsewhere" / "file.part"
    for content in ("one", "two"):
        with writer(tmp_path / "link") as out:
            out.write(content)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "elsewhere" / "file").read_text() == content
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with pytest.raises(OutputError, match="cannot write"), writer(tmp_path / "circle"):
        pass


@pytest.mark.parametrize("writer", [atomic_text_writer, resumable_text_writer])
@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "file/below", "."])
def test_a_place_where_nothing_can_be_written_is_told(tmp_path: Path, writer: Any, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write"), writer(f"{tmp_path}/{name}"):
        pass


def test_a_file_system_without_locks_is_written_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl")

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with resumable_text_writer(tmp_path / "a") as out:
        out.write("x")
    assert (tmp_path / "a").read_text() == "x"


def test_two_runs_do_not_write_one_file(tmp_path: Path) -> None:
    with resumable_text_writer(tmp_path / "a") as out:
        out.write("first\n")
        with pytest.raises(OutputError, match="another run is writing"), resumable_text_writer(tmp_path / "a"):
            pass
    assert (tmp_path / "a").read_text() == "first\n"
    assert writers.part_of(tmp_path / "a").exists() is False


# -- messages


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["score", "\x1b[31mred\n\u202e.jsonl"], r"smile-lite: \x1b[31mred\n\u202e.jsonl: there is no such file"),
        (["\x1b]0;title\x07"], r"\x1b]0;title\x07"),
        (["score", "-", "--\x1b[31mx"], r"\x1b[31mx"),
        (["score", "-", "--field", "predi\x9bction=x"], r"predi\x9bction"),
    ],
)
def test_a_message_does_not_tell_the_terminal_what_to_do(
    run: Callable[..., Run], arguments: list[str], shown: str
) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert shown in done.err
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(done.err)


# -- anything at all


def whole_file(path: Path, **options: Any) -> list[Row] | None:
    try:
        return read(path, **options)
    except SmileLiteError:
        return None


@given(
    st.sampled_from(["jsonl", "json", "csv", "tsv"]),
    st.binary(max_size=60) | st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.sampled_from(["utf-8", "utf-16", "latin-1", "utf-7", "cp1252"]),
)
@example("csv", b"sep=\n", "utf-8")
@example("csv", b'answer;pred\n"', "utf-8")
@example("json", b'{"a": [{}], "b": [{}]}', "utf-8")
def test_any_bytes_are_rows_or_an_error_of_ours(
    tmp_path_factory: pytest.TempPathFactory, kind: str, content: bytes, encoding: str
) -> None:
    path = write(tmp_path_factory.getbasetemp(), f"any.{kind}", content)
    for skip in (False, True):
        for one in whole_file(path, encoding=encoding, skip_bad_rows=skip) or ():
            json_line({"id": one.id, **one.extra})


# -- going on


def test_a_run_that_was_cut_anywhere_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    lines = [
        {"answer": "a", "pred": "a", "human": 0.5, "more": [None, {"x": 1e-300}]},
        {"id": "\ud83d", "answer": ["", None, "\ud83d b"], "pred": "b \x85\u2028\x00", "syn_ans": ["s", None, ""]},
        {"id": 2**70, "answer": [], "pred": "x", "score": 7},
        {"id": "5", "answer": None, "pred": None, "question": "日本?"},
        {"answer": 5, "pred": "x"},
        {"id": "last", "answer": "the mat", "pred": ""},
    ]
    content = "\n".join(map(json.dumps, lines)) + "\n{broken\n"
    path = write(tmp_path, "m.jsonl", content)
    smile = Smile(FakeEncoder())
    whole = report(read(path, skip_bad_rows=True), "jsonl").encode()
    assert whole.count(b"\n") == 7
    for cut in range(0, len(whole) + 1, 97):
        part_of(tmp_path / "out.jsonl").write_bytes(whole[:cut])
        rows = read_rows(path, ReadOptions(skip_bad_rows=True))
        summary = Summary()
        kept = take_over(str(tmp_path / "out.jsonl"), rows, smile, summary)
        assert kept == whole.rfind(b"\n", 0, cut) + 1
        assert whole[:kept] + report(list(rows), "jsonl").encode() == whole
        assert summary.n_rows == whole[:kept].count(b"\n")
