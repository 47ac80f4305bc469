from __future__ import annotations

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from smile_lite.encoder import Encoder, OnnxEncoder
from smile_lite.errors import ModelIntegrityError, UsageError
from smile_lite.metric import Smile
from smile_lite.models import get_model
from smile_lite.session import exact_length_batches
from smile_lite.store import PulledModel
from smile_lite.testing import FakeEncoder

SENTENCES = [
    "Hello, World!",
    "This is an example passage.",
    "fastembed-rs is licensed under Apache-2.0",
    "Some other short text here blah blah blah",
    "Paris",
    "",
    "word " * 400,
    "字" * 300,
    *(f"number {number} of many" for number in range(70)),
]


@pytest.fixture(scope="module")
def whole(minilm: PulledModel) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return OnnxEncoder(minilm, threads=1).encode(SENTENCES)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [1, 3, 7, 64])
def test_minilm_s_vectors_depend_on_neither_batch_nor_threads(
    minilm: PulledModel, whole: np.ndarray[tuple[int, int], np.dtype[np.float32]], size: int, threads: int
) -> None:
    encoder = OnnxEncoder(minilm, threads=threads, batch_size=size)
    assert np.abs(encoder.encode(SENTENCES) - whole).max() <= 1e-6
    assert np.abs(np.vstack([encoder.encode([text]) for text in SENTENCES[:8]]) - whole[:8]).max() <= 1e-6


def test_vectors_are_unit_rows_in_the_order_of_the_texts(minilm: PulledModel) -> None:
    encoder = OnnxEncoder(minilm, threads=1)
    vectors = encoder.encode(["b b b", "a", "b b b", "A"])
    assert vectors.dtype == np.float32
    assert vectors.shape == (4, 384)
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-5
    assert (vectors[0] == vectors[2]).all()
    assert (vectors[1] == vectors[3]).all()  # uncased: the same tokens
    assert not (vectors[0] == vectors[1]).all()
    assert encoder.encode([]).shape == (0, 384)
    assert encoder.encode("one text").shape == (1, 384)


def test_long_texts_are_cut_to_the_model_s_length_and_padding_is_off(minilm: PulledModel) -> None:
    encoder = OnnxEncoder(minilm, threads=1)
    assert len(encoder._tokenizer.encode("x")) == 3
    assert len(encoder._tokenizer.encode("word " * 1000)) == 256
    assert (encoder.encode(["word " * 254])[0] == encoder.encode(["word " * 1000])[0]).all()


def test_texts_that_tokenise_alike_are_computed_once(minilm: PulledModel, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = OnnxEncoder(minilm, threads=1)
    sizes: list[int] = []

    class Counting:
        def run(
            self, names: list[str], feed: dict[str, np.ndarray[tuple[int, int], np.dtype[np.int64]]]
        ) -> list[object]:
            sizes.append(len(feed["input_ids"]))
            return [np.zeros((len(feed["input_ids"]), 384), np.float32)]

    monkeypatch.setattr("smile_lite.onnx_model.open_session", lambda *_: Counting())
    encoder.encode(["a b", "A b", "a  b", "c d", "e f g"])
    assert sizes == [2, 1]


def test_a_vector_that_is_not_finite_is_never_given(minilm: PulledModel, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def run(self, *_: object) -> list[object]:
            return [np.full((1, 384), np.nan, np.float32)]

    encoder = OnnxEncoder(minilm, threads=1)
    monkeypatch.setattr("smile_lite.onnx_model.open_session", lambda *_: Broken())
    with pytest.raises(ModelIntegrityError, match="not finite"):
        encoder.encode(["x"])


def test_the_token_budget_and_the_batch_size_bound_a_batch(minilm: PulledModel) -> None:
    lengths = [4, 4, 4, 4, 4, 4, 9, 9, 9, 30]
    batches = list(exact_length_batches(lengths, batch_size=5, tokens=20))
    assert [len(batch) for batch in batches] == [5, 1, 2, 1, 1]
    assert sorted(index for batch in batches for index in batch) == list(range(10))
    assert all(len({lengths[index] for index in batch}) == 1 for batch in batches)
    with pytest.raises(UsageError, match="at least one text"):
        OnnxEncoder(minilm, batch_size=0)


def test_it_is_safe_from_several_threads_and_survives_pickling(minilm: PulledModel) -> None:
    encoder = OnnxEncoder(minilm, threads=2)
    texts = [f"text number {number}" for number in range(24)]
    whole = encoder.encode(texts)
    with ThreadPoolExecutor(8) as pool:
        singles = list(pool.map(lambda text: encoder.encode([text])[0], texts))
    assert np.abs(np.array(singles) - whole).max() <= 1e-6
    again = pickle.loads(pickle.dumps(encoder))  # noqa: S301
    assert (again.encode(texts) == whole).all()
    assert again.name == encoder.name == "minilm@53aa5117"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_it_works_in_a_forked_child_without_a_word_on_standard_error(minilm: PulledModel) -> None:
    program = """
import os, sys
from smile_lite import OnnxEncoder
encoder = OnnxEncoder.from_pretrained("minilm", threads=2, offline=True)
here = encoder.encode(["a b c", "d"])
child = os.fork()
if child == 0:
    os._exit(0 if (encoder.encode(["a b c", "d"]) == here).all() else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_both_encoders_keep_the_protocol(minilm: PulledModel) -> None:
    assert isinstance(OnnxEncoder(minilm, threads=1), Encoder)
    assert isinstance(FakeEncoder(), Encoder)


def test_a_tokenizer_that_is_none_is_told(checkpoint: Path, home: Path) -> None:
    (checkpoint / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelIntegrityError, match="is no tokenizer"):
        OnnxEncoder(get_model(str(checkpoint)))


def test_a_checkpoint_folder_grades_end_to_end(checkpoint: Path, home: Path) -> None:
    smile = Smile.from_pretrained(str(checkpoint), threads=1)
    assert smile.score("the cat sat", "the cat").rows[0].exact == 1
    assert "model:tiny@" in smile.score("the cat", "the cat").signature
