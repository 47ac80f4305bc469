"""llama.cpp: its checkpoint converter, out of the source distribution of the pinned llama-cpp-python, and its library.

The wheel does not hold the converter, so the source distribution is fetched by its hash through pip, the few files that
convert are taken out of it and kept under SMILE_LITE_HOME/llama.cpp-VERSION; the hash over all of them is pinned too
and checked at every use, because these files are run. pip asks a source distribution for its metadata even when it
only downloads, which would fetch a build system by no hash and run it; a stand-in for that build system, two
functions that state name and version, keeps anything from being built or run.

llama.cpp ends its process where it meets a fault, so whatever it does is done in a child
(`python -m smile_lite_export.llama_source`), which an interrupt stops at once.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import uuid
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from smile_lite.errors import ModelError, ModelIntegrityError, ModelUnavailable, UsageError
from smile_lite.extras import require
from smile_lite.session import thread_count
from smile_lite.store import default_home

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["QUESTION", "VERSION", "check_environment", "converter_folder", "prove", "quantise", "to_f16"]

VERSION = "0.3.36"
SDIST_SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
FILES_SHA256 = "23c66415de2838bd306473cb5b356fb880465d01ce7ca4dcfe8e805089f4a07a"
QUESTION = "What is the capital of France? Answer in one short sentence."
ANSWER_TOKENS = 24
_PACKAGES = ("torch", "transformers", "sentencepiece", "yaml", "llama_cpp")
_BACKEND = f"""\
import pathlib


def get_requires_for_build_wheel(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = pathlib.Path(metadata_directory, "llama_cpp_python-{VERSION}.dist-info")
    folder.mkdir()
    text = "Metadata-Version: 2.1\\nName: llama_cpp_python\\nVersion: {VERSION}\\n"
    (folder / "METADATA").write_text(text)
    return folder.name
"""


def check_environment() -> None:
    """Say what a conversion lacks, before anything is downloaded.

    Raises ExtraMissing for a package that is not installed, UsageError for another llama-cpp-python than the pinned
    one.
    """
    for package in _PACKAGES:
        if find_spec(package) is None:
            require(package, extra="export", purpose="converting a generator to GGUF")
    installed = metadata.version("llama-cpp-python")
    if installed != VERSION:
        raise UsageError(
            f"llama-cpp-python {installed} is installed and the converter is that of {VERSION}: the two must be of one "
            f"version: pip install llama-cpp-python=={VERSION}"
        )


def converter_folder(*, offline: bool, notify: Callable[[str], object]) -> Path:
    """The folder with llama.cpp's converter, fetched first where it is not here yet, and checked.

    Raises ModelUnavailable where it cannot be had, ModelIntegrityError where a file of it was changed.
    """
    folder = default_home() / f"llama.cpp-{VERSION}"
    if folder.is_dir():
        if tree_sha256(folder) != FILES_SHA256:
            raise ModelIntegrityError(f"{folder} is not what llama-cpp-python {VERSION} holds: remove it and try again")
        return folder
    if offline:
        raise ModelUnavailable(
            f"offline, and llama.cpp's converter is not in {folder}: run the export once with a package index in reach"
        )
    notify(f"fetching llama.cpp's converter (llama-cpp-python {VERSION}, source, 77 MB) from the package index")
    staged = folder.with_name(f".{folder.name}-{uuid.uuid4().hex[:12]}.staging")
    try:
        staged.mkdir(parents=True)
        with tempfile.TemporaryDirectory(prefix="smile-lite-") as scratch:
            _unpack(_download(Path(scratch)), staged)
        if (found := tree_sha256(staged)) != FILES_SHA256:
            raise ModelIntegrityError(
                f"llama.cpp's converter came with sha256 {found[:16]}..., not {FILES_SHA256[:16]}..."
            )
        try:
            staged.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process was first, with the same bytes
                raise
    except OSError as error:
        raise ModelUnavailable(
            f"llama.cpp's converter cannot be stored in {folder}: {error.strerror or error}"
        ) from error
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return folder


def to_f16(checkpoint: Path, target: Path, *, converter: Path) -> None:
    """Convert a Hugging Face checkpoint folder to F16 GGUF, in a process of its own that opens no connection.

    Raises ModelError with the converter's last words.
    """
    command = [sys.executable, str(converter / "convert_hf_to_gguf.py"), str(checkpoint)]
    command += ["--outtype", "f16", "--outfile", str(target)]
    environment = {name: value for name, value in os.environ.items() if name != "NO_LOCAL_GGUF"}
    environment |= {"PYTHONPATH": str(converter / "gguf-py"), "PYTHONDONTWRITEBYTECODE": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)  # noqa: S603
    if done.returncode or not target.is_file():
        raise ModelError(f"llama.cpp could not convert {checkpoint}: {_why(done)}")


def quantise(source: Path, target: Path, file_type: int) -> str:
    """Quantise a GGUF to llama.cpp's `file_type`; returns what the caller should know of it, or nothing.

    Tensors whose rows are no multiple of 256 cannot take the K forms: llama.cpp gives them a larger one and counts
    them. Raises ModelError with llama.cpp's last words.
    """
    log = _child("quantise", str(source), str(target), str(file_type))[1]
    counted = re.findall(r"(\d+) of (\d+) tensor\(s\) required fallback", log)
    if not counted:
        return ""
    return f"{counted[-1][0]} of {counted[-1][1]} tensors have rows that are no multiple of 256 and took a larger form"


def prove(path: Path) -> dict[str, Any]:
    """Load a GGUF and ask it QUESTION twice, greedily, with nothing kept between the two.

    Returns answer, tokens (how many), same (whether both answers are), context_length, chat_template ("" where there is
    none) and file_type. Raises ModelError where it does not load or its chat template fails.
    """
    found: dict[str, Any] = json.loads(_child("prove", str(path))[0])
    return found


def tree_sha256(folder: Path) -> str:
    """One hash over the names and bytes of all files of the converter, byte code left out."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    digest = hashlib.sha256()
    for name in names:
        if "__pycache__" not in name:
            digest.update(f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n".encode())
    return digest.hexdigest()


def _download(scratch: Path) -> Path:
    if find_spec("pip") is None:
        raise ModelUnavailable("llama.cpp's converter comes from the package index, and there is no pip to fetch it")
    backend = scratch / "backend" / "scikit_build_core"
    backend.mkdir(parents=True)
    (backend / "__init__.py").touch()
    (backend / "build.py").write_text(_BACKEND, encoding="utf-8")
    wanted = scratch / "requirement.txt"
    wanted.write_text(f"llama-cpp-python=={VERSION} --hash=sha256:{SDIST_SHA256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-build-isolation", "--no-binary", "llama-cpp-python", "--require-hashes"]
    command += ["--dest", str(scratch), "-r", str(wanted)]
    environment = {**os.environ, "PYTHONPATH": str(backend.parent)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)  # noqa: S603
    found = sorted(scratch.glob("*.tar.gz"))
    if done.returncode or not found:
        errors = "\n".join(line for line in done.stderr.splitlines() if line.startswith("ERROR"))
        raise ModelUnavailable(f"pip could not fetch llama-cpp-python {VERSION}: {_last_words(errors)}")
    return found[0]


def _unpack(archive: Path, folder: Path) -> None:
    root = PurePosixPath(f"llama_cpp_python-{VERSION}/vendor/llama.cpp")
    with tarfile.open(archive) as packed:
        for member in packed:
            path = PurePosixPath(member.name)
            if not (member.isfile() and path.is_relative_to(root) and _is_wanted(path.relative_to(root))):
                continue
            target = folder / path.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            stream = packed.extractfile(member)
            if stream is not None:
                target.write_bytes(stream.read())


def _is_wanted(path: PurePosixPath) -> bool:
    if str(path) in ("LICENSE", "convert_hf_to_gguf.py"):
        return True
    return path.suffix == ".py" and str(path.parent) in ("conversion", "gguf-py/gguf")


def _child(*words: str) -> tuple[str, str]:
    command = [sys.executable, "-m", "smile_lite_export.llama_source", *words]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)  # noqa: S603
    if done.returncode:
        raise ModelError(f"llama.cpp could not {words[0]} {Path(words[1]).name}: {_why(done)}")
    return done.stdout, done.stderr


def _why(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode < 0:
        return (
            f"it was ended by signal {-done.returncode} (9: out of memory, most often; 6, 7 or 11: the file is damaged)"
        )
    return _last_words(done.stderr)


def _last_words(stderr: str) -> str:
    """The line of a program's error output that says most: the last one that is no progress bar, without passwords."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip() and "%|" not in line]
    return re.sub(r"\w+://\S*@", "", lines[-1]) if lines else "it gave no reason"


def _quantise_here(source: str, target: str, file_type: str) -> None:
    import ctypes

    import llama_cpp

    settings = llama_cpp.llama_model_quantize_default_params()
    settings.ftype, settings.nthread = int(file_type), thread_count()
    if code := llama_cpp.llama_model_quantize(source.encode(), target.encode(), ctypes.byref(settings)):
        sys.exit(f"llama_model_quantize returned {code}")


def _prove_here(path: str) -> None:
    import llama_cpp

    # Its threads wait for each other in a loop: one a CPU would crawl as soon as the machine does anything else.
    threads = max(1, thread_count() // 2)
    model = llama_cpp.Llama(path, n_ctx=512, n_threads=threads, n_threads_batch=threads, seed=0, verbose=False)
    template = model.metadata.get("tokenizer.chat_template", "")
    architecture = model.metadata.get("general.architecture", "")
    greedy = {"temperature": 0.0, "top_k": 1, "seed": 0, "max_tokens": ANSWER_TOKENS}
    answers, tokens = [], 0
    for _ in range(2):
        model.reset()
        if template:
            reply = model.create_chat_completion([{"role": "user", "content": QUESTION}], **greedy)
            answers.append(reply["choices"][0]["message"]["content"] or "")
        else:
            reply = model.create_completion(QUESTION, **greedy)
            answers.append(reply["choices"][0]["text"])
        tokens = reply["usage"]["completion_tokens"]
    found = {
        "answer": answers[0].strip(),
        "tokens": tokens,
        "same": answers[0] == answers[1],
        "context_length": int(model.metadata.get(f"{architecture}.context_length", 0)),
        "chat_template": template,
        "file_type": int(model.metadata.get("general.file_type", -1)),
    }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    if sys.argv[1] == "quantise":
        _quantise_here(*sys.argv[2:])
    else:
        _prove_here(*sys.argv[2:])
