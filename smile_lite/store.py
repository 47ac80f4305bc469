"""The store: a folder for each pulled model, with a record of the hash of every file in it.

    SMILE_LITE_HOME/models/minilm-1a2b3c4d/
        lock.json           where the files came from, their sha256 and size, the converted graphs and theirs
        verified.json       size, times and inode of each file when it was last seen to match, if that could be kept
        model.safetensors   tokenizer.json   fp32.onnx ...

A folder appears under its name only when it is complete, by one rename; a second process that pulls the same model
waits for the first, or loses the rename and uses what is there.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smile_lite.errors import ModelIntegrityError, ModelUnavailable
from smile_lite.manifest import parse_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from smile_lite.manifest import Manifest

__all__ = ["PulledModel", "Store", "default_home", "open_folder", "sha256_of"]


def default_home() -> Path:
    """SMILE_LITE_HOME, or the platform's folder for caches."""
    try:
        if chosen := os.environ.get("SMILE_LITE_HOME"):
            return Path(chosen).expanduser()
        return _platform_cache() / "smile-lite"
    except RuntimeError:  # no home folder, and no user of this number either
        raise ModelUnavailable("this user has no home folder: set SMILE_LITE_HOME to where the models are") from None


def _platform_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def sha256_of(path: Path) -> str:
    """The sha256 of a file, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class PulledModel:
    """A model in the store: its folder and the record of its files."""

    manifest: Manifest
    folder: Path
    files: Mapping[str, Mapping[str, Any]]
    origin: str

    @property
    def fingerprint(self) -> str:
        """`name@` and the first eight digits of the weights' sha256: what a signature calls the model."""
        return f"{self.manifest.name}@{self.files[self.manifest.weights]['sha256'][:8]}"

    @property
    def bytes(self) -> int:
        """The size of all its files."""
        return sum(int(record["bytes"]) for record in self.files.values())

    @property
    def precisions(self) -> list[str]:
        """The precisions that it was converted to."""
        return [precision for precision in self.manifest.precisions if f"{precision}.onnx" in self.files]

    def path(self, name: str) -> Path:
        """Where the file `name` is. Raises ModelUnavailable where the model has none of that name."""
        if name not in self.files:
            raise ModelUnavailable(f"model {self.manifest.name} has no file {name} in {self.folder}")
        return self.folder / name

    def verify(self, *, thorough: bool = False) -> None:
        """Check every file against its sha256, and where the manifest states one, against that.

        A file whose size, times and inode are those of the last check that went well is not read again unless
        `thorough`. Raises ModelIntegrityError that names the file, ModelUnavailable where it is gone.
        """
        known = {} if thorough else self._stamps()
        for name, record in self.files.items():
            path = self.folder / name
            stated = self.manifest.files[name].sha256 if name in self.manifest.files else ""
            wanted = stated or record["sha256"]
            try:
                stamp = [*_stamp(path), wanted]
                sound = known.get(name) == stamp or sha256_of(path) == wanted
            except FileNotFoundError:
                raise ModelUnavailable(f"{path} is missing: {self._remedy()}") from None
            except OSError as error:
                raise ModelUnavailable(f"{path} cannot be read: {error.strerror}") from None
            if not sound:
                raise ModelIntegrityError(
                    f"{path} is damaged or was changed: its sha256 is not {wanted[:16]}...; {self._remedy()}"
                )
            known[name] = stamp
        with contextlib.suppress(OSError):
            if known != self._stamps():
                _write_json(self.folder / "verified.json", {name: known[name] for name in self.files})

    def _stamps(self) -> dict[str, list[Any]]:
        try:
            read = json.loads((self.folder / "verified.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return read if isinstance(read, dict) else {}

    def _remedy(self) -> str:
        return f"pull it again with `smile-lite models pull {self.manifest.name} --force`"


def _from_lock(manifest: Manifest, folder: Path, lock: Any) -> PulledModel:
    """Raises KeyError, TypeError, ValueError or AttributeError for what is no lock file."""
    files = {
        name: {"sha256": str(record["sha256"]), **record, "bytes": int(record["bytes"])}
        for name, record in lock["files"].items()
    }
    if not manifest.files.keys() <= files.keys():
        raise KeyError("files")
    return PulledModel(manifest, folder, files, str(lock["origin"]))


def _stamp(path: Path) -> list[int]:
    seen = path.stat()
    return [seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino]


def open_folder(folder: Path) -> PulledModel:
    """The model in a folder that carries its own manifest.toml and lock.json, as the export toolchain writes them.

    Its files are not checked here. Raises ModelUnavailable where it is none, ModelIntegrityError where it is damaged.
    """
    try:
        text = (folder / "manifest.toml").read_text(encoding="utf-8")
        lock = json.loads((folder / "lock.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise ModelUnavailable(f"{folder} holds no manifest.toml and lock.json, so it is no exported model") from None
    except (OSError, ValueError) as error:
        raise ModelIntegrityError(f"{folder}: its manifest or lock cannot be read: {error}") from None
    manifest = parse_manifest(text, origin=str(folder / "manifest.toml"))
    try:
        return _from_lock(manifest, folder, lock)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ModelIntegrityError(f"{folder / 'lock.json'} is damaged: export the model again") from None


class Store:
    """The models under one home folder."""

    def __init__(self, home: Path | None = None) -> None:
        self.home = home or default_home()

    def folder(self, manifest: Manifest) -> Path:
        """Where the model is, or would be."""
        return self.home / "models" / f"{manifest.name}-{manifest.identity}"

    def find(self, manifest: Manifest) -> PulledModel | None:
        """The model, if it was pulled (its files are not checked here)."""
        folder = self.folder(manifest)
        try:
            return _from_lock(manifest, folder, json.loads((folder / "lock.json").read_text(encoding="utf-8")))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except PermissionError:
            raise ModelUnavailable(f"{folder / 'lock.json'} cannot be read: permission denied") from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise ModelIntegrityError(
                f"{folder / 'lock.json'} is damaged: `smile-lite models pull {manifest.name} --force`"
            ) from None

    @contextlib.contextmanager
    def staging(self, manifest: Manifest) -> Iterator[Path]:
        """An empty folder next to the model's place, gone afterwards. Raises ModelUnavailable where none can be
        made.
        """
        path = self.home / "models" / f".{manifest.name}-{uuid.uuid4().hex[:12]}.staging"
        try:
            path.mkdir(parents=True)
        except OSError as error:
            raise ModelUnavailable(
                f"the model {manifest.name} cannot be stored in {self.home} ({error.strerror}): "
                "set SMILE_LITE_HOME to a folder that can be written"
            ) from None
        try:
            yield path
        except OSError as error:
            if isinstance(error, ModelUnavailable):
                raise
            raise ModelUnavailable(f"the model {manifest.name} cannot be stored in {path}: {error.strerror}") from error
        finally:
            shutil.rmtree(path, ignore_errors=True)

    @contextlib.contextmanager
    def lock(self, manifest: Manifest) -> Iterator[None]:
        """Hold the model's pull lock, where the platform has one; without it a pull is done twice, never half."""
        folder = self.home / "models"
        try:
            import fcntl

            folder.mkdir(parents=True, exist_ok=True)
            handle = (folder / f".{manifest.name}.lock").open("w")
        except (ImportError, OSError):
            yield
            return
        with handle:
            with contextlib.suppress(OSError):  # some network file systems have no locks
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def check_new(self, manifest: Manifest, name: str, path: Path) -> dict[str, Any]:
        """The record of a file just fetched or made. Raises ModelIntegrityError where the manifest states another
        hash.
        """
        if not path.is_file():
            raise ModelUnavailable(f"the source of {manifest.name} gave no file {name}")
        digest = sha256_of(path)
        wanted = manifest.files[name].sha256 if name in manifest.files else ""
        if wanted and digest != wanted:
            raise ModelIntegrityError(
                f"{name} of {manifest.name} came with sha256 {digest[:16]}..., "
                f"not {wanted[:16]}... as the manifest states"
            )
        return {"sha256": digest, "bytes": path.stat().st_size, "stated": bool(wanted)}

    def commit(
        self, manifest: Manifest, staged: Path, *, origin: str, files: Mapping[str, Any], replace: bool
    ) -> PulledModel:
        """Give a complete staged folder its name. Where another process was first, theirs is kept unless `replace`."""
        _write_json(staged / "lock.json", {"model": manifest.name, "origin": origin, "files": files})
        target = self.folder(manifest)
        if replace and target.exists():
            doomed = target.with_name(f".{target.name}-{uuid.uuid4().hex[:8]}.old")
            target.rename(doomed)
            shutil.rmtree(doomed, ignore_errors=True)
        try:
            staged.rename(target)
        except OSError:
            theirs = self.find(manifest)
            if theirs is None:
                raise
            return theirs
        return PulledModel(manifest, target, files, origin)

    def add_files(self, model: PulledModel, made: Sequence[Path], *, converter: int) -> PulledModel:
        """Move more files into a pulled model (a graph converted later); `converter`: the version that made them."""
        records = {path.name: self.check_new(model.manifest, path.name, path) for path in made}
        files = {**model.files, **{name: {**record, "converter": converter} for name, record in records.items()}}
        for path in made:
            path.replace(model.folder / path.name)
        lock = {"model": model.manifest.name, "origin": model.origin, "files": files}
        _write_json(model.folder / "lock.json", lock)
        return PulledModel(model.manifest, model.folder, files, model.origin)


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        temporary.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
