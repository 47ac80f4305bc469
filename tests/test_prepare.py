from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smile_lite.errors import InputError, ModelUnavailable, OutputError, UsageError
from smile_lite.generate.generator import Generator, TemplateGenerator
from smile_lite.metric import Smile
from smile_lite.prepare import Progress, Shard, prepare
from smile_lite.prepared import KnownVectors, PreparedSet, join_prepared, open_prepared
from smile_lite.rows import ReadOptions, Row, read_rows
from smile_lite.testing import FakeEncoder, FakeGenerator

from .chat_server import ECHO, Behaviour, ChatServer, Request, broken_json, drop_mid_body, ok, status
from .conftest import Run

SET: list[dict[str, Any]] = [
    {"id": "a", "question": "who wrote middlemarch", "reference": "George Eliot", "topic": "books"},
    {"id": "b", "question": "capital of france", "reference": ["Paris", "Lutetia", " "]},
    {"id": "c", "question": "who wrote middlemarch", "reference": "George Eliot"},
    {"id": "d", "question": "is it so", "reference": "no"},
    {"id": "e", "question": None, "reference": "42"},
    {"id": "f", "question": "name it", "reference": "Bob", "synthetic": "It is called Bob."},
    {"id": "g", "question": "and now", "reference": []},
]


def write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def the_set(path: Path, rows: Sequence[dict[str, Any]] = SET) -> list[Row]:
    return list(read_rows(write(path / "set.jsonl", rows), ReadOptions(required=("references",))))


def predictions(path: Path, rows: Sequence[dict[str, Any]]) -> list[Row]:
    return list(read_rows(write(path / "run.jsonl", rows), ReadOptions(required=("prediction",))))


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture
def rows(tmp_path: Path) -> list[Row]:
    return the_set(tmp_path)


@pytest.fixture
def made(rows: list[Row], tmp_path: Path) -> PreparedSet:
    return prepare(rows, tmp_path / "set.prepared", generator=FakeGenerator(), encoders=[FakeEncoder()])


def lines(made: PreparedSet) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (made.folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()]


def test_every_reference_has_its_synthetic_answer_and_how_it_was_made(made: PreparedSet) -> None:
    assert [row["synthetic"] for row in lines(made)] == [
        ["The answer is George Eliot."],
        ["The answer is Paris.", "The answer is Lutetia.", None],
        ["The answer is George Eliot."],
        ['The answer to "is it so" is no.'],
        ["The answer is 42."],
        ["It is called Bob."],
        [],
    ]
    how = [[one["how"] for one in row["made"]] for row in lines(made)]
    assert how == [["first"], ["first", "first", "none"], ["first"], ["fallback"], ["first"], ["given"], []]
    assert lines(made)[3]["made"][0]["refused"][0] == {
        "text": "I cannot say.",
        "checks": ["refusal", "no_reference"],
    }
    assert lines(made)[0]["topic"] == "books"


def test_the_manifest_counts_and_the_signature_names_generator_prompt_and_share_of_fallbacks(made: PreparedSet) -> None:
    assert made.manifest["counts"] == {"references": 8, "given": 1, "first": 5, "retry": 0, "fallback": 1, "none": 1}
    assert made.manifest["refused"]["refusal"] == 2
    joined = join_prepared(made, [Row(id="a", prediction="x"), Row(id="f", prediction="x")], allow_missing=True)
    report = Smile(FakeEncoder()).score_rows(joined.rows)
    assert {row.signature.split("|")[4] for row in report.rows} == {"syn:given+fake/p0/fallback0.167"}


def test_the_same_question_and_reference_are_asked_for_once(rows: list[Row], tmp_path: Path) -> None:
    generator = FakeGenerator()
    prepare(rows, tmp_path / "p", generator=generator)
    assert [(question, reference) for question, reference, attempt in generator.asked if attempt == 0] == [
        ("who wrote middlemarch", "George Eliot"),
        ("capital of france", "Paris"),
        ("capital of france", "Lutetia"),
        ("is it so", "no"),
        (None, "42"),
    ]


def test_grading_on_a_prepared_set_encodes_predictions_and_their_ngrams_only(made: PreparedSet, tmp_path: Path) -> None:
    reference_side = set(made.texts())
    for system in ("It was Mary Ann Evans who wrote it.", "I do not know that at all."):
        run = predictions(tmp_path, [{"id": row["id"], "prediction": system} for row in SET])
        joined = join_prepared(made, run)
        encoder = FakeEncoder()
        known = made.known(encoder)
        looked_up = Smile(known).score_rows(joined.rows)
        assert encoder.texts, "the predictions are encoded"
        assert not set(encoder.texts) & reference_side
        assert known.looked_up > 0
        assert all(text.lower() in system.lower().replace("?", "") for text in encoder.texts)
        assert looked_up.rows == Smile(FakeEncoder()).score_rows(joined.rows).rows


def test_without_synthetic_answers_the_metric_goes_by_question_and_reference(rows: list[Row], tmp_path: Path) -> None:
    made = prepare(rows, tmp_path / "p", generator=None, encoders=[FakeEncoder()])
    encoder = FakeEncoder()
    joined = join_prepared(made, [Row(id="b", prediction="the city")], allow_missing=True)
    scored = Smile(made.known(encoder)).score_rows(joined.rows)
    assert "|syn:max(ref,question+ref)|" in scored.rows[0].signature
    assert {"Paris", "capital of france Paris"} <= set(made.texts())
    assert not set(encoder.texts) & set(made.texts())


class Stopping(Progress):
    """Stops the run as Ctrl-C does, before its n-th row or after so many texts."""

    def __init__(self, rows: int = 10**9, texts: int = 10**9) -> None:
        self.left, self.texts = rows, texts

    def row_done(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt

    def texts_done(self, count: int) -> None:
        self.texts -= count
        if self.texts < 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("after", range(len(SET)))
def test_a_run_stopped_at_any_row_goes_on_to_the_same_bytes(after: int, rows: list[Row], tmp_path: Path) -> None:
    whole = prepare(rows, tmp_path / "whole", generator=FakeGenerator(), encoders=[FakeEncoder()])
    with pytest.raises(KeyboardInterrupt):
        prepare(
            rows, tmp_path / "p", generator=FakeGenerator(), encoders=[FakeEncoder()], progress=Stopping(rows=after)
        )
    with (tmp_path / "p.part" / "rows.jsonl").open("ab") as part:
        part.write('{"row": 99, "half a li\u6771'.encode()[:-1])  # as a killed process may leave it
    generator = FakeGenerator()
    again = prepare(rows, tmp_path / "p", generator=generator, encoders=[FakeEncoder()], resume=True)
    assert content(again.folder) == content(whole.folder)
    assert len([one for one in generator.asked if one[2] == 0]) == [4, 2, 2, 1, 0, 0, 0][after]
    assert not (tmp_path / "p.part").exists()


def test_a_run_stopped_among_the_vectors_goes_on_to_the_same_bytes(
    rows: list[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("smile_lite.prepared.vectors._TEXTS_PER_WRITE", 2)
    whole = prepare(rows, tmp_path / "whole", generator=FakeGenerator(), encoders=[FakeEncoder()])
    with pytest.raises(KeyboardInterrupt):
        prepare(rows, tmp_path / "p", generator=FakeGenerator(), encoders=[FakeEncoder()], progress=Stopping(texts=5))
    part = next((tmp_path / "p.part").glob("vectors-*.part"))
    part.write_bytes(part.read_bytes()[:-7])  # a row of numbers is cut in two
    encoder, generator = FakeEncoder(), FakeGenerator()
    again = prepare(rows, tmp_path / "p", generator=generator, encoders=[encoder], resume=True)
    assert content(again.folder) == content(whole.folder)
    assert not generator.asked
    assert 0 < len(encoder.texts) - 1 < len(whole.texts())


def test_without_resume_a_stopped_run_is_begun_again(rows: list[Row], tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        prepare(rows, tmp_path / "p", generator=FakeGenerator(), progress=Stopping(rows=3))
    generator = FakeGenerator()
    prepare(rows, tmp_path / "p", generator=generator)
    assert ("who wrote middlemarch", "George Eliot", 0) in generator.asked


def test_a_stopped_run_of_other_settings_is_not_gone_on_with(rows: list[Row], tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        prepare(rows, tmp_path / "p", generator=FakeGenerator(), progress=Stopping(rows=3))
    with pytest.raises(UsageError, match="generator: fake/p0, template/t1"):
        prepare(rows, tmp_path / "p", generator=TemplateGenerator(), resume=True)
    with pytest.raises(UsageError, match=r"p\.part was made with other settings \(set: "):
        prepare(rows[:-1], tmp_path / "p", generator=FakeGenerator(), resume=True)


def test_what_was_made_is_kept_where_the_generator_dies(rows: list[Row], tmp_path: Path) -> None:
    class Dying(FakeGenerator):
        def answer(self, question: str | None, reference: str, attempt: int) -> str:
            if reference == "42":
                raise ModelUnavailable("the server is gone")
            return super().answer(question, reference, attempt)

    with pytest.raises(ModelUnavailable, match="gone"):
        prepare(rows, tmp_path / "p", generator=Dying())
    generator = FakeGenerator()
    prepare(rows, tmp_path / "p", generator=generator, resume=True)
    assert generator.asked == [(None, "42", 0)]


KILLED = """
import sys, time
from pathlib import Path
from smile_lite.prepare import Progress, prepare
from smile_lite.rows import ReadOptions, read_rows
from smile_lite.testing import FakeEncoder, FakeGenerator

class Slow(FakeGenerator):
    def answer(self, question, reference, attempt):
        time.sleep(0.02)
        return super().answer(question, reference, attempt)

rows = list(read_rows(sys.argv[1], ReadOptions(required=("references",))))
prepare(rows, sys.argv[2], generator=Slow(), encoders=[FakeEncoder()], resume=True)
"""


def test_a_run_killed_again_and_again_ends_in_the_same_bytes(tmp_path: Path) -> None:
    rows = [{"id": n, "question": f"what is {n}", "reference": f"thing {n}" if n % 3 else f"no {n}"} for n in range(60)]
    source = write(tmp_path / "set.jsonl", rows)
    whole = prepare(the_set(tmp_path, rows), tmp_path / "whole", generator=FakeGenerator(), encoders=[FakeEncoder()])
    part = tmp_path / "p.part" / "rows.jsonl"
    kills = 0
    while not (tmp_path / "p").exists():
        before = part.stat().st_size if part.exists() else 0
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(source), str(tmp_path / "p")])
        while process.poll() is None:
            if part.exists() and part.stat().st_size > before + 1500:
                process.kill()
                kills += 1
                break
            time.sleep(0.005)
        assert process.wait() in (0, -signal.SIGKILL)
    assert kills >= 2
    assert content(tmp_path / "p") == content(whole.folder)


def test_two_runs_to_one_folder_do_not_mix(rows: list[Row], tmp_path: Path) -> None:
    class Nested(Progress):
        def row_done(self) -> None:
            with pytest.raises(OutputError, match="another run is writing"):
                prepare(rows, tmp_path / "p", generator=FakeGenerator(), resume=True)

    prepare(rows, tmp_path / "p", generator=FakeGenerator(), progress=Nested())


@pytest.mark.parametrize("count", [1, 2, 3, 9])
def test_shards_merge_into_what_one_run_makes(count: int, rows: list[Row], tmp_path: Path) -> None:
    whole = prepare(rows, tmp_path / "whole", generator=FakeGenerator(), encoders=[FakeEncoder()])
    shards = [
        prepare(
            rows,
            tmp_path / f"s{index}",
            generator=FakeGenerator(),
            encoders=[FakeEncoder()],
            shard=Shard(index, count),
        )
        for index in range(1, count + 1)
    ]
    assert sum(len(one.rows) for one in shards) == len(rows)
    encoder, generator = FakeEncoder(), FakeGenerator()
    merged = prepare(rows, tmp_path / "merged", generator=generator, encoders=[encoder], merge=shards)
    assert content(merged.folder) == content(whole.folder)
    assert not generator.asked
    assert encoder.texts == [""], "the vectors are those of the shards"


def test_a_merge_names_what_is_missing_or_of_something_else(rows: list[Row], tmp_path: Path) -> None:
    first = prepare(rows, tmp_path / "s1", generator=FakeGenerator(), shard=Shard(1, 2))
    with pytest.raises(UsageError, match="3 rows are in none of the merged sets, the first is 'b'"):
        prepare(rows, tmp_path / "m", generator=FakeGenerator(), merge=[first])
    with pytest.raises(UsageError, match="s1 was made of something else"):
        prepare(rows, tmp_path / "m", generator=TemplateGenerator(), merge=[first])
    with pytest.raises(UsageError, match="no shard 3 of 2"):
        Shard(3, 2)


def test_limit_prepares_the_first_rows_only(rows: list[Row], tmp_path: Path) -> None:
    made = prepare(rows, tmp_path / "p", generator=FakeGenerator(), limit=2)
    assert [row.id for row in made.rows] == ["a", "b"]


def test_a_finished_set_gets_the_vectors_of_another_encoder_and_nothing_is_made_again(
    made: PreparedSet, rows: list[Row]
) -> None:
    class Other(FakeEncoder):
        name = "other@11111111"

    before = content(made.folder)
    with pytest.raises(UsageError, match="name: fake@00000000 there, other@11111111 here"):
        made.known(Other())
    generator = FakeGenerator()
    both = prepare(rows, made.folder, generator=generator, encoders=[Other(dimensions=8), FakeEncoder()])
    assert not generator.asked
    assert both.known(Other(dimensions=8)).encode([both.texts()[0]]).shape == (1, 8)
    after = content(made.folder)
    assert {name: after[name] for name in before if name != "manifest.json"} == {
        name: data for name, data in before.items() if name != "manifest.json"
    }


def test_a_folder_of_something_else_is_refused_and_replaced_by_force_only(
    made: PreparedSet, rows: list[Row], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"made of something else \(generator: fake/p0, template/t1\): --force"):
        prepare(rows, made.folder, generator=TemplateGenerator())
    again = prepare(rows, made.folder, generator=TemplateGenerator(), force=True)
    assert again.synthetic_name == "given+template/t1"
    stranger = tmp_path / "mine"
    stranger.mkdir()
    (stranger / "letter.txt").write_text("keep me")
    with pytest.raises(OutputError, match="is there and is no prepared set"):
        prepare(rows, stranger, generator=TemplateGenerator(), force=True)
    assert (stranger / "letter.txt").exists()


PARTS = ["rows.jsonl", "texts.jsonl", "vectors-fake-00000000-fp32.npy"]


@pytest.mark.parametrize("part", PARTS)
def test_a_changed_part_is_refused_by_name(part: str, made: PreparedSet) -> None:
    path = made.folder / part
    path.write_bytes(path.read_bytes()[:-3] + b"xx\n")
    with pytest.raises(InputError, match=rf"{part}: it was changed or is damaged"):
        open_prepared(made.folder).known(FakeEncoder())
    path.unlink()
    with pytest.raises(InputError, match=rf"{part}: it cannot be read"):
        open_prepared(made.folder).known(FakeEncoder())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"words": "v0"}, "made with word rules v0"),
        ({"schema": 9}, "schema 9 is not known here"),
        ({"format": "other"}, "not the manifest of a prepared set"),
        ({"rows": {"file": "../set.jsonl", "sha256": ""}}, "which is not in it"),
        ({"rows": None}, "it is damaged"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(change: dict[str, Any], message: str, made: PreparedSet) -> None:
    path = made.folder / "manifest.json"
    path.write_text(json.dumps({**made.manifest, **change}))
    with pytest.raises(InputError, match=message):
        open_prepared(made.folder)


def test_vectors_of_an_encoder_with_other_weights_are_not_used(made: PreparedSet) -> None:
    class Retrained(FakeEncoder):
        weights_sha256 = "1" * 64

    with pytest.raises(UsageError, match="weights_sha256: None there, 1111"):
        made.known(Retrained())


def test_known_vectors_are_those_of_the_encoder_bit_for_bit() -> None:
    texts = ["a", "b", "a", "c"]
    table = ["b", "c"], FakeEncoder().encode(["b", "c"])
    encoder = FakeEncoder()
    known = KnownVectors(encoder, table)
    assert np.array_equal(known.encode(texts), FakeEncoder().encode(texts))
    assert encoder.texts == ["a", "a"]
    assert (known.looked_up, known.encoded) == (2, 2)
    assert known.encode(["x"]).shape == (1, 64)
    assert (known.name, known.precision, known.max_tokens) == ("fake@00000000", "fp32", 512)


RUNS: list[tuple[list[dict[str, Any]], str]] = [
    ([{"id": "zz", "prediction": "x"}], "1 predictions are not in the prepared set: 'zz'"),
    ([{"id": "a", "prediction": "x"}], "6 prepared rows have no prediction: 'b', 'c', 'd', 'e', 'f' and 1 more"),
    ([{"id": "a", "prediction": "x", "question": "who?"}], "its question is not what was prepared for 'a'"),
    ([{"id": "a", "prediction": "x", "reference": "Eliot"}], "its references is not what was prepared for 'a'"),
    ([{"prediction": "x"}], "neither id nor question"),
    ([{"question": "capital of spain", "prediction": "x"}], "joined by question: 1 predictions are not in"),
]


@pytest.mark.parametrize(("run", "message"), RUNS)
def test_what_does_not_join_is_named(
    run: list[dict[str, Any]], message: str, made: PreparedSet, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        join_prepared(made, predictions(tmp_path, run), file="run.jsonl")


def test_allow_missing_leaves_those_rows_unscored_and_says_which(made: PreparedSet, tmp_path: Path) -> None:
    run: list[dict[str, Any]] = [{"id": "zz", "prediction": "x"}]
    run += [{"id": "b", "prediction": "Paris", "reference": ["Paris", "Lutetia", " "]}]
    joined = join_prepared(made, predictions(tmp_path, run), allow_missing=True)
    report = Smile(FakeEncoder()).score_rows(joined.rows)
    assert [(row.id, row.reason, row.exact) for row in report.rows] == [("zz", "not_prepared", None), ("b", None, 1.0)]
    assert len(joined.notices()) == 2


def test_without_ids_predictions_join_by_question_and_line_numbers_are_no_ids(tmp_path: Path) -> None:
    rows = [{"question": f"q {n}", "reference": f"r{n}"} for n in range(3)]
    made = prepare(the_set(tmp_path, rows), tmp_path / "p", generator=TemplateGenerator())
    run = predictions(tmp_path, [{"question": f" Q  {n}?", "prediction": "x", "note": n} for n in (2, 0, 1)])
    joined = join_prepared(made, run)
    assert joined.by == "question"
    assert [row.references for row in joined.rows] == [("r2",), ("r0",), ("r1",)]
    assert [row.extra["note"] for row in joined.rows] == [2, 0, 1]


def test_one_question_with_two_answers_needs_ids(tmp_path: Path) -> None:
    rows = [{"id": 1, "question": "q", "reference": "r"}, {"id": 2, "question": "q", "reference": "s"}]
    made = prepare(the_set(tmp_path, rows), tmp_path / "p", generator=TemplateGenerator())
    with pytest.raises(InputError, match="rows 1 and 2 have one question and different references"):
        join_prepared(made, predictions(tmp_path, [{"question": "q", "prediction": "x"}]))


def test_ids_of_whole_numbers_and_of_text_meet(tmp_path: Path) -> None:
    made = prepare(the_set(tmp_path, [{"id": 1, "question": "q", "reference": "r"}]), tmp_path / "p", generator=None)
    assert join_prepared(made, predictions(tmp_path, [{"id": "1", "prediction": "r"}])).by == "id"


def test_the_prepared_rows_hold_no_prediction_and_no_label(tmp_path: Path) -> None:
    source = write(tmp_path / "set.jsonl", [{"question": "q", "reference": "r", "prediction": "secret", "human": 1}])
    made = prepare(read_rows(source), tmp_path / "p", generator=TemplateGenerator())
    assert b"secret" not in b"".join(content(made.folder).values())
    assert "human" not in lines(made)[0]


@pytest.mark.usefixtures("minilm")
def test_prepare_and_score_work_from_the_command_line(run: Callable[..., Run], tmp_path: Path) -> None:
    write(tmp_path / "set.jsonl", SET)
    write(tmp_path / "run.jsonl", [{"id": row["id"], "prediction": "George Eliot, I think"} for row in SET])
    done = run("prepare", "set.jsonl", "--generator", "template", "--threads", "1")
    assert (done.code, done.out) == (0, "set.prepared\n")
    assert "7 rows, 8 references: given 1, first 6, none 1" in done.err
    assert "in signatures: syn:given+template/t1" in done.err
    scored = run("score", "run.jsonl", "--prepared", "set.prepared", "--threads", "1")
    assert scored.code == 0, scored.err
    assert [row["id"] for row in scored.rows] == [row["id"] for row in SET]
    assert scored.rows[0]["synthetic"] == ["George Eliot wrote middlemarch."]
    assert "|syn:given+template/t1|" in scored.rows[0]["signature"]
    direct = run("score", "set.prepared/rows.jsonl", "--predictions", "run.jsonl", "--threads", "1")
    assert [row["score"] for row in direct.rows] == [row["score"] for row in scored.rows]


WRONG: list[tuple[list[str], int, str]] = [
    (["prepare", "set.jsonl", "--shard", "5"], 2, "--shard takes I/N"),
    (["prepare", "set.jsonl", "--shard", "5/4"], 2, "there is no shard 5 of 4"),
    (["prepare", "missing.jsonl"], 2, "missing.jsonl"),
    (["prepare", "-"], 2, "-o FOLDER must say"),
    (["prepare", "set.jsonl", "--generator", "gpt-7"], 3, "no generator is called 'gpt-7'"),
    (["prepare", "set.jsonl", "--generator", "openai"], 2, "--generator-model"),
    (["prepare", "set.jsonl", "--generator", "none", "--model", "nope"], 3, "no model is called 'nope'"),
    (["prepare", "set.jsonl", "--generator", "template", "-o", "/proc/x/y"], 2, "cannot write /proc/x/y"),
    (["score", "set.jsonl", "--prepared", "nowhere"], 2, "there is no prepared set"),
    (["score", "set.jsonl", "--prepared", "p", "--predictions", "q"], 2, "--predictions is for a set that is not"),
]


@pytest.mark.parametrize(("words", "code", "message"), WRONG, ids=lambda value: str(value)[:40])
def test_wrong_calls_are_told_in_one_line(
    words: list[str], code: int, message: str, run: Callable[..., Run], tmp_path: Path
) -> None:
    write(tmp_path / "set.jsonl", SET)
    done = run(*words, env={"PYTHONWARNINGS": "ignore"} if "openai" in words else None)
    assert (done.code, message in done.err) == (code, True), done.err
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.usefixtures("minilm")
def test_an_interrupted_prepare_says_so_and_resumes(tmp_path: Path) -> None:
    rows = [{"id": n, "question": f"what is {n}", "reference": f"thing {n}"} for n in range(30000)]
    source = write(tmp_path / "set.jsonl", rows)
    command = [sys.executable, "-m", "smile_lite", "prepare", str(source), "--generator", "template", "--limit", "9000"]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=os.environ,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    part = tmp_path / "set.prepared.part" / "rows.jsonl"
    while not (part.exists() and part.stat().st_size > 10000):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, "interrupted" in err, "Traceback" in err) == (130, True, False)
    assert "what was made is kept: go on with --resume" in err
    assert part.exists()


def test_the_protocol_is_all_a_generator_needs(rows: list[Row], tmp_path: Path) -> None:
    class Mine:
        name = "mine/v1"
        attempts = 1
        concurrency = 1
        trusted = False

        def answer(self, question: str | None, reference: str, attempt: int) -> str:
            return f"{reference}."

    generator: Generator = Mine()
    assert prepare(rows, tmp_path / "p", generator=generator).synthetic_name == "given+mine/v1"


def test_prepare_asks_a_chat_server_survives_its_moods_and_keeps_the_key_out_of_everything(
    run: Callable[..., Run], tmp_path: Path
) -> None:
    pytest.importorskip("openai", reason="the extra openai is not installed")
    key = "sk-secret-0123456789"
    write(tmp_path / "set.jsonl", SET)

    def answer(request: Request) -> Behaviour:
        reference = request.question.split("\nAnswer: ")[1].split("\n")[0]
        return ok(f"The answer is {reference}.") if reference != "no" else status(400, f"filtered, key {ECHO}")

    script = (status(429, headers={"retry-after-ms": "1"}), broken_json(), drop_mid_body())
    with ChatServer(*script, then=answer) as server:
        words = ("--generator", "openai", "--generator-model", "tiny", "--base-url", server.url, "--concurrency", "2")
        done = run("prepare", "set.jsonl", *words, env={"OPENAI_API_KEY": key})
    assert done.code == 0, done.err
    assert "first 5, fallback 1, none 1" in done.err
    assert "in signatures: syn:given+tiny/p1/fallback0.167" in done.err
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()) + done.err.encode()
    assert key.encode() not in everything
    assert all(request.headers["authorization"] == f"Bearer {key}" for request in server.requests)


def test_a_server_that_refuses_stops_the_run_keeps_what_was_made_and_says_how_to_go_on(
    run: Callable[..., Run], tmp_path: Path
) -> None:
    pytest.importorskip("openai", reason="the extra openai is not installed")
    write(tmp_path / "set.jsonl", SET)
    with ChatServer(ok("George Eliot wrote middlemarch."), then=status(401, "who are you")) as server:
        words = ("--generator", "openai", "--generator-model", "tiny", "--base-url", server.url, "--concurrency", "1")
        done = run("prepare", "set.jsonl", *words)
    assert done.code == 3
    assert server.url.removeprefix("http://") in done.err
    assert "what was made is kept: go on with --resume" in done.err
    assert len((tmp_path / "set.prepared.part" / "rows.jsonl").read_text().splitlines()) == 1
