"""Processor and onnxruntime: how many threads there are to use, and one session for each graph in a process."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smile_lite.errors import ModelIntegrityError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from onnxruntime import InferenceSession

__all__ = [
    "BATCH_SIZE",
    "TOKENS_PER_BATCH",
    "available_cpus",
    "cgroup_quota",
    "exact_length_batches",
    "new_session",
    "open_session",
    "thread_count",
]

TOKENS_PER_BATCH = 1024
BATCH_SIZE = 64
_sessions: dict[tuple[str, int], InferenceSession] = {}
_opening = threading.Lock()


def thread_count(requested: int | None = None) -> int:
    """Threads to compute with: `requested`, else SMILE_LITE_THREADS, else as many CPUs as this process may use, and
    no more than OMP_NUM_THREADS (which Ray, joblib and Slurm set to a worker's share; onnxruntime does not read it).

    Raises UsageError for what is no positive whole number.
    """
    if requested is None:
        stated = os.environ.get("SMILE_LITE_THREADS", "").strip()
        if not stated:
            share = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
            usable = available_cpus()
            return min(usable, int(share)) if share.isdecimal() and len(share) < 5 and int(share) else usable
        if not stated.isdecimal() or len(stated) > 4 or int(stated) < 1:
            raise UsageError(f"SMILE_LITE_THREADS must be a positive whole number under 10000, not {stated[:20]!r}")
        return int(stated)
    if not isinstance(requested, int) or isinstance(requested, bool) or not 0 < requested < 10_000:
        raise UsageError(f"the number of threads is a whole number from 1 to 9999, not {requested!r}")
    return requested


def available_cpus() -> int:
    """The CPUs that this process may use: min(affinity, cgroup quota), at least 1."""
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity else (os.cpu_count() or 1)
    quota = cgroup_quota()
    return max(1, count if quota is None else min(count, math.ceil(quota)))


def cgroup_quota(root: Path = Path("/sys/fs/cgroup"), proc: Path = Path("/proc/self/cgroup")) -> float | None:
    """The CPU quota of the process's control group (v1 or v2) in CPUs, the tightest on the way up; None where there
    is none.
    """
    try:
        lines = proc.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return None
    limits = []
    for line in lines:
        _, controllers, path = ([*line.split(":", 2), "", ""])[:3]
        if not controllers:
            limits += [_v2_limit(folder) for folder in _up(root, path)]
        elif "cpu" in controllers.split(","):
            bases = [root / name for name in ("cpu", controllers, "cpu,cpuacct") if (root / name).is_dir()]
            limits += [_v1_limit(folder) for base in bases[:1] for folder in _up(base, path)]
    found = [limit for limit in limits if limit is not None]
    return min(found) if found else None


def _up(base: Path, path: str) -> list[Path]:
    """The group's folder and its parents up to `base`; inside a container only `base` may be there."""
    folder = base / path.strip("/")
    return [folder, *(parent for parent in folder.parents if parent.is_relative_to(base))]


def _v2_limit(folder: Path) -> float | None:
    try:
        quota, period = (folder / "cpu.max").read_text(encoding="ascii").split()
        return None if quota == "max" else float(quota) / float(period)
    except (OSError, ValueError, ZeroDivisionError):
        return None


def _v1_limit(folder: Path) -> float | None:
    try:
        quota = float((folder / "cpu.cfs_quota_us").read_text(encoding="ascii"))
        return quota / float((folder / "cpu.cfs_period_us").read_text(encoding="ascii")) if quota > 0 else None
    except (OSError, ValueError, ZeroDivisionError):
        return None


def exact_length_batches(
    lengths: Sequence[int], *, batch_size: int = BATCH_SIZE, tokens: int = TOKENS_PER_BATCH
) -> Iterator[list[int]]:
    """Indices of inputs of exactly one length a batch, short ones first: no padding, and no mask to make up for it.

    A batch holds at most `batch_size` inputs and about `tokens` tokens.
    """
    by_length: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        by_length.setdefault(length, []).append(index)
    for length in sorted(by_length):
        members = by_length[length]
        size = max(1, min(batch_size, tokens // length))
        for start in range(0, len(members), size):
            yield members[start : start + size]


def open_session(graph: Path, threads: int) -> InferenceSession:
    """The session of `graph` with `threads` threads: one in a process, shared by all who ask, safe from several
    threads.

    Idle threads sleep (no spinning), and a process that was forked off makes its own. Raises ModelIntegrityError where
    onnxruntime cannot load the graph.
    """
    key = (str(graph.resolve()), threads)
    with _opening:
        if key not in _sessions:
            _sessions[key] = new_session(graph, threads)
        return _sessions[key]


def new_session(graph: Path | bytes, threads: int | None = None) -> Any:
    """A session of its own, for a graph that is run once and dropped. Raises as `open_session` does."""
    # Since 1.29 it sends what it does to its makers, and writes a device id, unless told not to; who set it decides.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    with _without_discovery_warnings():
        import onnxruntime

    threads = thread_count() if threads is None else threads
    name = "a graph in memory" if isinstance(graph, bytes) else str(graph)

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    options.enable_mem_pattern = False  # every batch has another shape: patterns would only pile up
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(
            graph if isinstance(graph, bytes) else name, options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime's errors share no base class but Exception
        raise ModelIntegrityError(f"onnxruntime cannot load {name}: {str(error).splitlines()[0]}") from error


@contextlib.contextmanager
def _without_discovery_warnings() -> Iterator[None]:
    """The first import of onnxruntime looks for GPUs and NPUs, and warns on standard error of virtual ones; no setting
    of its own is heard so early (its issue 27092). Whatever else is written meanwhile comes out afterwards.
    """
    if "onnxruntime" in sys.modules or not hasattr(os, "memfd_create"):
        yield
        return
    try:
        kept, aside = os.dup(2), os.memfd_create("stderr")
    except OSError:  # standard error is closed: there is nobody to warn
        yield
        return
    os.dup2(aside, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.lseek(aside, 0, os.SEEK_SET)
        with os.fdopen(aside, "rb") as written, os.fdopen(kept, "wb", buffering=0) as stderr:
            told = [line for line in written if b"device_discovery.cc" not in line]
            with contextlib.suppress(OSError):
                stderr.write(b"".join(told))


def _forget_sessions() -> None:
    """In a forked child: the threads of the parent's sessions are not there, and its lock may be held for ever.

    The sessions themselves are left to leak: destroying one would wait for its threads, for ever.
    """
    global _opening
    for session in _sessions.values():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(session))
    _sessions.clear()
    _opening = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_sessions)
