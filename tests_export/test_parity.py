from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from smile_lite_export.checkpoint_source import find_checkpoint
from smile_lite_export.cli import command
from smile_lite_export.encoder import check_folder, export_encoder
from smile_lite_export.optimum_road import TorchEncoder, reference_encoder
from smile_lite_export.parity import GATES, Figures, gate_of, judge, parity_rows, parity_table, raise_if_failed

from smile_lite.errors import GateFailed, InputError, ModelIntegrityError, ModelUnavailable, UsageError
from smile_lite.store import open_folder, sha256_of
from tests.tiny import HIDDEN, write_checkpoint

PASSING = Figures(
    texts=10,
    rows=5,
    largest_difference=1e-6,
    mean_cosine=0.9999,
    min_cosine=0.999,
    worst_text="it",
    score_change=0.001,
    changed_bins=0.0,
    changed_verdicts=0.0,
    batch_difference=0.0,
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(checkpoint, exported folder)."""
    base = tmp_path_factory.mktemp("parity")
    checkpoint = write_checkpoint(base / "tiny")
    return checkpoint, export_encoder(str(checkpoint), base / "out", precisions=["fp32"], via="direct").folder


@pytest.mark.parametrize(
    ("precision", "change", "broken"),
    [
        ("fp32", {}, ""),
        ("fp32", {"largest_difference": 1.1e-5}, "largest_difference is 1.1e-05, over 1e-05"),
        ("fp32", {"batch_difference": 1e-5}, "batch_difference"),
        ("int8", {"min_cosine": 0.9979}, "min_cosine is 0.9979, under 0.998"),
        ("int8", {"score_change": 0.0051}, "score_change"),
        ("int8", {"changed_bins": 0.011}, "changed_bins"),
        ("int8", {"batch_difference": 1e-9}, "batch_difference"),
        ("int8-token", {"mean_cosine": 0.9989}, "mean_cosine"),
        ("int8-token", {"min_cosine": 0.9969}, "min_cosine"),
        ("int8-token", {"min_cosine": float("nan")}, "min_cosine"),
        ("int8-token", {"score_change": 0.011}, "score_change"),
    ],
)
def test_each_limit_of_the_table_is_kept(precision: str, change: dict[str, float], broken: str) -> None:
    figures = replace(PASSING, **change)  # type: ignore[arg-type]
    assert broken in "; ".join(judge(figures, GATES[precision]))
    assert bool(judge(figures, GATES[precision])) == bool(broken)


def test_seven_bit_activations_have_a_row_of_their_own() -> None:
    assert gate_of("int8-token", 7) is GATES["int8-token-7"]
    assert gate_of("int8", 7) is GATES["int8"]
    with pytest.raises(UsageError, match="int4"):
        gate_of("int4")


def test_what_is_unfit_is_marked_and_never_gates() -> None:
    table = parity_table({"int8-dynamic": (replace(PASSING, min_cosine=0.1), GATES["int8-dynamic"])}, "torch")
    assert (table["int8-dynamic"]["fit"], table["int8-dynamic"]["passed"]) == (False, False)
    raise_if_failed(table)


def test_check_measures_and_records_the_figures(made: tuple[Path, Path], tmp_path: Path) -> None:
    checkpoint, folder = made
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    table = check_folder(folder, str(checkpoint), rows=rows, limit=2, record=True)
    assert (table["fp32"]["rows"], table["fp32"]["passed"]) == (2, True)
    assert table["fp32"]["largest_difference"] < 1e-5
    assert table["fp32"]["score_change"] < 1e-5
    recorded = tomllib.loads((folder / "manifest.toml").read_text())["parity"]["fp32"]
    assert (recorded["rows"], recorded["limits"]["largest_difference"]) == (2, 1e-5)
    assert "worst_text" not in recorded
    open_folder(folder).verify()


ROWS = [
    {"id": 1, "question": "what is it", "reference": "the cat", "prediction": "it is a cat on the mat"},
    {"id": 2, "question": "capital of france", "reference": "paris", "prediction": "lyon is the capital"},
    {"id": 3, "question": "what", "reference": "a mat", "prediction": "a mat"},
]


def test_check_exits_1_where_an_artefact_computes_something_else(
    made: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint, folder = made
    damaged = export_encoder(str(checkpoint), tmp_path / "damaged", precisions=["fp32"], via="direct").folder
    weights = damaged / "model.safetensors"
    tensors = load_file(weights)
    name = "encoder.layer.1.output.dense.weight"
    tensors[name][0] *= np.float32(1.01)
    save_file(tensors, weights)
    restate(damaged, weights.name)
    with pytest.raises(GateFailed, match="largest_difference") as caught:
        command.main(["check", str(damaged), "--against", str(checkpoint)], standalone_mode=False)
    assert caught.value.exit_code == 1
    assert "FAILED" in capsys.readouterr().out
    command.main(["check", str(folder), "--against", str(checkpoint), "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["fp32"]["passed"]


def restate(folder: Path, name: str) -> None:
    """As if the damaged file were the one that was exported."""
    for listing in (folder / "manifest.toml", folder / "lock.json"):
        before = open_folder(folder).files[name]["sha256"] if listing.name == "manifest.toml" else OLD[0]
        OLD[:] = [before]
        listing.write_text(listing.read_text().replace(before, sha256_of(folder / name)))


OLD: list[str] = [""]


def test_check_exits_3_where_a_file_is_not_the_one_that_was_exported(made: tuple[Path, Path], tmp_path: Path) -> None:
    checkpoint, _ = made
    damaged = export_encoder(str(checkpoint), tmp_path / "damaged", precisions=["fp32"], via="direct").folder
    with (damaged / "model.safetensors").open("r+b") as stream:
        stream.seek(-4, 2)
        stream.write(b"\x01\x02\x03\x04")
    with pytest.raises(ModelIntegrityError, match="damaged or was changed") as caught:
        check_folder(damaged, str(checkpoint))
    assert caught.value.exit_code == 3


def test_an_export_past_its_limits_makes_no_folder(
    made: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(GATES, "fp32", replace(GATES["fp32"], largest_difference=0.0, score_change=0.0))
    with pytest.raises(GateFailed, match="fp32"):
        export_encoder(str(made[0]), tmp_path / "out", precisions=["fp32"])
    assert not (tmp_path / "out").exists()
    assert list(tmp_path.iterdir()) == []
    assert export_encoder(str(made[0]), tmp_path / "out", precisions=["fp32"], check=False).folder.is_dir()


def test_check_wants_an_exported_folder_and_rows(made: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="no exported model"):
        check_folder(made[0], str(made[0]))
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(InputError, match="no rows"):
        check_folder(made[1], str(made[0]), rows=tmp_path / "empty.jsonl")
    assert len(parity_rows(None, 3)) == 3


def test_sentence_transformers_itself_agrees_with_the_torch_that_golden_vectors_come_from(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    checkpoint = write_checkpoint(tmp_path / "tiny", pooling="cls")
    modules = json.loads((checkpoint / "modules.json").read_text())
    numbered = [{**module, "idx": index, "name": str(index)} for index, module in enumerate(modules)]
    (checkpoint / "modules.json").write_text(json.dumps(numbered))
    pooling = json.loads((checkpoint / "1_Pooling" / "config.json").read_text())
    (checkpoint / "1_Pooling" / "config.json").write_text(json.dumps({**pooling, "word_embedding_dimension": HIDDEN}))
    texts = ["the cat sat on a mat", "paris", "a b c d e f g h i j k l m n o p q r s t u v w x y z"]
    encoding = find_checkpoint(str(checkpoint), tmp_path / "unused").manifest.encoding
    other = reference_encoder(checkpoint, encoding)
    assert other.name == "sentence-transformers:tiny"
    assert np.abs(other.encode(texts) - TorchEncoder(checkpoint, encoding).encode(texts)).max() < 1e-6
