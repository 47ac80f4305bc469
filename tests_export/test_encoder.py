from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import transformers
from numpy.typing import NDArray
from smile_lite_export import encoder as toolchain
from smile_lite_export import optimum_road
from smile_lite_export.checkpoint_source import find_checkpoint
from smile_lite_export.cli import command
from smile_lite_export.encoder import check_versions, export_encoder
from smile_lite_export.graph_passes import WorkGraph
from smile_lite_export.manifest_writer import read_made
from smile_lite_export.optimum_road import TorchEncoder

from smile_lite.encoder import OnnxEncoder
from smile_lite.errors import (
    ExtraMissing,
    ModelError,
    ModelIntegrityError,
    ModelUnavailable,
    OutputError,
    UnknownModel,
    UsageError,
)
from smile_lite.health import check_golden
from smile_lite.store import PulledModel, open_folder
from tests.tiny import HEADS, HIDDEN, INNER, LAYERS, POSITIONS, VOCABULARY, write_checkpoint, write_tokenizer

TEXTS = [
    "the cat sat on a mat",
    "paris is the capital of france",
    "lyon",
    "what is it",
    "3 4 5 cats",
    "is",
    "a b c d e f g h",
]
TEXTS += [f"{one} {other}" for one in VOCABULARY[4:12] for other in VOCABULARY[4:14]]
ALL = ("fp32", "int8", "int8-token")


def write_other(folder: Path, family: str) -> Path:
    """A tiny checkpoint with random weights of an architecture that the torch-free converter does not know."""
    shape: dict[str, Any] = {"vocab_size": len(VOCABULARY), "max_position_embeddings": POSITIONS}
    if family == "distilbert":
        shape |= {"dim": HIDDEN, "hidden_dim": INNER, "n_heads": HEADS, "n_layers": LAYERS}
    else:
        shape |= {"hidden_size": HIDDEN, "intermediate_size": INNER}
        shape |= {"num_attention_heads": HEADS, "num_hidden_layers": LAYERS}
    transformers.set_seed(1)
    config = transformers.AutoConfig.for_model(family, **shape, initializer_range=0.3)
    transformers.AutoModel.from_config(config).save_pretrained(folder)
    write_tokenizer(folder / "tokenizer.json")
    write_modules(folder, "mean")
    return folder


def write_modules(folder: Path, pooling: str, *more: str) -> None:
    kinds = ("Transformer", "Pooling", *more)
    modules = [{"type": f"sentence_transformers.models.{kind}", "path": "1_Pooling"} for kind in kinds]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir(exist_ok=True)
    flags = {"pooling_mode_cls_token": pooling == "cls", "pooling_mode_mean_tokens": pooling == "mean"}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(flags))


def torch_vectors(checkpoint: Path) -> NDArray[np.float32]:
    found = find_checkpoint(str(checkpoint), checkpoint / "unused")
    return TorchEncoder(checkpoint, found.manifest.encoding).encode(TEXTS)


def vectors(model: PulledModel, precision: str, **options: int) -> NDArray[np.float32]:
    return OnnxEncoder(model, precision=precision, threads=1, **options).encode(TEXTS)


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("checkpoints")
    made = {pooling: write_checkpoint(base / pooling, pooling=pooling) for pooling in ("cls", "mean")}
    return made | {family: write_other(base / family, family) for family in ("distilbert", "mpnet", "roberta")}


@pytest.fixture(scope="module")
def exported(checkpoints: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., PulledModel]:
    """An exported folder of a checkpoint by a road, made once. Random weights: parity in int8 is tested elsewhere."""
    base, made = tmp_path_factory.mktemp("exported"), {}

    def make(checkpoint: str, via: str) -> PulledModel:
        if (checkpoint, via) not in made:
            folder = base / f"{checkpoint}-{via}"
            made[checkpoint, via] = export_encoder(
                str(checkpoints[checkpoint]), folder, precisions=[*ALL, "int8-dynamic"], via=via, check=False
            )
        return made[checkpoint, via]

    return make


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("via", ["direct", "optimum"])
def test_both_roads_agree_with_torch_and_take_and_give_the_same(
    exported: Callable[..., PulledModel], checkpoints: dict[str, Path], via: str, pooling: str
) -> None:
    model = exported(pooling, via)
    assert np.abs(vectors(model, "fp32") - torch_vectors(checkpoints[pooling])).max() < 1e-5
    for precision in ALL:
        graph = onnx.load(model.path(f"{precision}.onnx"), load_external_data=False).graph
        assert [(one.name, dims(one)) for one in graph.input] == [("input_ids", ["batch", "tokens"])]
        assert [(one.name, dims(one)) for one in graph.output] == [("embedding", ["batch", HIDDEN])]


def dims(value: Any) -> list[str | int]:
    return [one.dim_param or one.dim_value for one in value.type.tensor_type.shape.dim]


@pytest.mark.parametrize("family", ["distilbert", "mpnet", "roberta"])
def test_other_architectures_agree_with_torch_and_keep_every_promise_in_int8(
    exported: Callable[..., PulledModel], checkpoints: dict[str, Path], family: str
) -> None:
    model, wanted = exported(family, "optimum"), torch_vectors(checkpoints[family])
    assert np.abs(vectors(model, "fp32") - wanted).max() < 1e-5
    for precision in ("int8", "int8-token"):
        assert (vectors(model, precision) * wanted).sum(axis=1).min() > 0.99
        assert (vectors(model, precision) == vectors(model, precision, batch_size=1)).all()


@pytest.mark.parametrize("via", ["direct", "optimum"])
@pytest.mark.parametrize("precision", ["int8", "int8-token"])
def test_int8_is_close_small_and_does_not_depend_on_the_batch(
    exported: Callable[..., PulledModel], checkpoints: dict[str, Path], via: str, precision: str
) -> None:
    model = exported("mean", via)
    got = vectors(model, precision)
    assert (got * torch_vectors(checkpoints["mean"])).sum(axis=1).min() > 0.99
    assert (got == vectors(model, precision, batch_size=1)).all()
    assert (got == vectors(model, precision, batch_size=64, tokens_per_batch=100_000)).all()
    assert (got != vectors(model, "fp32")).any()


def test_the_roads_give_nearly_the_same_int8_vectors(exported: Callable[..., PulledModel]) -> None:
    for precision in ("int8", "int8-token"):
        one, other = (vectors(exported("mean", via), precision) for via in ("direct", "optimum"))
        assert (one * other).sum(axis=1).min() > 0.995


def test_the_mask_and_the_token_types_are_folded_away(exported: Callable[..., PulledModel]) -> None:
    for checkpoint in ("cls", "distilbert"):
        graph = WorkGraph(exported(checkpoint, "optimum").path("fp32.onnx"))
        operators = [node.op_type for node in graph.nodes]
        assert not {"Where", "Expand", "Equal"} & set(operators)
        products = [node for node in graph.nodes if node.op_type == "Gemm"]
        assert len(products) == 6 * LAYERS


def test_int8_token_multiplies_in_integers_and_shares_quantised_inputs(exported: Callable[..., PulledModel]) -> None:
    graph = WorkGraph(exported("mean", "optimum").path("int8-token.onnx"))
    operators = [node.op_type for node in graph.nodes]
    assert operators.count("MatMulIntegerToFloat") == 6 * LAYERS - 1  # one narrowing product in three stays float
    assert operators.count("QuantizeLinear") == 4 * LAYERS - 1
    assert operators.count("Gemm") == 1


def test_golden_vectors_are_torch_s_and_the_runtime_checks_them(exported: Callable[..., PulledModel]) -> None:
    for via in ("direct", "optimum"):
        model = open_folder(exported("mean", via).folder)
        model.verify(thorough=True)
        assert model.manifest.golden is not None
        assert "torch" in model.manifest.golden.made_with
        worst = check_golden(model)
        assert worst is not None
        assert worst < 1e-5
        wrong = replace(model.manifest.golden, heads=tuple((0.9,) * 8 for _ in model.manifest.golden.heads))
        with pytest.raises(ModelIntegrityError, match="off its known vectors"):
            check_golden(replace(model, manifest=replace(model.manifest, golden=wrong)))


def test_the_manifest_says_how_it_was_made_and_what_is_unfit(exported: Callable[..., PulledModel]) -> None:
    model = exported("mean", "optimum")
    assert model.manifest.precisions == ALL
    assert "int8-dynamic.onnx" in model.files
    made = read_made(model.folder)
    assert made["via"] == "optimum"
    assert made["unfit"] == ["int8-dynamic"]
    assert made["activation_bits"] in (7, 8)
    assert made["optimum-onnx"] == metadata.version("optimum-onnx")
    assert set(model.files) == {path.name for path in model.folder.iterdir()} - {
        "manifest.toml",
        "lock.json",
        "verified.json",
    }


def test_a_precision_alone_brings_only_its_own_files(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    for via, weights in (("direct", "int8.safetensors"), ("optimum", "int8.weights")):
        model = export_encoder(str(checkpoints["mean"]), tmp_path / via, precisions=["int8"], via=via, check=False)
        assert set(model.files) == {"int8.onnx", weights, "tokenizer.json"}
        assert open_folder(tmp_path / via).fingerprint == f"mean@{model.files[weights]['sha256'][:8]}"


def test_a_manifest_is_exported_without_its_configuration_files(
    checkpoints: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from smile_lite_export.manifest_writer import to_toml

    from smile_lite.checkpoint import manifest_from_checkpoint

    monkeypatch.setenv("SMILE_LITE_HOME", str(tmp_path / "home"))
    manifest = tmp_path / "tiny.toml"
    manifest.write_text(to_toml(manifest_from_checkpoint(checkpoints["cls"]), made={}, parity={}))
    model = export_encoder(str(manifest), tmp_path / "out", precisions=["fp32"])
    assert model.manifest.name == "cls"
    assert np.abs(vectors(model, "fp32") - torch_vectors(checkpoints["cls"])).max() < 1e-5


def test_a_hub_id_is_taken_from_the_hub_s_cache_at_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    commit, cache = "0123456789abcdef0123456789abcdef01234567", tmp_path / "hub" / "models--some--encoder"
    write_checkpoint(cache / "snapshots" / commit)
    (cache / "snapshots" / commit / "README.md").write_text("---\nlicense: mit\n---\n")
    (cache / "refs").mkdir()
    (cache / "refs" / "main").write_text(commit)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub._snapshot_download.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    model = export_encoder("some/encoder", tmp_path / "out", precisions=["fp32"], offline=True, check=False)
    assert model.origin == f"some/encoder@{commit}"
    assert (model.manifest.name, model.manifest.licence, model.manifest.revision) == ("encoder", "mit", commit)
    with pytest.raises(ModelUnavailable, match=r"some/other \(main\): offline"):
        export_encoder("some/other", tmp_path / "other", offline=True)


def test_a_checkpoint_that_states_no_pooling_is_refused_unless_it_is_given(tmp_path: Path) -> None:
    checkpoint = write_checkpoint(tmp_path / "plain", pooling=None)
    for via in ("optimum", "direct"):
        with pytest.raises(ModelError, match="--pooling"):
            export_encoder(str(checkpoint), tmp_path / "out", via=via)
    model = export_encoder(str(checkpoint), tmp_path / "out", precisions=["fp32"], pooling="cls")
    assert model.manifest.encoding.pooling == "cls"


def test_what_a_graph_made_here_would_lose_is_refused(tmp_path: Path) -> None:
    checkpoint = write_checkpoint(tmp_path / "dense")
    write_modules(checkpoint, "mean", "Normalize", "Dense")
    with pytest.raises(ModelError, match="Dense"):
        export_encoder(str(checkpoint), tmp_path / "out")


def test_a_default_prompt_becomes_the_prefix(tmp_path: Path) -> None:
    checkpoint = write_checkpoint(tmp_path / "prompted")
    prompts = {"prompts": {"query": "query: "}, "default_prompt_name": "query"}
    (checkpoint / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    assert find_checkpoint(str(checkpoint), tmp_path / "unused").manifest.encoding.prefix == "query: "


def test_pickled_weights_and_code_of_its_own_are_never_loaded(tmp_path: Path) -> None:
    checkpoint = write_checkpoint(tmp_path / "pickled")
    (checkpoint / "model.safetensors").rename(checkpoint / "pytorch_model.bin")
    with pytest.raises(ModelError, match="cannot load"):
        export_encoder(str(checkpoint), tmp_path / "out")
    coded = write_checkpoint(tmp_path / "coded")
    config = json.loads((coded / "config.json").read_text())
    own = {"AutoConfig": "own.Config", "AutoModel": "own.Model"}
    (coded / "config.json").write_text(json.dumps({**config, "model_type": "own", "auto_map": own}))
    (coded / "own.py").write_text("raise SystemExit('run')")
    with pytest.raises(ModelError):
        export_encoder(str(coded), tmp_path / "out")


def test_other_versions_are_told_before_anything_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version

    def version(name: str) -> str:
        if name == "optimum":
            raise metadata.PackageNotFoundError(name)
        return "4.58.0" if name == "transformers" else real(name)

    monkeypatch.setattr("importlib.metadata.version", version)
    monkeypatch.setattr(toolchain, "find_checkpoint", lambda *_, **__: pytest.fail("fetched"))
    with pytest.raises(ExtraMissing, match=r"4.57.6 \(here: 4.58.0\), optimum 2.1.0 \(here: missing\)") as caught:
        export_encoder("some/encoder", tmp_path / "out")
    assert caught.value.exit_code == 2
    assert "pip install 'smile-lite[export]'" in str(caught.value)
    monkeypatch.setattr("importlib.metadata.version", lambda name: "4.57.60" if name == "transformers" else real(name))
    with pytest.raises(ExtraMissing, match="here: 4.57.60"):
        check_versions("direct")


def test_a_checkpoint_on_disk_is_exported_without_opening_a_socket(
    checkpoints: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("a socket was opened"))
    for via in ("direct", "optimum"):
        model = export_encoder(str(checkpoints["mean"]), tmp_path / via, precisions=["fp32"], via=via, offline=True)
        toolchain.check_folder(model.folder, str(checkpoints["mean"]), limit=2, offline=True)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("via", ["direct", "optimum"])
def test_an_interrupted_export_leaves_nothing(
    checkpoints: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, via: str, stop: type[BaseException]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise stop

    monkeypatch.setattr(toolchain, "convert_bert", interrupted)
    monkeypatch.setattr(optimum_road, "measure_smoothing", interrupted)
    with pytest.raises(stop):
        export_encoder(str(checkpoints["mean"]), tmp_path / "out", via=via, check=False)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_something_is_left_alone(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    with pytest.raises(OutputError, match="there already"):
        export_encoder(str(checkpoints["mean"]), tmp_path / "out")


def test_wrong_requests_are_refused(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="int4"):
        export_encoder(str(checkpoints["mean"]), tmp_path / "out", precisions=["int4"])
    with pytest.raises(UsageError, match="comparison only"):
        export_encoder(str(checkpoints["mean"]), tmp_path / "out", precisions=["int8-dynamic"])
    with pytest.raises(UnknownModel, match="no checkpoint folder"):
        export_encoder("nothing", tmp_path / "out")
    with pytest.raises(ModelError, match="direct|without torch"):
        export_encoder(str(checkpoints["mpnet"]), tmp_path / "out", via="direct")


@pytest.mark.parametrize("location", ["../outside.weights", "{folder}/fp32.weights", "link.weights"])
def test_a_graph_whose_weights_lie_outside_of_its_folder_is_refused(
    checkpoints: dict[str, Path], tmp_path: Path, location: str
) -> None:
    made = export_encoder(str(checkpoints["mean"]), tmp_path / "out", precisions=["fp32"], check=False)
    (tmp_path / "outside.weights").write_bytes(made.path("fp32.weights").read_bytes())
    (made.folder / "link.weights").symlink_to(tmp_path / "outside.weights")
    graph = onnx.load(made.path("fp32.onnx"), load_external_data=False)
    for tensor in graph.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = location.format(folder=made.folder)
    made.path("fp32.onnx").write_bytes(graph.SerializeToString())
    with pytest.raises(ModelIntegrityError, match="External data path"):
        OnnxEncoder(made, threads=1).encode(["the cat"])
    if "link" not in location and ".." in location:
        with pytest.raises(ModelError, match="outside of the folder"):
            WorkGraph(made.path("fp32.onnx"))


def test_the_command_makes_the_folder_and_prints_where_it_is(
    checkpoints: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["encoder", str(checkpoints["mean"]), "-o", str(tmp_path / "out"), "--precision", "fp32", "--via", "direct"]
    command.main(words, standalone_mode=False)
    printed = capsys.readouterr()
    assert printed.out.strip() == str(tmp_path / "out")
    assert "model.safetensors" in printed.err
    model = open_folder(tmp_path / "out")
    assert model.fingerprint == f"mean@{model.files['model.safetensors']['sha256'][:8]}"


def test_the_group_lists_its_commands_without_loading_the_heavy_one() -> None:
    assert command.list_commands(command.make_context("export", ["--help"], resilient_parsing=True)) == [
        "check",
        "encoder",
        "generator",
    ]


class _Repository(BaseHTTPRequestHandler):
    """A hub on the loopback address with one repository, in the layout of sentence-transformers, at one commit."""

    root: Path
    commit = "89abcdef0123456789abcdef0123456789abcdef"

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        names = [path.relative_to(self.root).as_posix() for path in sorted(self.root.rglob("*")) if path.is_file()]
        path = self.path.partition("?")[0]
        wanted = path.rpartition(f"/resolve/{self.commit}/")[2]
        if path == "/api/models/owner/tiny/revision/main":
            siblings = [{"rfilename": name} for name in names]
            self.give(json.dumps({"id": "owner/tiny", "sha": self.commit, "siblings": siblings}).encode())
        elif wanted in names:
            self.give((self.root / wanted).read_bytes())
        else:
            self.send_error(404)

    def give(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("X-Repo-Commit", self.commit)
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("via", ["direct", "optimum"])
def test_a_repository_is_fetched_from_the_hub_that_hf_endpoint_names(
    checkpoints: dict[str, Path], tmp_path: Path, via: str
) -> None:
    handler = type("Handler", (_Repository,), {"root": checkpoints["cls"]})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    words = ["encoder", "owner/tiny", "-o", str(tmp_path / "out"), "--precision", "fp32", "--via", via]
    outside = {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HOME": str(tmp_path / "hf")}
    program = f"from smile_lite_export.cli import command; command.main({words!r}, standalone_mode=False)"
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, **outside, "HF_HUB_OFFLINE": "0", "NO_PROXY": "127.0.0.1"},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert done.returncode == 0, done.stderr
    model = open_folder(tmp_path / "out")
    assert model.origin == f"owner/tiny@{_Repository.commit}"
    assert np.abs(vectors(model, "fp32") - torch_vectors(checkpoints["cls"])).max() < 1e-5
