"""The house rules: floors, what is imported when, what the network sees, what the packaging says."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import smile_lite
from smile_lite import errors
from smile_lite.extras import require
from smile_lite.store import PulledModel

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "smile_lite"

# Imports go down only; on one floor they may go sideways, but not in a circle.
FLOORS = [
    {"errors", "extras", "rows", "text", "machine"},
    {"plan", "scoring", "tasks", "guards", "reading", "gradable"},
    {"manifest", "checkpoint", "sources", "store", "models", "convert", "tokenizer"}
    | {"session", "onnx_model", "encoder", "pairs", "pairwise", "health", "lemmas"}
    | {"chat", "generate"},
    {"report", "signature", "verdict", "prepared"},
    {"metric", "prepare", "testing"},
    {"cli", "__main__"},
]
FLOOR = {name: number for number, names in enumerate(FLOORS) for name in names}


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def modules() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_every_module_lives_on_a_floor() -> None:
    assert {room(path) for path in modules()} == set(FLOOR)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_down_only(path: Path) -> None:
    for name in imports(path):
        package, _, rest = name.partition(".")
        if package == "smile_lite" and rest.partition(".")[0] in FLOOR:
            assert FLOOR[rest.partition(".")[0]] <= FLOOR[room(path)], f"{path.name} imports {name}"


def test_no_two_rooms_import_each_other() -> None:
    graph: dict[str, set[str]] = {name: set() for name in FLOOR}
    for path in modules():
        found = {name.split(".")[1] for name in imports(path) if name.startswith("smile_lite.")}
        graph[room(path)] |= (found & set(FLOOR)) - {room(path)}

    def reach(start: str, seen: frozenset[str]) -> None:
        assert start not in seen, f"a circle through {start}"
        for other in graph[start]:
            reach(other, seen | {start})

    for name in graph:
        reach(name, frozenset())


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_runtime_never_names_torch_or_the_export_code(path: Path) -> None:
    heavy = {"torch", "transformers", "optimum", "sentence_transformers", "smile_lite_export", "llama_cpp"}
    assert not {name.partition(".")[0] for name in imports(path)} & heavy


@pytest.mark.parametrize("floor", [0, 1])
def test_the_lowest_floors_need_the_standard_library_and_numpy_at_most(floor: int) -> None:
    allowed = set(sys.stdlib_module_names) | {"smile_lite"} | ({"numpy"} if floor else set())
    for path in modules():
        if FLOOR[room(path)] == floor:
            assert {name.partition(".")[0] for name in imports(path)} <= allowed, path.name


def isolated(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)


def test_scoring_loads_neither_torch_nor_transformers_and_opens_no_socket(minilm: PulledModel) -> None:
    done = isolated(
        """
import socket, sys
opened = []
class Refusing(socket.socket):
    def __init__(self, *arguments, **options):
        opened.append(arguments)
        raise OSError("no network in this test")
socket.socket = Refusing
for name in ("torch", "transformers", "optimum", "sentence_transformers"):
    sys.modules[name] = None  # an import of it raises ImportError
import smile_lite
from smile_lite import Smile
report = Smile.from_pretrained("minilm", offline=True).score("It is Paris.", "Paris", "Capital of France?")
assert report.rows[0].exact == 1
assert not opened, opened
heavy = {"torch", "transformers", "onnx", "safetensors", "huggingface_hub", "lemminflect", "pandas"}
print(sorted(heavy & {name for name, module in sys.modules.items() if module is not None}))
"""
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "[]", "")


def test_help_imports_neither_numpy_nor_onnxruntime() -> None:
    done = isolated(
        """
import sys
from smile_lite.cli import main
try:
    main(sys.argv[1:] or ["--help"])
except SystemExit as stop:
    assert not stop.code
assert not {"numpy", "onnxruntime", "tokenizers"} & set(sys.modules)
for name in ("score", "explain", "models", "doctor"):
    try:
        main([name, "--help"])
    except SystemExit as stop:
        assert not stop.code
print(sorted({"numpy", "onnxruntime", "tokenizers"} & set(sys.modules)))
"""
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_importing_the_package_loads_nothing_heavy_and_gives_all_its_names() -> None:
    done = isolated(
        "import sys, smile_lite\n"
        "assert not {'numpy', 'onnxruntime', 'socket', 'click'} & set(sys.modules)\n"
        "for name in smile_lite.__all__: getattr(smile_lite, name)\n"
        "assert set(smile_lite.__all__) <= set(dir(smile_lite))"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_names_are_sorted_and_exist() -> None:
    assert list(smile_lite.__all__) == sorted(smile_lite.__all__)
    assert list(errors.__all__) == sorted(errors.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Smiles'"):
        smile_lite.Smiles  # noqa: B018


def test_every_error_stands_in_the_tree_with_its_exit_code() -> None:
    drawn = dict(re.findall(r"(\w+)(?: \(\w+\))?\s+exit (\d)", errors.__doc__ or ""))
    assert drawn == {name: str(getattr(errors, name).exit_code) for name in errors.__all__}


def test_the_runtime_depends_on_four_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.split(r"[<>=]", line)[0] for line in project["dependencies"]}
    assert names == {"onnxruntime", "tokenizers", "numpy", "click"}
    assert project["version"] == smile_lite.__version__ == metadata.version("smile-lite")


def test_a_missing_extra_is_told_with_the_command_that_brings_it() -> None:
    with pytest.raises(errors.ExtraMissing, match=r"pip install 'smile-lite\[lemmas\]'"):
        require("no_such_package", extra="lemmas", purpose="this test")


def test_errors_survive_pickling() -> None:
    import pickle

    error = errors.InputError("wrong", file="f", line=3, field="id")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (str(again), again.line, again.field) == ("f, line 3: wrong", 3, "id")
