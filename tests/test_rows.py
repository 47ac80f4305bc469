from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smile_lite.errors import InputError, OutputError, UsageError
from smile_lite.rows import (
    FieldMap,
    ReadOptions,
    Row,
    atomic_text_writer,
    join_predictions,
    json_line,
    read_rows,
    row_from_mapping,
    rows_from_columns,
)


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(path: Path, **options: Any) -> list[Row]:
    return list(read_rows(path, ReadOptions(**options)))


def make(raw: dict[str, Any], **fields: str) -> Row:
    return row_from_mapping(raw, FieldMap(fields), number=7, file="f.jsonl", line=3)


@pytest.mark.parametrize("reference", ["reference", "answer", "ans", "target", "gold", "expected", "ground_truth"])
@pytest.mark.parametrize("prediction", ["prediction", "pred", "response", "output", "completion"])
def test_fields_are_found_under_the_names_that_people_use(reference: str, prediction: str) -> None:
    row = make({reference: "Paris", prediction: "Lyon", "query": "Q?", "more": 1})
    assert (row.references, row.prediction, row.question) == (("Paris",), "Lyon", "Q?")
    assert row.extra == {"more": 1}
    assert row.id == 7


def test_a_field_is_where_the_user_says_it_is() -> None:
    row = make({"reference": "not this", "mine": "Paris", "response": "Lyon"}, references="mine")
    assert row.references == ("Paris",)
    assert row.extra == {"reference": "not this"}
    assert make({"mine": "Paris", "pred": "x"}, reference="mine").references == ("Paris",)


def test_the_documented_name_wins_over_its_aliases() -> None:
    assert make({"references": ["a"], "answer": "b", "prediction": "c", "output": "d"}).references == ("a",)


def test_two_aliases_that_disagree_are_refused_and_named() -> None:
    with pytest.raises(InputError, match=r"f.jsonl, line 3: both 'answer' and 'expected' may be the references"):
        make({"answer": "a", "expected": "b", "pred": "c"})
    assert make({"answer": "a", "expected": "a", "pred": "c"}).references == ("a",)


@pytest.mark.parametrize(
    ("raw", "field", "message"),
    [
        ({"answer": "a"}, "prediction", "field 'prediction' is missing"),
        ({"pred": "a"}, "references", "field 'references' is missing"),
        (
            {"answer": "a", "pred": 42},
            "prediction",
            r"field 'pred' must be a string, not a number \(42\); write numbers",
        ),
        ({"answer": "a", "pred": ["x"]}, "prediction", "field 'pred' must be a string, not a list"),
        ({"answer": 4.5, "pred": "x"}, "references", "must be a string or a list of strings, not a number"),
        ({"answer": ["a", 4], "pred": "x"}, "references", "must be a string or a list of strings, not a number"),
        ({"answer": {"a": 1}, "pred": "x"}, "references", "not an object"),
        ({"answer": "a", "pred": "x", "id": 1.5}, "id", "must be a string or an integer"),
        ({"answer": "a", "pred": "x", "question": True}, "question", "not a boolean"),
        ({"answer": ["a", "b"], "pred": "x", "syn_ans": ["s"]}, "synthetic", "1 synthetic answers for 2 references"),
    ],
)
def test_a_wrong_field_is_named_with_its_place(raw: dict[str, Any], field: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        make(raw)
    assert (caught.value.file, caught.value.line, caught.value.field) == ("f.jsonl", 3, field)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ({"answer": None, "pred": "x"}, "missing_reference"),
        ({"answer": [None], "pred": "x"}, "missing_reference"),
        ({"answer": "a", "pred": None}, "missing_prediction"),
        ({"answer": [], "pred": "x"}, None),
        ({"answer": [None, "a"], "pred": "x"}, None),
    ],
)
def test_null_makes_a_row_unscorable_not_wrong(raw: dict[str, Any], reason: str | None) -> None:
    assert make(raw).reason == reason


def test_synthetic_answers_go_with_their_references() -> None:
    assert make({"answer": ["a", "b"], "pred": "x", "syn_ans": "s"}).synthetic == ("s", "s")
    assert make({"answer": ["a", "b"], "pred": "x", "syn_ans": ["s", None]}).synthetic == ("s", None)
    assert make({"answer": ["a", "b"], "pred": "x"}).synthetic == (None, None)


def test_an_unknown_field_name_is_refused() -> None:
    with pytest.raises(UsageError, match="no field is called 'predictionn'"):
        FieldMap({"predictionn": "x"})


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", '{"answer": "日本", "pred": "x"}\n{"answer": "b", "pred": "y"}\n'),
        ("bom.jsonl", b'\xef\xbb\xbf{"answer": "\xe6\x97\xa5\xe6\x9c\xac", "pred": "x"}\n{"answer": "b", "pred": "y"}'),
        ("crlf.jsonl", '{"answer": "日本", "pred": "x"}\r\n\r\n  \r\n{"answer": "b", "pred": "y"}\r\n'),
        ("a.json", '[{"answer": "日本", "pred": "x"},\n {"answer": "b", "pred": "y"}]'),
        ("wrapped.json", '{"version": 1, "data": [{"answer": "日本", "pred": "x"}, {"answer": "b", "pred": "y"}]}'),
        ("a.csv", "answer,pred\n日本,x\nb,y\n"),
        ("bom.csv", b"\xef\xbb\xbfanswer,pred\r\n\xe6\x97\xa5\xe6\x9c\xac,x\r\n\r\nb,y\r\n"),
        ("a.tsv", "answer\tpred\n日本\tx\nb\ty\n"),
    ],
)
def test_every_text_format_gives_the_same_rows(tmp_path: Path, name: str, content: str | bytes) -> None:
    rows = read(write(tmp_path, name, content))
    assert [(row.references, row.prediction) for row in rows] == [(("日本",), "x"), (("b",), "y")]


def test_parquet_is_read_with_its_lists_and_its_nulls(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"references": [["a", "b"], None], "prediction": ["x", "y"], "weight": [float("nan"), 1.0]})
    parquet.write_table(table, tmp_path / "rows.parquet")
    rows = read(tmp_path / "rows.parquet")
    assert rows[0].references == ("a", "b")
    assert rows[1].reason == "missing_reference"
    assert rows[0].extra == {"weight": None}
    with pytest.raises(InputError, match="this is not Parquet"):
        read(write(tmp_path, "no.parquet", "x"))


def test_parquet_bytes_are_text_and_times_keep_their_precision(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    when = pa.array([1_700_000_000_000_000_001], pa.timestamp("ns"))
    table = pa.table({"answer": [b"Paris"], "prediction": [b"caf\xc3\xa9"], "when": when})
    parquet.write_table(table, tmp_path / "b.parquet")
    row = read(tmp_path / "b.parquet")[0]
    assert (row.references, row.prediction) == (("Paris",), "café")
    assert row.extra["when"].endswith("000000001")
    parquet.write_table(pa.table({"answer": [b"\xff"], "prediction": ["x"]}), tmp_path / "c.parquet")
    with pytest.raises(InputError, match="bytes that are not UTF-8"):
        read(tmp_path / "c.parquet")
    parquet.write_table(pa.table({"answer": ["a"], "prediction": [None]}), tmp_path / "d.parquet")
    with pytest.raises(InputError, match="row 1: field 'prediction' must be a string"):
        parquet.write_table(pa.table({"answer": ["a"], "prediction": [5]}), tmp_path / "e.parquet")
        read(tmp_path / "e.parquet")


def test_csv_cells_are_text_whatever_they_look_like(tmp_path: Path) -> None:
    path = write(tmp_path, "na.csv", 'answer,pred\nNone,NA\nnan,null\n"a, ""b""\nline2","=1+1"\n,x\n')
    rows = read(path)
    assert [(row.references[0], row.prediction) for row in rows] == [
        ("None", "NA"),
        ("nan", "null"),
        ('a, "b"\nline2', "=1+1"),
        ("", "x"),
    ]
    assert [row.line for row in rows] == [2, 3, 4, 6]


@pytest.mark.parametrize("column", ["references", "answer", "mine"])
def test_a_csv_column_of_references_may_hold_json_lists(tmp_path: Path, column: str) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    path = write(tmp_path, "l.csv", f'{column},prediction\n"[""a"", ""b""]",x\n[sic],y\n{deep},z\n')
    fields = FieldMap({"reference": "mine"} if column == "mine" else {})
    assert [row.references for row in read(path, fields=fields)] == [("a", "b"), ("[sic]",), (deep,)]


def test_nan_and_infinity_are_null(tmp_path: Path) -> None:
    rows = read(
        write(tmp_path, "n.jsonl", '{"answer": "a", "pred": NaN, "x": -Infinity, "y": 1e999, "human": 1e999}\n')
    )
    assert rows[0].reason == "missing_prediction"
    assert rows[0].human is None
    assert rows[0].extra == {"x": None, "y": None}
    rows = read(write(tmp_path, "n.csv", "answer,pred,human\na,b,nan\na,b,inf\na,b,0.5\na,b,\n"))
    assert [row.human for row in rows] == [None, None, 0.5, None]
    with pytest.raises(InputError, match="line 2: field 'human' must be a number"):
        read(write(tmp_path, "h.csv", "answer,pred,human\na,b,yes\n"))
    with pytest.raises(InputError, match="line 1: field 'human' must be a number"):
        read(write(tmp_path, "h.jsonl", '{"answer": "a", "pred": "b", "human": 1' + "0" * 400 + "}"))


def test_a_json_object_of_one_row_or_of_rows_is_read(tmp_path: Path) -> None:
    one = write(tmp_path, "one.json", '{"references": ["a", "b"], "prediction": "x"}')
    assert read(one)[0].references == ("a", "b")
    wrapped = write(tmp_path, "w.json", '{"meta": [1, 2], "rows": [{"answer": "a", "pred": "x"}]}')
    assert read(wrapped)[0].references == ("a",)


def test_an_error_in_a_json_array_is_told_with_the_line_on_which_the_row_begins(tmp_path: Path) -> None:
    path = write(tmp_path, "p.json", '[\n {\n  "answer": "a",\n  "pred": "x"\n },\n {\n  "answer": "b"\n }\n]\n')
    with pytest.raises(InputError, match="line 6: field 'prediction' is missing"):
        read(path)
    row = '{"answer": "a", "pred": "b"}'
    for text in (f"[{row},]", f"[{row}", f"[{row}] 5"):
        with pytest.raises(InputError, match="line 1: this is not JSON"):
            read(write(tmp_path, "b.json", text))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.jsonl", "", "there are no rows in it"),
        ("blank.jsonl", "\n \n", "there are no rows in it"),
        ("header.csv", "answer,pred\n", "there are no rows in it"),
        ("empty.json", "[]", "there are no rows in it"),
        ("bad.jsonl", '{"answer": "a", "pred": "a"}\n{"answer":\n', "bad.jsonl, line 2: this is not JSON"),
        ("array.jsonl", "[1]\n", "use --input-format json"),
        ("scalar.jsonl", '{"answer": "a", "pred": "a"}\n5\n', "line 2: a row must be a JSON object, not 5"),
        ("bad.json", '[{"answer": "a"\n "pred"', "line 2: this is not JSON"),
        ("short.csv", "answer,pred\na\n", "line 2: 1 cells where the header has 2"),
        ("twice.csv", "pred,pred\na,b\n", "the column 'pred' stands twice"),
        ("quote.csv", 'answer,pred\n"a,b\n', "this is not CSV"),
        ("u16.csv", "answer,pred\ncafé,café\n".encode("utf-16"), "looks like UTF-16: use --encoding utf-16"),
        ("latin.jsonl", '{"answer": "café", "pred": "x"}'.encode("cp1252"), "line 1: it is not UTF-8"),
        ("deep.jsonl", "[" * 100000, "nested too deeply"),
        ("digits.jsonl", '{"answer": "a", "pred": ' + "9" * 5000 + "}", "this JSON cannot be read"),
        ("rows.txt", "x", "choose with --input-format"),
        (
            "dup.jsonl",
            '{"id": 1, "answer": "a", "pred": "a"}\n{"id": "1", "answer": "b", "pred": "x"}\n',
            "line 2: id '1' was already used in line 1",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    path = write(tmp_path, name, content)
    with pytest.raises(InputError, match=message) as caught:
        read(path)
    assert caught.value.file == str(path)


def test_a_missing_file_is_never_taken_as_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read(tmp_path / "none.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(InputError, match="it cannot be read"):
        read(tmp_path / "folder.jsonl")


def test_other_encodings_are_read_when_named(tmp_path: Path) -> None:
    path = write(tmp_path, "u16.csv", "answer,pred\ncafé,x\n".encode("utf-16"))
    assert read(path, encoding="utf-16")[0].references == ("café",)
    with pytest.raises(UsageError, match="no encoding is called"):
        read(path, encoding="utf-99")


def test_bad_rows_keep_their_place_when_they_are_skipped(tmp_path: Path) -> None:
    lines = ['{"answer": "a", "pred": "a"}', '{"answer":', '{"pred": "x"}', '{"answer": "b", "pred": "b"}']
    rows = read(write(tmp_path, "b.jsonl", "\n".join(lines)), skip_bad_rows=True)
    assert [row.reason for row in rows] == [None, "bad_row", "bad_row", None]
    assert "line 2: this is not JSON" in rows[1].extra["error"]
    assert [row.id for row in rows] == [1, None, None, 4]  # never a number that may be another row's id
    named = write(tmp_path, "n.jsonl", '{"id": "x", "answer": 5, "pred": "a"}')
    assert read(named, skip_bad_rows=True)[0].id == "x"


def test_duplicate_ids_pass_only_when_allowed(tmp_path: Path) -> None:
    path = write(tmp_path, "d.jsonl", '{"id": 1, "answer": "a", "pred": "a"}\n' * 2)
    assert len(read(path, allow_duplicate_ids=True)) == 2


def test_standard_input_is_jsonl_unless_said_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"answer,pred\na,b\n")))
    assert read(Path("-"), format="csv")[0].prediction == "b"


def rows(*ids: str | int, **fields: Any) -> list[Row]:
    return [Row(id=one, references=("a",), **fields) for one in ids]


def join(left: list[Row], right: list[Row], **options: bool) -> list[Row]:
    return list(join_predictions(left, right, rows_file="set", predictions_file="run", **options))


def test_predictions_are_joined_by_id_as_text_in_the_order_of_the_rows() -> None:
    joined = join(rows(1, 2), [Row(id="2", prediction="two", extra={"t": 2}), Row(id="1", prediction="one")])
    assert [(row.id, row.prediction) for row in joined] == [(1, "one"), (2, "two")]
    assert joined[1].extra == {"t": 2}


def test_missing_and_extra_ids_are_named() -> None:
    with pytest.raises(InputError, match=r"run: 1 predictions have no row in set: 'x'"):
        join(rows("a"), rows("a", "x", prediction="p"))
    with pytest.raises(InputError, match=r"6 rows of set have no prediction: '1', '2', '3', '4', '5' and 1 more"):
        join(rows(*"1234567"), rows("7", prediction="p"))
    assert [row.reason for row in join(rows("a", "b"), rows("a", prediction="p"), allow_missing=True)] == [
        None,
        "missing_prediction",
    ]


def test_bad_rows_take_nobody_s_place_in_a_join() -> None:
    bad = Row(id=None, reason="bad_row")
    joined = join([*rows(3, 1), bad], [*rows("3", "1", prediction="p"), bad, bad])
    assert [(row.id, row.reason) for row in joined] == [(3, None), (1, None), (None, "bad_row")]
    joined = join([Row(id="x", reason="bad_row"), *rows(1)], rows("x", "1", prediction="p"))
    assert [row.reason for row in joined] == ["bad_row", None]
    assert [row.reason for row in join(rows(1, 2), [*rows(2, prediction="p"), bad])] == ["missing_prediction", None]
    with pytest.raises(InputError, match="two predictions for id '1'"):
        join(rows(1), rows(1, "1", prediction="p"))


def test_a_join_needs_ids() -> None:
    with pytest.raises(InputError, match="field 'id' is null: a join needs ids"):
        row_from_mapping({"id": None, "pred": "x"}, FieldMap(), number=1, required=("id", "prediction"))


def test_python_lists_become_rows_and_a_str_is_one_item() -> None:
    assert [row.prediction for row in rows_from_columns("swag", "swags")] == ["swag"]
    assert rows_from_columns("x", ["a", "b"])[0].references == ("a", "b")
    made = rows_from_columns(["x", "y"], ["a", ("b", "c")], questions=["q", None], ids=[10, 11])
    assert [(row.id, row.references, row.question) for row in made] == [(10, ("a",), "q"), (11, ("b", "c"), None)]
    assert rows_from_columns([float("nan")], ["a"])[0].reason == "missing_prediction"  # type: ignore[list-item]


def test_python_lists_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UsageError, match="2 predictions and 1 values for references"):
        rows_from_columns(["x", "y"], ["a"])
    with pytest.raises(UsageError, match="predictions must be text or a list of texts"):
        rows_from_columns(5, ["a"])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="row 2: field 'prediction' must be a string"):
        rows_from_columns(["x", 5], ["a", "b"])  # type: ignore[list-item]
    with pytest.raises(InputError, match="id 1 was already used"):
        rows_from_columns(["x", "y"], ["a", "b"], ids=[1, 1])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(st.dictionaries(st.text(), JSON))
def test_a_row_is_written_as_one_line_of_strict_json(row: dict[str, Any]) -> None:
    line = json_line(row)
    assert line.endswith("\n")
    assert len(line.splitlines()) == 1
    assert json.loads(line) == row


def test_a_lone_surrogate_goes_out_as_it_came() -> None:
    assert json.loads(json_line({"p": "\ud83d ok"}).encode("utf-8")) == {"p": "\ud83d ok"}


def test_nan_never_leaves() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        json_line({"x": float("nan")})


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "out.jsonl"
    with pytest.raises(RuntimeError), atomic_text_writer(target) as stream:
        stream.write("half")
        raise RuntimeError
    assert list(target.parent.iterdir()) == []
    with atomic_text_writer(target) as stream:
        stream.write("whole\n")
        assert not target.exists()
    assert target.read_text() == "whole\n"
    assert [path.name for path in target.parent.iterdir()] == ["out.jsonl"]


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write"), atomic_text_writer(tmp_path / "file" / "out"):
        pass
    with pytest.raises(OutputError, match="cannot write"), atomic_text_writer(tmp_path):
        pass
