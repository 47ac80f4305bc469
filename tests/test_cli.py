from __future__ import annotations

import csv
import io
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from smile_lite.store import PulledModel

from .conftest import Run

Runner = Callable[..., Run]
SAMPLE = Path(__file__).resolve().parent.parent / "smile_lite" / "sample.jsonl"

pytestmark = pytest.mark.usefixtures("minilm")


def jsonl(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


TWO = jsonl({"id": "a", "answer": "Paris", "pred": "Paris", "note": 7}, {"id": "b", "answer": "Rome", "pred": "Oslo"})


def test_every_row_comes_out_once_in_order_with_what_came_with_it(run: Runner) -> None:
    done = run("score", "-", stdin=TWO)
    assert done.code == 0
    assert [row["id"] for row in done.rows] == ["a", "b"]
    first = done.rows[0]
    assert list(first)[:12] == [
        "id", "score", "semantic", "lexical", "exact", "ngram_similarity", "best_ngram", "best_reference", "bin",
        "verdict", "reason", "signature",
    ]  # fmt: skip
    assert (first["score"], first["note"], first["references"], first["prediction"]) == (1.0, 7, ["Paris"], "Paris")
    assert "2 of 2 rows scored" in done.err
    assert first["signature"] in done.err


def test_a_field_that_has_the_name_of_a_result_is_kept_beside_it(run: Runner) -> None:
    done = run("score", "-", stdin=jsonl({"answer": "Paris", "pred": "Paris", "score": 0.1, "verdict": "x"}))
    assert (done.rows[0]["score"], done.rows[0]["input_score"], done.rows[0]["input_verdict"]) == (1.0, 0.1, "x")


def test_the_sample_holds_thirty_rows_of_every_kind_and_is_graded(run: Runner) -> None:
    rows = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 30
    done = run("score", SAMPLE)
    assert done.code == 0
    exact = {row["id"]: row["exact"] for row in done.rows}
    wrong = [row for row in rows if "wrong" in row["kind"]]
    assert len(wrong) >= 9
    assert not any(exact[row["id"]] for row in wrong)
    agree = sum((row["verdict"] == "correct") == bool(row["human"]) for row in done.rows)
    assert agree >= 24


def test_a_file_of_predictions_is_joined_by_id(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "set.jsonl").write_text(jsonl({"id": 1, "answer": "Paris"}, {"id": 2, "answer": "Rome"}))
    (tmp_path / "run.csv").write_text("id,pred\n2,Rome\n1,Lyon\n")
    done = run("score", "set.jsonl", "--predictions", "run.csv")
    assert [(row["id"], row["prediction"], row["exact"]) for row in done.rows] == [(1, "Lyon", 0), (2, "Rome", 1)]
    (tmp_path / "run.csv").write_text("id,pred\n2,Rome\n3,Lyon\n")
    done = run("score", "set.jsonl", "--predictions", "run.csv")
    assert done.code == 2
    assert "run.csv: 1 predictions have no row in set.jsonl: '3'" in done.err
    (tmp_path / "run.csv").write_text("id,pred\n2,Rome\n2,Oslo\n")
    done = run("score", "set.jsonl", "--predictions", "run.csv")
    assert done.code == 2
    assert "run.csv, line 3: id '2' was already used in line 2" in done.err


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--fail-under", "0.5"], 0, ""),
        (["--fail-under", "0.9"], 1, "mean score is under"),
        (["--min-pass-rate", "0.5"], 0, ""),
        (["--min-pass-rate", "0.6"], 1, "pass rate 0.5 is under --min-pass-rate 0.6"),
        (["--threshold", "0", "--min-pass-rate", "1"], 0, ""),
    ],
)
def test_gates_decide_the_exit_code(run: Runner, options: list[str], code: int, message: str) -> None:
    done = run("score", "-", *options, stdin=TWO)
    assert done.code == code
    assert len(done.rows) == 2  # the rows come out, whatever the gate says
    if message:
        assert "gate failed" in done.err
    assert message.split(" is ")[0].split(" under")[0] in done.err


def test_equal_answers_pass_a_threshold_of_one(run: Runner) -> None:
    same = jsonl(*({"answer": text, "pred": text} for text in ("Paris", "the red fox", "東京", "3.5 mg")))
    assert run("score", "-", "--threshold", "1.0", "--min-pass-rate", "1.0", stdin=same).code == 0


def test_a_gate_over_rows_of_which_none_can_be_scored_fails(run: Runner) -> None:
    done = run("score", "-", "--fail-under", "0", stdin=jsonl({"answer": None, "pred": "x"}))
    assert done.code == 1
    assert "no row could be scored" in done.err


def test_output_files_appear_whole_in_folders_that_did_not_exist(run: Runner, tmp_path: Path) -> None:
    done = run("score", "-", "-o", "new/out.jsonl", "--summary", "new/summary.json", stdin=TWO)
    assert (done.code, done.out) == (0, "")
    assert len((tmp_path / "new" / "out.jsonl").read_text().splitlines()) == 2
    summary = json.loads((tmp_path / "new" / "summary.json").read_text())
    assert summary["n_rows"] == 2
    assert summary["environment"]["weights_sha256"].startswith("53aa5117")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["out.jsonl", "summary.json"]


def test_a_run_that_fails_leaves_the_old_output_and_no_other(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text("old\n")
    done = run("score", "-", "-o", "out.jsonl", stdin=TWO + '{"answer":\n')
    assert done.code == 2
    assert "standard input, line 3: this is not JSON" in done.err
    assert (tmp_path / "out.jsonl").read_text() == "old\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


def test_other_formats_hold_the_same_rows(run: Runner) -> None:
    hostile = jsonl({"id": "f", "answer": "=1+1", "pred": '=HYPERLINK("x")'}, {"id": "g", "answer": "a", "pred": "-5"})
    rows = json.loads(run("score", "-", "--format", "json", stdin=TWO).out)
    assert [row["id"] for row in rows] == ["a", "b"]
    cells = list(csv.DictReader(io.StringIO(run("score", "-", "--format", "csv", stdin=hostile).out)))
    assert [cell["prediction"] for cell in cells] == ['\'=HYPERLINK("x")', "-5"]
    table = run("score", "-", "--format", "table", stdin=TWO, env={"COLUMNS": "80"}).out
    assert table.splitlines()[0].split()[:2] == ["id", "score"]
    assert "\x1b" not in table


@pytest.mark.parametrize("closed", [">&-", "<&-", "2>&-"])
@pytest.mark.parametrize(
    "command", ["score two.jsonl", "score -", "--help", "--version", "models list", "explain -r a -p a"]
)
def test_closed_streams_are_no_accident(tmp_path: Path, command: str, closed: str) -> None:
    (tmp_path / "two.jsonl").write_text(TWO)
    line = f"{sys.executable} -m smile_lite {command} {closed}"
    done = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, input=TWO, capture_output=True, text=True, timeout=60, check=False
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == (2 if command == "score -" and closed == "<&-" else 0), done.stderr
    if command.startswith("score") and done.returncode == 0 and closed != ">&-":
        assert len(done.stdout.splitlines()) == 2


def test_an_error_of_the_program_s_own_is_one_line_too(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(
        "import smile_lite.metric\n"
        "def fail(*_): raise TypeError('unforeseen')\n"
        "smile_lite.metric.build_plan = fail\n"
        "from smile_lite.cli import main\n"
        "main(['explain', '-r', 'a', '-p', 'b'])\n"
    )
    done = subprocess.run(
        [sys.executable, "broken.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 70
    assert done.stderr.splitlines()[-1].startswith("smile-lite: internal error, TypeError: unforeseen")
    assert "Traceback" not in done.stderr


def test_standard_output_is_utf8_whatever_the_locale_says(run: Runner) -> None:
    env = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = run("score", "-", stdin=jsonl({"answer": "東京", "pred": "東京\ud83d"}), env=env)
    assert done.code == 0
    assert done.rows[0]["references"] == ["東京"]
    assert done.rows[0]["prediction"] == "東京\ud83d"
    shown = run("explain", "-r", "東京", "-p", "Où?", env=env)
    assert shown.code == 0
    assert "東京" in shown.out
    assert "Où?" in shown.out


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "message"),
    [
        (["score", "none.jsonl"], "", 2, "none.jsonl: there is no such file"),
        (["score", "-"], "", 2, "standard input: there are no rows in it"),
        (["score", "-"], '{"answer": "a"}', 2, "standard input, line 1: field 'prediction' is missing"),
        (["score", "-"], '{"answer": "a", "pred": 5}', 2, "line 1: field 'pred' must be a string, not a number"),
        (["score", "-", "--field", "x"], TWO, 2, "--field takes NAME=COLUMN"),
        (["score", "-", "--field", "x=y"], TWO, 2, "no field is called 'x'"),
        (["score", "-", "--predictions", "-"], TWO, 2, "only one of INPUT and --predictions"),
        (["score", "-", "--threads", "0"], TWO, 2, "--threads"),
        (["score", "-", "--fail-under", "7"], TWO, 2, "--fail-under"),
        (["score", "-", "--fail-under", "nan"], TWO, 2, "'nan' is not a number"),
        (["score", "-", "--threshold", "nan"], TWO, 2, "'nan' is not a number"),
        (["score", "-", "--field", "question=nope"], TWO, 2, "line 1: there is no column 'nope' for the field 'ques"),
        (["score", "-", "--field", "id=id", "--field", "id=x"], TWO, 2, "--field id is given twice"),
        (["score", "-", "-o", "x", "--summary", "./x"], TWO, 2, "-o and --summary both name x"),
        (
            ["score", "-"],
            '{"answer": "a", "pred": "a", "pred": "b"}',
            2,
            "line 1: this JSON cannot be read: the key 'pred'",
        ),
        (["score", "-"], '{"answer": "a", "\\u001b[31mpred": "a"}', 2, "\\x1b[31mpred"),
        (
            ["score", "-", "--on-empty", "error"],
            jsonl({"answer": "a", "pred": ""}),
            2,
            "input, line 1: the prediction is",
        ),
        (["score", "-", "--exact", "fraction"], TWO, 2, "knows no exact match 'fraction'"),
        (["score", "-", "--verdict", "paper", "--threshold", "0.5"], TWO, 2, "not by both"),
        (["score", "-", "-o", "/proc/none/out"], TWO, 2, "cannot write /proc/none/out"),
        (["score", "-", "--model", "minilmm"], TWO, 3, "no model is called 'minilmm'"),
        (["score", "-", "--precision", "int3"], TWO, 3, "minilm has no precision 'int3'"),
        (["score", "-", "--model", "ember-v1", "--offline"], TWO, 3, "offline"),
        (["explain", "-r", "a"], "", 2, "--prediction"),
        (["explain", "-r", "a", "-r", "b", "-r", "c", "-p", "x", "-s", "1", "-s", "2"], "", 2, "3 references and 2"),
        (["models", "path", "ember-v1"], "", 3, "is not pulled"),
        (["models", "verify", "nothing"], "", 3, "no model is called 'nothing'"),
        (["nothing"], "", 2, "No such command"),
    ],
)
def test_what_is_wrong_is_said_with_the_right_exit_code(
    run: Runner, tmp_path: Path, arguments: list[str], stdin: str, code: int, message: str
) -> None:
    done = run(*arguments, stdin=stdin, env={"HF_HOME": str(tmp_path / "hf")})
    assert done.code == code, done.err
    assert message in done.err


def test_bad_rows_can_be_skipped_and_are_counted(run: Runner) -> None:
    done = run("score", "-", "--skip-bad-rows", stdin=TWO + '{"answer":\n{"pred": "x"}\n')
    assert done.code == 0
    assert [row["reason"] for row in done.rows] == [None, None, "bad_row", "bad_row"]
    assert "bad_row 2" in done.err
    assert "line 3" in done.rows[2]["error"]


def test_without_network_and_model_it_says_so_and_exits_3(run: Runner, tmp_path: Path) -> None:
    env = {"SMILE_LITE_HOME": str(tmp_path / "empty"), "HF_HUB_OFFLINE": "1"}
    done = run("score", "-", stdin=TWO, env=env)
    assert done.code == 3
    assert "the model minilm is not here and cannot be had: offline" in done.err


def test_a_wrong_file_is_told_before_a_model_is_fetched(run: Runner, tmp_path: Path) -> None:
    done = run("score", "none.jsonl", env={"SMILE_LITE_HOME": str(tmp_path / "empty")})
    assert done.code == 2
    assert not (tmp_path / "empty").exists()


def test_a_damaged_model_is_refused_with_exit_3(run: Runner, minilm: PulledModel, tmp_path: Path) -> None:
    copy = tmp_path / "home" / "models" / minilm.folder.name
    shutil.copytree(minilm.folder, copy)  # with what other tests converted since the fixture was made
    env = {"SMILE_LITE_HOME": str(tmp_path / "home")}
    assert run("score", "-", stdin=TWO, env=env).code == 0
    content = bytearray((copy / "model.safetensors").read_bytes())
    content[50_000_000] ^= 1
    (copy / "model.safetensors").write_bytes(content)
    for command in (["score", "-"], ["models", "verify"], ["doctor"]):
        done = run(*command, stdin=TWO, env=env)
        assert done.code == 3
        assert "model.safetensors is damaged or was changed" in done.err + done.out


def test_explain_shows_which_ngram_which_reference_and_which_threshold(run: Runner) -> None:
    done = run("explain", "-q", "Who?", "-r", "George Eliot", "-r", "Mary Ann Evans", "-p", "It was George Elliot.")
    assert done.code == 0
    for shown in (
        "reference 0  George Eliot (best)",
        "reference 1  Mary Ann Evans",
        "nearest: George Elliot",
        "does not stand in the prediction",
        "0.3 x meaning + 0.7 x wording",
        "smile-lite|smile|w:0.3",
    ):
        assert shown in done.out
    details = json.loads(run("explain", "-r", "a", "-p", "a", "--json").out)
    assert details["score"] == 1.0
    assert details["pairs"][0]["reference_text"] == "a"
    assert "not scored: empty_reference" in run("explain", "-r", " ", "-p", "a").out


def test_doctor_tells_machine_sizes_and_health(run: Runner) -> None:
    done = run("doctor", "--json")
    assert done.code == 0
    facts = json.loads(done.out)
    assert facts["machine"]["usable_cpus"] >= 1
    assert facts["installed"]["runtime_bytes"] > 50e6
    assert {"onnxruntime", "numpy", "tokenizers", "click"} <= facts["installed"]["parts"].keys()
    assert facts["models"]["minilm"]["golden_difference"]["fp32"] < 1e-5
    text = run("doctor").out
    assert "known vectors within" in text
    assert "runtime" in text


def test_models_are_listed_located_and_verified(run: Runner, minilm: PulledModel) -> None:
    listed = {entry["name"]: entry for entry in json.loads(run("models", "list", "--json").out)}
    assert listed["minilm"]["pulled"]
    assert listed["ember-v1"]["licence"] == "MIT"
    assert "minilm" in run("models", "list").out
    assert run("models", "path", "minilm").out.strip() == str(minilm.folder)
    assert run("models", "pull", "minilm").out.strip() == str(minilm.folder)
    assert "files match, known vectors: fp32 within" in run("models", "verify", "minilm").out


def test_a_reader_that_stops_early_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "many.jsonl").write_text(jsonl(*({"answer": "a", "pred": "b" * 300} for _ in range(3000))))
    command = f"{sys.executable} -m smile_lite score many.jsonl | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
    assert len(done.stdout.splitlines()) == 1
    assert done.returncode == 141  # as a shell reports SIGPIPE; 0 or 1 would speak of a gate that was never asked


LONG = 1100  # rows: more than two chunks


def long_file(folder: Path) -> Path:
    rows = ({"answer": f"alpha {n}", "pred": f"beta {n} gamma delta"} for n in range(LONG))
    (folder / "long.jsonl").write_text(jsonl(*rows))
    return folder / "long.jsonl"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what a run over the long file that nobody stops leaves."""
    folder = tmp_path_factory.mktemp("whole")
    long_file(folder)
    words = ["score", "long.jsonl", "-o", "out.jsonl", "--summary", "out.json"]
    subprocess.run([sys.executable, "-m", "smile_lite", *words], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_run_keeps_what_was_finished_and_another_goes_on(
    run: Runner, tmp_path: Path, whole: Path, how: signal.Signals
) -> None:
    long_file(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-m", "smile_lite", "score", "long.jsonl", "-o", "out.jsonl"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    )
    part = tmp_path / "out.jsonl.part"
    deadline = time.monotonic() + 60
    while not (part.exists() and part.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(how)
    _, err = process.communicate(timeout=60)
    assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}[how]
    assert b"Traceback" not in err
    assert not (tmp_path / "out.jsonl").exists()
    finished = part.read_bytes().count(b"\n")
    assert 0 < finished < LONG
    part.write_bytes(part.read_bytes() + b'{"id": 99, "half a li')  # as a full disk or a pulled plug leaves it
    refused = run("score", "long.jsonl", "-o", "out.jsonl", "--resume", "--weight", "0.4")
    assert refused.code == 2
    assert "it was made with other settings (w: 0.3, 0.4" in refused.err
    done = run("score", "long.jsonl", "-o", "out.jsonl", "--resume", "--summary", "out.json")
    assert done.code == 0, done.err
    assert f"going on behind {finished} rows" in done.err
    assert (tmp_path / "out.jsonl").read_bytes() == (whole / "out.jsonl").read_bytes()
    assert (tmp_path / "out.json").read_bytes() == (whole / "out.json").read_bytes()
    assert not part.exists()


def test_what_is_resumed_must_be_of_the_same_rows(run: Runner, tmp_path: Path) -> None:
    assert run("score", "-", "-o", "out.jsonl", stdin=TWO).code == 0
    (tmp_path / "out.jsonl").rename(tmp_path / "out.jsonl.part")
    done = run("score", "-", "-o", "out.jsonl", "--resume", stdin=TWO.replace("Oslo", "Rome"))
    assert done.code == 2
    assert "out.jsonl.part, line 2: its prediction is not that of the input row" in done.err
    done = run("score", "-", "-o", "out.jsonl", "--resume", stdin=TWO.splitlines()[0])
    assert done.code == 2
    assert "holds more rows than the input" in done.err
    assert run("score", "-", "-o", "out.jsonl", "--resume", stdin=TWO).code == 0
    assert run("score", "-", "--resume", stdin=TWO).code == 2


def test_progress_is_shown_on_a_terminal_only(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "two.jsonl").write_text(TWO)
    assert "grading" not in run("score", "two.jsonl").err
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "smile_lite", "score", "two.jsonl"],
        cwd=tmp_path,
        stderr=follower,
        stdout=subprocess.PIPE,
    )
    process.communicate(timeout=60)
    os.close(follower)
    shown = b""
    try:
        while chunk := os.read(leader, 65536):
            shown += chunk
    except OSError:
        pass
    os.close(leader)
    assert b"grading" in shown
