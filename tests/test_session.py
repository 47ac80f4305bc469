from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from smile_lite import session
from smile_lite.encoder import OnnxEncoder
from smile_lite.errors import ModelIntegrityError, UsageError
from smile_lite.session import available_cpus, cgroup_quota, open_session, thread_count
from smile_lite.store import PulledModel


def quota(tmp_path: Path, lines: str, files: dict[str, str]) -> float | None:
    (tmp_path / "proc").write_text(lines)
    for name, content in files.items():
        path = tmp_path / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return cgroup_quota(tmp_path / "cgroup", tmp_path / "proc")


@pytest.mark.parametrize(
    ("lines", "files", "expected"),
    [
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
        ("0::/\n", {"cpu.max": "max 100000\n"}, None),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/cpu.max": "200000 100000"}, 2.0),
        ("0::/a/b\n", {"a/b/cpu.max": "50000 100000", "a/cpu.max": "200000 100000"}, 0.5),
        ("0::/gone\n", {"cpu.max": "300000 100000"}, 3.0),
        ("4:cpu,cpuacct:/j\n", {"cpu,cpuacct/j/cpu.cfs_quota_us": "25000", "cpu,cpuacct/j/cpu.cfs_period_us":
        "100000"}, 0.25), ("4:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ("3:memory:/x\n", {"memory/x/cpu.max": "1 1"}, None), ("0::/\n", {"cpu.max": "nonsense"}, None), ("", {},
        None),
    ],
)  # fmt: skip
def test_the_tightest_quota_of_either_cgroup_version_counts(
    tmp_path: Path, lines: str, files: dict[str, str], expected: float | None
) -> None:
    assert quota(tmp_path, lines, files) == expected


def test_no_control_groups_no_quota(tmp_path: Path) -> None:
    assert cgroup_quota(tmp_path, tmp_path / "none") is None


@pytest.mark.parametrize(
    ("affinity", "limit", "expected"), [({0, 1}, 1.5, 2), ({0, 1}, 0.3, 1), ({0}, 8.0, 1), ({0, 1, 2, 3}, None, 4)]
)
def test_usable_cpus_are_the_smaller_of_affinity_and_quota(
    monkeypatch: pytest.MonkeyPatch, affinity: set[int], limit: float | None, expected: int
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: affinity, raising=False)
    monkeypatch.setattr(session, "cgroup_quota", lambda: limit)
    assert available_cpus() == expected


def test_threads_are_asked_for_by_argument_then_environment_then_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "available_cpus", lambda: 7)
    for name in ("SMILE_LITE_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    assert thread_count() == 7
    monkeypatch.setenv("SMILE_LITE_THREADS", "3")
    assert thread_count() == 3
    assert thread_count(2) == 2
    for wrong in ("0", "two", "-1", "1.5", "9" * 5000):
        monkeypatch.setenv("SMILE_LITE_THREADS", wrong)
        with pytest.raises(UsageError, match="SMILE_LITE_THREADS must be a positive whole number"):
            thread_count()
    with pytest.raises(UsageError, match="from 1 to 9999"):
        thread_count(0)


def test_a_graph_has_one_session_in_a_process(minilm: PulledModel) -> None:
    path = minilm.path("fp32.onnx")
    assert open_session(path, 1) is open_session(path, 1)
    options = open_session(path, 1).get_session_options()
    assert options.intra_op_num_threads == 1
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"


def test_idle_threads_use_no_processor(minilm: PulledModel) -> None:
    OnnxEncoder(minilm, threads=2).encode(["warm up"])
    before = time.process_time()
    time.sleep(0.5)
    assert time.process_time() - before < 0.2


def test_a_graph_that_cannot_be_loaded_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.onnx").write_bytes(b"not a graph")
    with pytest.raises(ModelIntegrityError, match="onnxruntime cannot load"):
        open_session(tmp_path / "x.onnx", 1)
