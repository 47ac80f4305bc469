from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest
from safetensors.numpy import save

from smile_lite.errors import ModelError, ModelUnavailable
from smile_lite.manifest import Source, load_manifest
from smile_lite.sources import fetch
from smile_lite.store import PulledModel, Store

from . import tiny
from .conftest import Run
from .hub import NEW, OLD, POOLING, TOKENIZER, WEIGHTS, Hub, sha256, tiny_hub, write_manifest

CLIENT_CHUNK = 10 * 1024 * 1024  # the client writes, and so resumes, in steps of this size
MARKER = "hf_thisMustNeverBeSeen"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with tiny_hub(tmp_path / "repository") as server:
        yield server


@pytest.fixture
def pull(hub: Hub, home: Path, tmp_path: Path, run: Callable[..., Run]) -> Callable[..., Run]:
    """Pulls a manifest from the hub; whatever is said must be our own lines, one of them an error if it fails."""

    def call(manifest: Path, *options: str, endpoint: str | None = None, **env: str) -> Run:
        cache = tmp_path / "hf"
        hf = {"HF_ENDPOINT": endpoint or hub.endpoint, "HF_HOME": str(cache), "HF_HUB_CACHE": str(cache / "hub")}
        quiet = {"HF_HUB_OFFLINE": "", "HF_TOKEN": "", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        done = run("models", "pull", manifest, *options, env={**hf, **quiet, **env})
        lines = done.err.splitlines()
        assert all(line.startswith("smile-lite: ") for line in lines), done.err
        talk = ("smile-lite: fetching ", "smile-lite: recorded for the first time: ")
        assert len([line for line in lines if not line.startswith(talk)]) == (1 if done.code else 0), done.err
        return done

    return call


def pulled(manifest: Path) -> PulledModel:
    found = Store().find(load_manifest(str(manifest)))
    assert found is not None
    found.verify(thorough=True)
    return found


def assert_store_is_empty(home: Path) -> None:
    folder = home / "models"
    assert not folder.exists() or [one.name for one in folder.iterdir()] == [".tiny.lock"]


def other_bytes(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


def blobs(tmp_path: Path) -> dict[str, Path]:
    return {sha256(path.read_bytes()): path for path in (tmp_path / "hf").rglob("blobs/*")}


def test_a_hub_repository_is_fetched_converted_and_its_commit_recorded(
    hub: Hub, pull: Callable[..., Run], tmp_path: Path
) -> None:
    manifest = write_manifest(tmp_path, weights=sha256(hub.commits[NEW][WEIGHTS]))
    done = pull(manifest)
    assert done.code == 0
    model = pulled(manifest)
    assert model.origin == f"owner/tiny@{NEW}"
    assert model.path(WEIGHTS).read_bytes() == hub.commits[NEW][WEIGHTS]
    assert model.path("pooling.json").read_bytes() == hub.commits[NEW][POOLING]
    assert model.path("fp32.onnx").stat().st_size
    said = [line.partition(",")[0] for line in done.err.splitlines() if "recorded" in line]
    assert said == [f"smile-lite: recorded for the first time: {name} of tiny" for name in (TOKENIZER, "pooling.json")]


def test_the_client_sends_no_telemetry(hub: Hub, pull: Callable[..., Run], tmp_path: Path) -> None:
    assert pull(write_manifest(tmp_path)).code == 0
    assert {one.path.split("/")[1] for one in hub.requests} == {"owner", "storage"}


def test_a_pinned_commit_is_had_although_the_branch_moved_on(
    hub: Hub, pull: Callable[..., Run], tmp_path: Path
) -> None:
    manifest = write_manifest(tmp_path, revision=OLD)
    assert pull(manifest).code == 0
    assert pulled(manifest).origin == f"owner/tiny@{OLD}"
    assert pulled(manifest).path(WEIGHTS).read_bytes() == hub.commits[OLD][WEIGHTS]


def test_a_branch_is_asked_where_it_is_now(hub: Hub, pull: Callable[..., Run], tmp_path: Path) -> None:
    manifest = write_manifest(tmp_path)
    hub.branches["main"] = OLD
    assert pull(manifest).code == 0
    hub.branches["main"] = NEW
    assert pull(manifest, "--force").code == 0
    assert pulled(manifest).origin == f"owner/tiny@{NEW}"
    assert len(hub.gets(TOKENIZER)) == 1  # the same file at both commits


def test_a_branch_that_moves_between_two_files_gives_one_commit(
    hub: Hub, pull: Callable[..., Run], tmp_path: Path
) -> None:
    hub.branches["main"] = OLD
    hub.after = lambda request: hub.branches.update(main=NEW) if request.method == "GET" else None
    manifest = write_manifest(tmp_path)
    assert pull(manifest).code == 0
    assert hub.branches["main"] == NEW
    assert pulled(manifest).path(WEIGHTS).read_bytes() == hub.commits[OLD][WEIGHTS]
    assert pulled(manifest).origin == f"owner/tiny@{OLD}"


def test_an_unknown_revision_is_told(pull: Callable[..., Run], tmp_path: Path, home: Path) -> None:
    done = pull(write_manifest(tmp_path, revision="f" * 40))
    assert done.code == 3
    assert f"owner/tiny has no revision {'f' * 40}" in done.err
    assert_store_is_empty(home)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        pytest.param(other_bytes, f"the hub gave other bytes for {WEIGHTS} of owner/tiny", id="bytes: ours to check"),
        pytest.param(lambda content: content[:-9], "Consistency check failed", id="size: the client checks"),
    ],
)
def test_other_bytes_than_the_hub_announces_are_refused_and_kept_nowhere(
    hub: Hub,
    pull: Callable[..., Run],
    tmp_path: Path,
    home: Path,
    spoil: Callable[[bytes], bytes],
    message: str,
) -> None:
    manifest = write_manifest(tmp_path, revision=NEW)
    hub.delivered[WEIGHTS] = spoil(hub.commits[NEW][WEIGHTS])
    done = pull(manifest)
    assert done.code == 3
    assert message in done.err
    assert_store_is_empty(home)
    assert sha256(hub.delivered[WEIGHTS]) not in blobs(tmp_path)
    assert pull(manifest, "--offline").code == 3
    hub.delivered.clear()
    assert pull(manifest).code == 0
    assert pulled(manifest).path(WEIGHTS).read_bytes() == hub.commits[NEW][WEIGHTS]


@pytest.mark.parametrize(
    ("name", "etag"),
    [
        pytest.param(WEIGHTS, "", id="a sha256 that changes"),
        pytest.param(TOKENIZER, "", id="a git id that changes"),
        pytest.param(WEIGHTS, "opaque", id="an ETag that tells nothing"),
        pytest.param(TOKENIZER, "true git id", id="a git id that lied"),
    ],
)
def test_what_the_manifest_refuses_is_fetched_afresh_when_the_hub_is_mended(
    hub: Hub, pull: Callable[..., Run], tmp_path: Path, home: Path, name: str, etag: str
) -> None:
    right = dict(hub.commits[NEW])
    stated = {"weights": sha256(right[WEIGHTS]), "tokenizer": sha256(right[TOKENIZER])}
    manifest = write_manifest(tmp_path, revision=NEW, **stated)
    if etag == "opaque":
        hub.announced[name] = etag
    if etag == "true git id":
        hub.delivered[name] = other_bytes(right[name])
    else:
        hub.commits[NEW][name] = other_bytes(right[name])
    done = pull(manifest)
    assert done.code == 3
    assert f"{name} of tiny came with sha256" in done.err
    assert_store_is_empty(home)
    hub.commits[NEW], hub.delivered = right, {}
    assert pull(manifest).code == 0
    assert pulled(manifest).path(name).read_bytes() == right[name]


def test_a_damaged_cache_is_refused_offline_and_mended_online(
    hub: Hub, pull: Callable[..., Run], tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = write_manifest(tmp_path, revision=NEW)
    assert pull(manifest).code == 0
    right = hub.commits[NEW][WEIGHTS]
    blobs(tmp_path)[sha256(right)].write_bytes(other_bytes(right))
    monkeypatch.setenv("SMILE_LITE_HOME", str(tmp_path / "another"))
    done = pull(manifest, "--offline")
    assert done.code == 3
    assert "is not what the hub announced: delete it and pull again" in done.err
    assert pull(manifest).code == 0
    assert pulled(manifest).path(WEIGHTS).read_bytes() == right


def test_a_dropped_connection_is_resumed_where_it_broke(hub: Hub, pull: Callable[..., Run], tmp_path: Path) -> None:
    large = save(tiny.tensors(1), metadata={"padding": "x" * (CLIENT_CHUNK + 2_000_000)})
    hub.commits[NEW][WEIGHTS] = large
    hub.cuts[WEIGHTS], hub.cut_at = 1, CLIENT_CHUNK + 1_000_000
    manifest = write_manifest(tmp_path, weights=sha256(large))
    assert pull(manifest).code == 0
    assert [one.range for one in hub.gets(WEIGHTS)] == ["", f"bytes={CLIENT_CHUNK}-"]
    assert pulled(manifest).path(WEIGHTS).read_bytes() == large


@pytest.mark.parametrize("reset", [True, False], ids=["reset", "closed"])
def test_a_small_file_that_broke_off_is_fetched_from_the_start(
    hub: Hub, pull: Callable[..., Run], tmp_path: Path, reset: bool
) -> None:
    hub.cuts[WEIGHTS], hub.reset = 1, reset
    manifest = write_manifest(tmp_path)
    assert pull(manifest).code == 0
    assert [one.range for one in hub.gets(WEIGHTS)] == ["", ""]
    assert pulled(manifest).path(WEIGHTS).read_bytes() == hub.commits[NEW][WEIGHTS]


@pytest.mark.parametrize("reset", [True, False], ids=["reset", "closed"])
def test_a_connection_that_always_drops_is_told_and_the_next_pull_goes_on(
    hub: Hub, pull: Callable[..., Run], tmp_path: Path, home: Path, reset: bool
) -> None:
    hub.cuts[WEIGHTS], hub.reset = 1000, reset
    manifest = write_manifest(tmp_path)
    done = pull(manifest)
    assert done.code == 3
    assert f"the hub did not give {WEIGHTS} of owner/tiny" in done.err
    assert_store_is_empty(home)
    assert not list((tmp_path / "hf").rglob("*.incomplete"))
    hub.cuts.clear()
    hub.requests.clear()
    assert pull(manifest).code == 0
    assert [len(hub.gets(name)) for name in (POOLING, TOKENIZER, WEIGHTS)] == [0, 0, 1]
    assert pulled(manifest).path(WEIGHTS).read_bytes() == hub.commits[NEW][WEIGHTS]


@pytest.mark.parametrize("revision", ["main", NEW])
@pytest.mark.parametrize("how", ["option", "environment"])
def test_offline_takes_what_the_hubs_cache_holds_and_opens_no_connection(
    hub: Hub,
    pull: Callable[..., Run],
    tmp_path: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    revision: str,
    how: str,
) -> None:
    manifest = write_manifest(tmp_path, revision=revision)
    options, env = (["--offline"], {}) if how == "option" else ([], {"HF_HUB_OFFLINE": "1"})
    started = time.monotonic()
    done = pull(manifest, *options, **env)
    assert done.code == 3
    assert "offline, and 1_Pooling/config.json of owner/tiny" in done.err
    assert time.monotonic() - started < 5
    assert hub.connections == 0
    assert_store_is_empty(home)
    assert pull(manifest).code == 0
    seen = hub.connections
    assert seen
    monkeypatch.setenv("SMILE_LITE_HOME", str(tmp_path / "another"))
    assert pull(manifest, *options, **env).code == 0
    assert hub.connections == seen
    assert pulled(manifest).origin == f"owner/tiny@{NEW}"


def unanswered() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def test_a_hub_that_refuses_connections_is_told_soon(pull: Callable[..., Run], tmp_path: Path, home: Path) -> None:
    started = time.monotonic()
    done = pull(write_manifest(tmp_path), endpoint=unanswered())
    assert time.monotonic() - started < 10
    assert done.code == 3
    assert f"the hub did not give {POOLING} of owner/tiny: ConnectError" in done.err
    assert_store_is_empty(home)


def test_a_hub_that_refuses_connections_is_not_needed_for_what_is_cached(
    pull: Callable[..., Run], tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = write_manifest(tmp_path, revision=NEW)
    assert pull(manifest).code == 0
    monkeypatch.setenv("SMILE_LITE_HOME", str(tmp_path / "another"))
    assert pull(manifest, endpoint=unanswered()).code == 0


def test_a_proxy_is_not_bypassed(hub: Hub, pull: Callable[..., Run], tmp_path: Path) -> None:
    proxies = {"HTTP_PROXY": unanswered(), "http_proxy": unanswered(), "NO_PROXY": "", "no_proxy": ""}
    assert pull(write_manifest(tmp_path), **proxies).code == 3
    assert hub.connections == 0


def test_a_busy_hub_is_asked_again(hub: Hub, pull: Callable[..., Run], tmp_path: Path) -> None:
    hub.refusals = [(503, {}), (503, {})]
    assert pull(write_manifest(tmp_path)).code == 0
    assert not hub.refusals


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (401, "GatedRepo", "owner/tiny is gated: ask for access on its page, then set HF_TOKEN"),
        (403, "GatedRepo", "owner/tiny is gated: ask for access on its page, then set HF_TOKEN"),
        (401, "RepoNotFound", "the hub has no repository owner/tiny, or it is private and HF_TOKEN"),
        (401, "", "owner/tiny does not exist, or HF_TOKEN is unset, expired or gives no access"),
        (403, "", f"access to {POOLING} of owner/tiny is forbidden to this HF_TOKEN"),
        (404, "RepoNotFound", "the hub has no repository owner/tiny"),
        (404, "EntryNotFound", f"the hub has no {POOLING} of owner/tiny at revision main"),
        (418, "", "the hub did not give 1_Pooling/config.json of owner/tiny: HfHubHTTPError"),
    ],
)
def test_a_refusal_is_told_without_the_token(
    hub: Hub, pull: Callable[..., Run], tmp_path: Path, home: Path, status: int, code: str, message: str
) -> None:
    hub.refusals, hub.for_ever = [(status, {"X-Error-Code": code} if code else {})], True
    done = pull(write_manifest(tmp_path), HF_TOKEN=MARKER)
    assert done.code == 3
    assert message in done.err
    assert hub.requests[0].token == f"Bearer {MARKER}"
    assert MARKER not in done.out + done.err
    assert_store_is_empty(home)


def test_a_file_that_the_repository_lacks_is_told(hub: Hub, pull: Callable[..., Run], tmp_path: Path) -> None:
    del hub.commits[NEW][TOKENIZER]
    done = pull(write_manifest(tmp_path))
    assert done.code == 3
    assert f"the hub has no {TOKENIZER} of owner/tiny" in done.err


def test_a_token_that_cannot_be_sent_is_not_shown(pull: Callable[..., Run], tmp_path: Path) -> None:
    done = pull(write_manifest(tmp_path), HF_TOKEN=f"{MARKER}\x0bend")
    assert done.code == 3
    assert MARKER not in done.out + done.err


def test_a_password_in_the_endpoint_is_not_shown(pull: Callable[..., Run], hub: Hub, tmp_path: Path) -> None:
    hub.refusals, hub.for_ever = [(418, {})], True
    done = pull(write_manifest(tmp_path), endpoint=hub.endpoint.replace("://", f"://user:{MARKER}@"))
    assert done.code == 3
    assert "418" in done.err
    assert MARKER not in done.out + done.err


@pytest.mark.parametrize("kind", ["folder", "hub", "wheel"])
@pytest.mark.parametrize("name", ["../x", "a/../../x", "/x", "./x", "", "a//x", "..\\x", "C:x"])
@pytest.mark.parametrize("whose", ["ours", "theirs"])
def test_a_name_that_leaves_its_folder_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, name: str, whose: str
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    (tmp_path / "source").mkdir()
    for secret in ("x", "source/good", "source/x"):
        (tmp_path / secret).write_text("")
    before = sorted(tmp_path.rglob("*"))
    files = {"first": "good", **({name: "x"} if whose == "ours" else {"second": name})}
    location = str(tmp_path / "source") if kind == "folder" else "owner/tiny"
    with pytest.raises(ModelError, match="no path inside a folder"):
        fetch(Source(kind=kind, location=location, files=files), tmp_path, offline=True)  # type: ignore[arg-type]
    assert sorted(tmp_path.rglob("*")) == before


def test_a_revision_that_leaves_the_cache_is_refused(tmp_path: Path) -> None:
    source = Source(kind="hub", location="owner/tiny", files={"x": "x"}, revision="../../../x")
    with pytest.raises(ModelError, match="no path inside a folder"):
        fetch(source, tmp_path, offline=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("location", "message"), [("owner/tiny", "offline, and x of owner/tiny@main"), ("no name", "HFValidationError")]
)
def test_the_clients_log_is_as_it_was_afterwards(tmp_path: Path, location: str, message: str) -> None:
    log = import_module("huggingface_hub.utils.logging")
    before = log.get_verbosity()
    log.set_verbosity(log.INFO)
    try:
        with pytest.raises(ModelUnavailable, match=message):
            fetch(Source(kind="hub", location=location, files={"x": "x"}), tmp_path, offline=True)
        assert log.get_verbosity() == log.INFO
    finally:
        log.set_verbosity(before)
