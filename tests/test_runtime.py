"""The process around the metric: threads, forks, pickles, a store that many share or nobody can write."""

from __future__ import annotations

import errno
import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from smile_lite import session
from smile_lite.encoder import OnnxEncoder
from smile_lite.errors import ModelIntegrityError, ModelUnavailable, UsageError
from smile_lite.metric import Smile
from smile_lite.models import get_model
from smile_lite.rows import Row
from smile_lite.session import available_cpus, thread_count
from smile_lite.store import Store, default_home
from smile_lite.tokenizer import load_tokenizer

TEXTS = [f"the cat {'sat on the mat ' * (n % 4)}{n}" for n in range(24)]
SCORE = """
    from smile_lite import Smile
    smile = Smile.from_pretrained({checkpoint!r}, threads=2)
    def scores(_=None):
        return smile.score(["a cat sat", "paris is it"], ["the cat", "lyon"]).scores
    expected = scores()
"""


@pytest.fixture
def smile(checkpoint: Path, home: Path) -> Smile:
    """A real encoder of a tiny model, in a store of its own."""
    return Smile.from_pretrained(str(checkpoint), threads=2)


def python(script: str, *, prefix: tuple[str, ...] = (), **env: str | None) -> subprocess.CompletedProcess[str]:
    """A Python process of its own; a variable that is None is taken away."""
    variables = {name: value for name, value in {**os.environ, **env}.items() if value is not None}
    return subprocess.run(
        [*prefix, sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        env=variables,
        timeout=120,
        check=False,
    )


# -- threads


@pytest.mark.parametrize(
    ("requested", "ours", "shared", "usable", "expected"),
    [
        (None, None, None, 4, 4),
        (None, None, "2", 4, 2),
        (None, None, "16", 4, 4),
        (None, None, "3,2", 4, 3),
        (None, None, "many", 4, 4),
        (None, None, "0", 4, 4),
        (None, None, "", 4, 4),
        (None, "6", "2", 4, 6),
        (None, " 6 ", None, 4, 6),
        (5, "6", "2", 4, 5),
        (1, None, None, 4, 1),
    ],
)
def test_threads_are_those_asked_for_or_the_share_that_a_scheduler_gave(
    monkeypatch: pytest.MonkeyPatch,
    requested: int | None,
    ours: str | None,
    shared: str | None,
    usable: int,
    expected: int,
) -> None:
    monkeypatch.setattr(session, "available_cpus", lambda: usable)
    for name, value in (("SMILE_LITE_THREADS", ours), ("OMP_NUM_THREADS", shared)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert thread_count(requested) == expected


@pytest.mark.parametrize("wrong", [0, -1, 10_000, True, 1.5, "2"])
def test_a_number_of_threads_is_a_whole_number(wrong: int) -> None:
    with pytest.raises(UsageError, match="from 1 to 9999"):
        thread_count(wrong)


def v1(folder: str, quota: str) -> dict[str, str]:
    return {f"{folder}/cpu.cfs_quota_us": quota, f"{folder}/cpu.cfs_period_us": "100000"}


@pytest.mark.parametrize(
    ("lines", "files", "expected"),
    [
        ("0::/\n", {"cpu.max": "1000 100000"}, 0.01),
        ("0::/a:b c\n", {"a:b c/cpu.max": "200000 100000"}, 2.0),
        ("0::/../..\n", {"cpu.max": "200000 100000"}, 2.0),
        ("0::/a\n", {"a/cpu.max": "max", "cpu.max": "100000 0"}, None),
        ("0::/a\n", {"a/cpu.max": "\xff\xfe", "cpu.max": ""}, None),
        ("5:cpuacct,cpu:/x\n", v1("cpuacct,cpu/x", "150000"), 1.5),
        ("5:cpu,cpuacct:/docker/1\n", v1("cpu", "50000"), 0.5),
        ("5:cpu:/x\n", {"cpu/x/cpu.cfs_quota_us": "50000"}, None),
        ("5:cpuset:/x\n0::/x\n", {"x/cpu.max": "300000 100000"}, 3.0),
        ("5:cpu:/x\n0::/x\n", {**v1("cpu/x", "400000"), "x/cpu.max": "300000 100000"}, 3.0),
        ("nonsense\n::\n\n", {"cpu.max": "100000 100000"}, 1.0),
    ],
)  # fmt: skip
def test_a_quota_is_found_wherever_a_container_puts_it(
    tmp_path: Path, lines: str, files: dict[str, str], expected: float | None
) -> None:
    (tmp_path / "proc").write_text(lines)
    for name, content in files.items():
        path = tmp_path / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="latin-1")
    assert session.cgroup_quota(tmp_path / "cgroup", tmp_path / "proc") == expected


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity")
def test_a_process_bound_to_one_cpu_computes_with_one_thread() -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert available_cpus() == 1
        done = python(
            "from smile_lite.session import thread_count; print(thread_count())",
            OMP_NUM_THREADS=None,
            SMILE_LITE_THREADS=None,
        )
    finally:
        os.sched_setaffinity(0, before)
    assert done.stdout == "1\n"


# -- what a run leaves behind and says besides


def test_a_run_says_nothing_on_standard_error_and_writes_nothing_about_the_user(
    checkpoint: Path, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "user").mkdir()
    Smile.from_pretrained(str(checkpoint))
    done = python(
        SCORE.format(checkpoint=str(checkpoint)) + "    print(expected)",
        HOME=str(tmp_path / "user"),
        XDG_CACHE_HOME=str(tmp_path / "user"),
        ORT_DISABLE_TELEMETRY=None,
        TOKENIZERS_PARALLELISM=None,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert list((tmp_path / "user").iterdir()) == []  # onnxruntime would keep a device id and a queue of events


@pytest.mark.parametrize(("before", "after"), [(None, "1"), ("1", "1"), ("0", "0")])
def test_telemetry_of_onnxruntime_is_off_unless_somebody_turned_it_on(
    checkpoint: Path, home: Path, monkeypatch: pytest.MonkeyPatch, before: str | None, after: str
) -> None:
    graph = get_model(str(checkpoint)).path("fp32.onnx")
    monkeypatch.setenv("ORT_DISABLE_TELEMETRY", before or "")
    if before is None:
        monkeypatch.delenv("ORT_DISABLE_TELEMETRY")
    session.new_session(graph, 1)
    assert os.environ["ORT_DISABLE_TELEMETRY"] == after


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="the warnings are of Linux")
def test_warnings_of_virtual_devices_are_left_out_and_others_are_not(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "onnxruntime", raising=False)
    with session._without_discovery_warnings():
        os.write(2, b"\x1b[0;93m[W:onnxruntime:Default, device_discovery.cc:164 X] GPU device discovery failed\x1b[m\n")
        os.write(2, b"something else\n")
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "something else\nafter\n"
    with pytest.raises(ImportError), session._without_discovery_warnings():
        os.write(2, b"why it failed\n")
        raise ImportError
    assert capfd.readouterr().err == "why it failed\n"


@pytest.mark.parametrize("value", [None, "true", "0"])
def test_parallel_tokenizing_is_decided_by_who_set_it(
    checkpoint: Path, home: Path, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    model = get_model(str(checkpoint))
    if value is None:
        monkeypatch.delenv("TOKENIZERS_PARALLELISM", raising=False)
    else:
        monkeypatch.setenv("TOKENIZERS_PARALLELISM", value)
    load_tokenizer(model.path("tokenizer.json"), model.manifest.encoding)
    assert os.environ["TOKENIZERS_PARALLELISM"] == (value or "false")


# -- several threads, processes and machines


def test_eight_threads_on_one_scorer_give_the_same_bits(smile: Smile) -> None:
    expected = [smile.score(text, "the mat").scores for text in TEXTS]
    with ThreadPoolExecutor(8) as threads:
        for _ in range(3):
            assert list(threads.map(lambda text: smile.score(text, "the mat").scores, TEXTS)) == expected


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_scorer_comes_out_of_a_pickle_as_it_went_in(smile: Smile, protocol: int) -> None:
    again = pickle.loads(pickle.dumps(smile, protocol))  # noqa: S301 - our own
    row = Row(id=1, references=("the cat", "lyon"), synthetic=(None, None), prediction="a cat sat on it")
    assert again.score_rows([row]) == smile.score_rows([row])
    assert again.signature_of(row) == smile.signature_of(row)
    encoder = smile.encoder
    assert isinstance(encoder, OnnxEncoder)
    copy = pickle.loads(pickle.dumps(encoder, protocol))  # noqa: S301 - our own
    assert copy.encode(TEXTS).tobytes() == encoder.encode(TEXTS).tobytes()
    assert b"tokenizers" not in pickle.dumps(smile, protocol)  # tokenizer and session are opened where it lands


def test_where_a_pickle_lands_the_model_is_checked_again(smile: Smile, checkpoint: Path) -> None:
    pickled = pickle.dumps(smile)
    model = get_model(str(checkpoint))
    tokenizer = model.path("tokenizer.json")
    content = tokenizer.read_bytes()
    tokenizer.write_bytes(content.replace(b"lyon", b"rome"))
    with pytest.raises(ModelIntegrityError, match="tokenizer.json is damaged or was changed"):
        pickle.loads(pickled)  # noqa: S301 - our own
    tokenizer.unlink()
    with pytest.raises(ModelUnavailable, match="tokenizer.json is missing: pull it again"):
        pickle.loads(pickled)  # noqa: S301 - our own


def score_in_worker(work: tuple[Smile, str]) -> list[float | None]:
    smile, text = work
    return smile.score(text, "the mat").scores


def test_a_scorer_goes_to_processes_that_are_spawned(smile: Smile) -> None:
    expected = [smile.score(text, "the mat").scores for text in TEXTS[:4]]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(score_in_worker, [(smile, text) for text in TEXTS[:4]]) == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_scorer_that_was_used_works_on_in_forks_and_nothing_is_warned_of(checkpoint: Path, home: Path) -> None:
    done = python(
        SCORE.format(checkpoint=str(checkpoint))
        + """
    import multiprocessing, os, subprocess, sys, threading
    from smile_lite import session
    opened = set(map(id, session._sessions.values()))
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(scores, range(6)) == [expected] * 6
    child = os.fork()
    if not child:
        grandchild = os.fork()
        if not grandchild:
            right = scores() == expected  # by a session of its own: the threads of its parent's are not here
            os._exit(not (right and not opened & set(map(id, session._sessions.values()))))
        os._exit(os.waitpid(grandchild, 0)[1] != 0)
    assert os.waitpid(child, 0)[1] == 0
    stop = threading.Event()
    def work():
        while not stop.is_set():
            scores()
    busy = threading.Thread(target=work)
    busy.start()
    for _ in range(4):  # the parent is in the middle of something
        child = os.fork()
        if not child:
            os._exit(scores() != expected)
        assert os.waitpid(child, 0)[1] == 0
    stop.set()
    busy.join()
    subprocess.run([sys.executable, "-c", ""], check=True)
    assert scores() == expected
    print("done")
    """,
        TOKENIZERS_PARALLELISM=None,
        PYTHONWARNINGS="ignore::DeprecationWarning",  # Python's own, of forks in a process that has threads
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_eight_processes_on_an_empty_store_all_score_and_leave_one_sound_model(checkpoint: Path, home: Path) -> None:
    script = textwrap.dedent(SCORE.format(checkpoint=str(checkpoint)) + "    print(expected)")
    running = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    finished = [(*process.communicate(timeout=120), process.returncode) for process in running]
    assert [(err, code) for _, err, code in finished] == [("", 0)] * 8
    assert len({out for out, _, _ in finished}) == 1
    model = get_model(str(checkpoint))
    model.verify(thorough=True)
    left = sorted(one.name for one in (home / "models").iterdir())
    assert [name for name in left if not name.endswith(".lock")] == [model.folder.name]
    assert sorted(one.name for one in model.folder.iterdir()) == sorted(["lock.json", "verified.json", *model.files])


# -- stores that cannot be written


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("SMILE_LITE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", nobody)
    with pytest.raises(ModelUnavailable, match="this user has no home folder: set SMILE_LITE_HOME"):
        default_home()


def test_a_store_on_a_file_system_without_locks_is_used_without(
    checkpoint: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    get_model(str(checkpoint)).verify(thorough=True)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_a_check_that_cannot_be_noted_is_no_error_and_leaves_no_litter(
    checkpoint: Path, home: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    model = get_model(str(checkpoint))
    (model.folder / "verified.json").unlink()
    before = sorted(model.folder.iterdir())

    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "replace", refuse)
    for _ in range(3):
        assert get_model(str(checkpoint)).files == model.files
    assert sorted(model.folder.iterdir()) == before


@pytest.mark.parametrize("content", ["", "{", "[]", '{"tokenizer.json": 5}', "null", "\x00"])
def test_a_note_of_the_last_check_that_is_damaged_is_made_anew(checkpoint: Path, home: Path, content: str) -> None:
    model = get_model(str(checkpoint))
    sound = (model.folder / "verified.json").read_text()
    (model.folder / "verified.json").write_text(content)
    get_model(str(checkpoint))
    assert (model.folder / "verified.json").read_text() == sound


def test_a_store_of_another_user_serves_one_who_may_only_read_it(checkpoint: Path, home: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    model = get_model(str(checkpoint))
    (model.folder / "verified.json").unlink()
    for folder in (model.folder, home / "models", home):
        folder.chmod(0o555)
    try:
        assert get_model(str(checkpoint)).folder == model.folder
        with (
            pytest.raises(ModelUnavailable, match="set SMILE_LITE_HOME to a folder that can be written"),
            Store().staging(model.manifest),
        ):
            pass
    finally:
        for folder in (home, home / "models", model.folder):
            folder.chmod(0o755)
