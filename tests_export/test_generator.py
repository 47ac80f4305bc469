from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import tomllib
from collections import namedtuple
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path

import pytest
from smile_lite_export import generator_source as generator
from smile_lite_export import llama_source
from smile_lite_export.generator import Exported, export_generator

from smile_lite.chat.gguf_manifest import (
    DEFAULT_GENERATOR,
    QUANTS,
    GeneratorManifest,
    check_quant,
    known_generators,
    load_generator,
    quant_of_type,
    to_toml,
)
from smile_lite.errors import (
    ExtraMissing,
    ModelError,
    ModelIntegrityError,
    ModelUnavailable,
    OutputError,
    SmileLiteError,
    UsageError,
)
from smile_lite.manifest import FileSpec, Source
from smile_lite.store import default_home, sha256_of
from tests_export.tiny_llama import TEMPLATE, write_tiny_llama

RUN = (
    "import sys; from smile_lite import cli; "
    "cli._COMMANDS['generator'] = ('smile_lite_export.cli_generator', ''); cli.main(sys.argv[1:])"
)


def start(*words: str | Path, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", RUN, "generator", *map(str, words)]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    )


def run(*words: str | Path, **environment: str) -> tuple[int, str, str]:
    process = start(*words, **environment)
    out, err = process.communicate(timeout=120)
    assert "Traceback" not in err
    return process.returncode, out, err


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_llama(tmp_path_factory.mktemp("checkpoint") / "tiny")


@pytest.fixture(scope="session")
def made(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return export_generator(str(checkpoint), tmp_path_factory.mktemp("made") / "tiny.gguf")


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """A file that holds no chat template."""
    folder = tmp_path_factory.mktemp("bare")
    source = write_tiny_llama(folder / "bare-checkpoint", template=False)
    return export_generator(str(source), folder / "bare.gguf", quant="F16", allow_no_template=True)


@pytest.fixture
def ready(made: Exported, tmp_path: Path) -> Path:
    """A GGUF with nothing beside it."""
    (tmp_path / "ready").mkdir()
    return Path(shutil.copyfile(made.file, tmp_path / "ready" / "tiny-Q4_K_M.gguf"))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder / "made.gguf"


def left(out: Path) -> list[str]:
    return sorted(path.name for path in out.parent.iterdir())


def test_a_checkpoint_becomes_a_file_of_four_bits_that_answers_the_same_twice(made: Exported) -> None:
    import llama_cpp

    model = llama_cpp.Llama(str(made.file), n_ctx=512, verbose=False)
    texts = []
    for _ in range(2):
        model.reset()
        reply = model.create_chat_completion(
            [{"role": "user", "content": llama_source.QUESTION}], temperature=0.0, top_k=1, seed=0, max_tokens=24
        )
        texts.append(reply["choices"][0]["message"]["content"])
    assert texts[0] == texts[1]
    assert texts[0].strip() == made.answer != ""
    assert model.metadata["general.file_type"] == str(llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_K_M)
    assert left(made.file) == ["tiny.gguf", "tiny.toml"]


def test_the_manifest_beside_the_file_says_what_it_is_and_how_it_was_made(made: Exported, checkpoint: Path) -> None:
    manifest = load_generator(str(made.manifest_file))
    assert manifest.files == {"Q4_K_M": FileSpec(sha256_of(made.file), made.file.stat().st_size)}
    assert (manifest.name, manifest.title, manifest.licence) == ("tiny", "tiny", "apache-2.0")
    assert manifest.context_length == 1024
    assert manifest.chat_template_sha256 == hashlib.sha256(TEMPLATE.encode()).hexdigest()
    assert manifest.made["source"] == "folder:tiny"
    assert manifest.made["answer"] == made.answer
    assert manifest.made["llama-cpp-python"] == llama_source.VERSION
    assert {"torch", "transformers", "smile-lite", "checkpoint_sha256"} <= set(manifest.made)
    assert str(checkpoint.parent) not in made.manifest_file.read_text(encoding="utf-8")


def test_a_file_with_its_manifest_is_taken_on_and_checked(made: Exported, out: Path) -> None:
    again = export_generator(str(made.file), out, sha256=sha256_of(made.file).upper())
    assert sha256_of(out) == sha256_of(made.file)
    assert again.manifest.licence == "apache-2.0"
    by_manifest = export_generator(str(made.manifest_file), out)
    assert by_manifest.manifest.made["sha256"] == "as stated beforehand"
    assert left(out) == ["made.gguf", "made.toml"]


def test_a_wrong_hash_is_refused_and_what_was_there_stays(made: Exported, ready: Path, out: Path) -> None:
    out.write_bytes(b"before")
    with pytest.raises(ModelIntegrityError, match=r"sha256 .* as was stated"):
        export_generator(str(ready), out, sha256="0" * 64)
    shutil.copyfile(made.manifest_file, ready.with_suffix(".toml"))
    text = ready.with_suffix(".toml").read_text(encoding="utf-8").replace("tiny.gguf", ready.name)
    ready.with_suffix(".toml").write_text(text, encoding="utf-8")
    with ready.open("r+b") as stream:
        stream.seek(-1, os.SEEK_END)
        stream.write(b"\x7f")
    with pytest.raises(ModelIntegrityError, match="damaged"):
        export_generator(str(ready), out)
    assert left(out) == ["made.gguf"]
    assert out.read_bytes() == b"before"


def test_a_hash_that_nobody_stated_is_recorded_and_said_to_be(ready: Path, out: Path) -> None:
    said: list[str] = []
    made = export_generator(str(ready.parent), out, licence="MIT", notify=said.append)
    assert any("recorded for the first time" in line and sha256_of(ready) in line for line in said)
    assert str(made.manifest.made["sha256"]).startswith("recorded when it was pulled")
    assert made.manifest.licence == "MIT"


def test_a_truncated_file_is_refused_by_llama(ready: Path, out: Path) -> None:
    with ready.open("r+b") as stream:
        stream.truncate(ready.stat().st_size // 2)
    with pytest.raises(ModelError, match="could not prove"):
        export_generator(str(ready), out)
    assert left(out) == []


def test_a_file_without_chat_template_needs_a_word(bare: Exported, out: Path) -> None:
    assert bare.manifest.chat_template_sha256 == ""
    assert set(bare.manifest.files) == {"F16"}
    with pytest.raises(ModelError, match="--allow-no-template"):
        export_generator(str(bare.file), out)
    assert left(out) == []


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["{checkpoint}", "--quant", "Q4_K_X"], 2, "no quantisation 'Q4_K_X': F32, F16"),
        (["{checkpoint}", "--sha256", "0" * 64], 2, "--sha256 is for a ready GGUF"),
        (["{ready}", "--quant", "Q8_0"], 2, "the file is Q4_K_M, not Q8_0"),
        (["smollm2-135m-instruct", "--quant", "Q4_K_M"], 2, "has no Q4_K_M file, there is Q4_1"),
        (["no-such-generator"], 3, "no generator is called 'no-such-generator': there are llama-3.2-3b-instruct"),
        (["./no/such/folder"], 3, "no file, no folder and no hub id"),
        (["no-such.gguf"], 3, "there is no file no-such.gguf"),
        (["{text}"], 3, "is no GGUF file"),
        (["{empty}"], 3, "it is no generator"),
        (["{pickled}"], 3, "pickled weights are not read"),
        (["{code}"], 3, "code of its own (auto_map)"),
        (["{cut}"], 3, "model.safetensors is damaged"),
        (["no-such-owner/model", "--offline"], 3, "offline, and it is not in the hub's cache"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    words: list[str], code: int, message: str, checkpoint: Path, ready: Path, out: Path, tmp_path: Path
) -> None:
    for name in ("empty", "pickled", "code"):
        (tmp_path / name).mkdir()
    (tmp_path / "text.gguf").write_text("not a model", encoding="utf-8")
    (tmp_path / "pickled" / "config.json").write_text("{}", encoding="utf-8")
    (tmp_path / "code" / "config.json").write_text('{"auto_map": {"AutoModel": "x.Y"}}', encoding="utf-8")
    (tmp_path / "code" / "model.safetensors").touch()
    cut = shutil.copytree(checkpoint, tmp_path / "cut") / "model.safetensors"
    cut.write_bytes(cut.read_bytes()[:100_000])
    places = {name: tmp_path / name for name in ("empty", "pickled", "code", "cut")}
    places |= {"checkpoint": checkpoint, "ready": ready, "text": tmp_path / "text.gguf"}
    found, _, err = run(*(word.format(**places) for word in words), "-o", out, HF_HOME=str(tmp_path / "hub"))
    assert (found, message in err) == (code, True), err
    assert left(out) == []


@pytest.mark.parametrize(("name", "error"), [("x.bin", UsageError), ("missing/x.gguf", OutputError)])
def test_a_place_that_does_not_fit_is_refused_first(name: str, error: type[SmileLiteError], tmp_path: Path) -> None:
    with pytest.raises(error):
        export_generator(DEFAULT_GENERATOR, tmp_path / name)


def test_a_folder_of_several_files_wants_a_choice(ready: Path, out: Path) -> None:
    shutil.copyfile(ready, ready.with_name("tiny-Q8_0.gguf"))
    shutil.copyfile(ready, ready.with_name("other-Q8_0.gguf"))
    assert export_generator(str(ready.parent), out, quant="q4_k_m").manifest.files.keys() == {"Q4_K_M"}
    with pytest.raises(UsageError, match="choose with --quant among other-Q8_0.gguf, tiny-Q4_K_M.gguf"):
        export_generator(str(ready.parent), out, quant="Q8_0")


def test_an_architecture_that_llama_does_not_know_is_named(checkpoint: Path, out: Path, tmp_path: Path) -> None:
    unknown = shutil.copytree(checkpoint, tmp_path / "unknown")
    config = json.loads((unknown / "config.json").read_text(encoding="utf-8"))
    config["architectures"] = ["NoSuchForCausalLM"]
    (unknown / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ModelError, match="NoSuchForCausalLM is not supported"):
        export_generator(str(unknown), out)
    assert left(out) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_leaves_nothing(number: int, checkpoint: Path, made: Exported, out: Path) -> None:
    assert made.file.is_file()  # the converter is here already, so the process is converting when it is stopped
    out.write_bytes(b"before")
    process = start(checkpoint, "-o", out)
    assert process.stderr is not None
    for line in process.stderr:
        if "converting" in line:
            break
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err.strip()) == (130, "smile-lite: interrupted")
    assert left(out) == ["made.gguf"]
    assert out.read_bytes() == b"before"


def test_an_interrupt_between_the_two_steps_removes_the_intermediate_file(
    checkpoint: Path, bare: Exported, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def instead(source: Path, target: Path, *, converter: Path) -> None:
        shutil.copyfile(bare.file, target)

    def interrupt(source: Path, target: Path, file_type: int) -> str:
        assert source.is_file()
        raise KeyboardInterrupt

    monkeypatch.setattr(generator, "to_f16", instead)
    monkeypatch.setattr(generator, "quantise", interrupt)
    with pytest.raises(KeyboardInterrupt):
        export_generator(str(checkpoint), out)
    assert left(out) == []


def test_too_little_space_is_said_before_the_work(
    checkpoint: Path, ready: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10, 9, 1_000_000 // 4))
    monkeypatch.setattr(generator, "to_f16", lambda *_, **__: pytest.fail("the conversion started"))
    for source in (checkpoint, ready):
        with pytest.raises(OutputError, match="MB free"):
            export_generator(str(source), out)
    assert left(out) == []


def test_another_llama_than_the_pinned_one_is_reported_before_anything_is_fetched(
    checkpoint: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generator, "converter_folder", lambda **_: pytest.fail("the converter was fetched"))
    monkeypatch.setattr(metadata, "version", lambda _: "0.3.1")
    with pytest.raises(UsageError, match="0.3.1 is installed .* pip install llama-cpp-python==0.3.36"):
        export_generator(str(checkpoint), out)


def test_a_missing_package_is_named_with_its_extra(
    checkpoint: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    monkeypatch.setattr(llama_source, "find_spec", lambda name: None if name == "sentencepiece" else name)
    with pytest.raises(ExtraMissing, match=r"sentencepiece: pip install 'smile-lite\[export\]'"):
        export_generator(str(checkpoint), out)


def test_a_converter_that_was_changed_is_not_run(
    made: Exported, checkpoint: Path, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"llama.cpp-{llama_source.VERSION}"
    assert made.file.is_file()
    copied = shutil.copytree(default_home() / name, tmp_path / "home" / name)
    monkeypatch.setenv("SMILE_LITE_HOME", str(tmp_path / "home"))
    with (copied / "convert_hf_to_gguf.py").open("a", encoding="utf-8") as stream:
        stream.write("# changed\n")
    with pytest.raises(ModelIntegrityError, match="remove it and try again"):
        export_generator(str(checkpoint), out)


def test_offline_without_the_converter_opens_no_connection(
    checkpoint: Path, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMILE_LITE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(llama_source, "_download", lambda _: pytest.fail("a download was tried"))
    with pytest.raises(ModelUnavailable, match="offline, and llama.cpp's converter"):
        export_generator(str(checkpoint), out, offline=True)


def test_the_quantisations_carry_llamas_own_numbers() -> None:
    import llama_cpp

    for name, quant in QUANTS.items():
        own = "LLAMA_FTYPE_ALL_F32" if name == "F32" else f"LLAMA_FTYPE_MOSTLY_{name}"
        assert getattr(llama_cpp, own) == quant.file_type, name
        assert quant_of_type(quant.file_type) == check_quant(name.lower()) == name
    assert quant_of_type(999) == "type 999"


def test_the_shipped_manifests_are_sound() -> None:
    assert known_generators() == ["llama-3.2-3b-instruct", "qwen2.5-1.5b-instruct", "smollm2-135m-instruct"]
    for name in known_generators():
        manifest = load_generator(name)
        assert manifest.name == name
        assert all(set(place.files) == set(manifest.files) for place in manifest.sources)
    assert "Llama 3.2 Community License" in load_generator("llama-3.2-3b-instruct").licence
    assert load_generator(DEFAULT_GENERATOR).sources[0].kind == "wheel"


def test_a_manifest_comes_back_from_its_own_text(tmp_path: Path) -> None:
    before = GeneratorManifest(
        name='a "name"',
        title="東京 🚀 \x7f \\ \n",
        licence="MIT",
        files={"Q4_K_M": FileSpec("ab", 3)},
        sources=(
            Source("wheel", "x==1", {"Q4_K_M": "a/b.gguf"}, sha256="cd"),
            Source("hub", "o/n", {"Q4_K_M": "b.gguf"}, revision="v1"),
        ),
        made={"seconds_f16": 1.5, "smile-lite": "0"},
    )
    path = tmp_path / "m.toml"
    path.write_text(to_toml(before), encoding="utf-8")
    assert load_generator(str(path)) == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("schema = 1", "'name' is missing|'files' is missing"),
        ("schema = 9", "schema 9 is not known here"),
        ("= 1", "m.toml: "),
        ('schema = 1\nname = "a"\ntitle = "a"\nlicence = "a"\nsources = []\n[files]\n', "at least one file"),
    ],
)
def test_a_manifest_that_is_none_is_named(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match=message):
        load_generator(str(tmp_path / "m.toml"))


class Hub(BaseHTTPRequestHandler):
    """As much of the hub as its client asks for; every file is a large one, kept under its stated sha256."""

    COMMIT = "0123456789abcdef0123456789abcdef01234567"

    def __init__(self, files: Mapping[str, Path], stated: Mapping[str, str], *words: object) -> None:
        self.files, self.stated = files, stated
        super().__init__(*words)  # type: ignore[arg-type]

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        if self.path.startswith("/api/models/tiny/model"):
            siblings = [{"rfilename": name, "size": path.stat().st_size} for name, path in self.files.items()]
            answer = json.dumps({"id": "tiny/model", "sha": self.COMMIT, "siblings": siblings}).encode()
            self._send(200, answer, {"Content-Type": "application/json"}, body=body)
            return
        known = any(f"/resolve/{one}/" in self.path for one in (self.COMMIT, "main"))
        path = self.files.get(self.path.rpartition("/")[2]) if known else None
        if path is None:
            self._send(404, b"", {"X-Error-Code": "EntryNotFound"}, body=body)
            return
        etag = self.stated.get(path.name) or sha256_of(path)
        self._send(200, path.read_bytes(), {"ETag": f'"{etag}"', "X-Repo-Commit": self.COMMIT}, body=body)

    def _send(self, code: int, answer: bytes, headers: Mapping[str, str], *, body: bool) -> None:
        self.send_response(code)
        for name, value in {**headers, "Content-Length": str(len(answer))}.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(answer)

    def log_message(self, format: str, *words: object) -> None:  # noqa: A002 - the handler's own signature
        return


class Hubs:
    """Starts hubs and knows the environment that leads to them."""

    def __init__(self, home: Path) -> None:
        self.home, self.servers = home, list[ThreadingHTTPServer]()

    def serve(self, *paths: Path, stated: Mapping[str, str] | None = None) -> dict[str, str]:
        handler = functools.partial(Hub, {path.name: path for path in paths}, stated or {})
        self.servers.append(ThreadingHTTPServer(("127.0.0.1", 0), handler))
        threading.Thread(target=self.servers[-1].serve_forever, daemon=True).start()
        return {"HF_ENDPOINT": f"http://127.0.0.1:{self.servers[-1].server_port}", "HF_HOME": str(self.home)}


@pytest.fixture
def hubs(tmp_path: Path) -> Iterator[Hubs]:
    hubs = Hubs(tmp_path / "hf")
    yield hubs
    for server in hubs.servers:
        server.shutdown()
        server.server_close()


def test_a_ready_file_of_the_hub_is_checked_against_the_hubs_own_hash_and_kept_for_offline(
    ready: Path, hubs: Hubs, out: Path
) -> None:
    environment = hubs.serve(ready)
    code, printed, err = run("tiny/model", "-o", out, "--quant", "Q4_K_M", **environment)
    assert (code, printed.strip()) == (0, str(out)), err
    made = tomllib.loads(out.with_suffix(".toml").read_text(encoding="utf-8"))
    assert made["revision"] == Hub.COMMIT
    assert made["made"] | {"source": f"hub:tiny/model@{Hub.COMMIT}", "sha256": "as stated beforehand"} == made["made"]
    hubs.servers[0].shutdown()
    out.unlink()
    assert run("tiny/model", "-o", out, "--offline", **environment)[0] == 0
    assert sha256_of(out) == sha256_of(ready)


def test_a_file_of_the_hub_with_other_bytes_than_the_hub_states_is_refused(ready: Path, hubs: Hubs, out: Path) -> None:
    code, _, err = run("tiny/model", "-o", out, **hubs.serve(ready, stated={ready.name: "a" * 64}))
    assert (code, "other bytes" in err) == (3, True), err
    assert left(out) == []


def test_a_checkpoint_of_the_hub_is_converted_at_its_commit(
    checkpoint: Path, made: Exported, hubs: Hubs, out: Path
) -> None:
    environment = hubs.serve(*checkpoint.iterdir())
    code, _, err = run("tiny/model", "-o", out, "--revision", Hub.COMMIT, **environment)
    assert code == 0, err
    manifest = load_generator(str(out.with_suffix(".toml")))
    assert (manifest.revision, manifest.licence) == (Hub.COMMIT, "apache-2.0")
    assert manifest.made["checkpoint_sha256"] == made.manifest.made["checkpoint_sha256"]
    assert manifest.made["answer"] == made.answer


def test_a_hub_that_cannot_be_reached_is_named(out: Path, tmp_path: Path) -> None:
    before = time.monotonic()
    code, _, err = run("tiny/model", "-o", out, HF_ENDPOINT="http://127.0.0.1:9", HF_HOME=str(tmp_path / "hf"))
    assert (code, "the hub did not give tiny/model (main)" in err) == (3, True), err
    assert time.monotonic() - before < 60
