"""The profile `reference` computes what the published code does, the faults among it; each has its counterpart in
`paper`."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from smile_lite.metric import Smile
from smile_lite.rows import Row
from smile_lite.testing import FakeEncoder

pytest.importorskip("lemminflect")


@pytest.fixture
def published() -> Smile:
    return Smile(FakeEncoder(), profile="reference", exact="fraction")


@pytest.mark.parametrize(
    ("reference", "prediction", "exact"),
    [
        ("3.5", "35", 1.0),
        ("-5", "5", 1.0),
        ("10:30", "1030", 1.0),
        ("C++", "C#", 1.0),
        ("New York New York", "New York New York", 0.5),
        ("the cats", "a cat", 0.5),
        ("red green", "green red", 1.0),
        ("red green blue", "green", 1 / 3),
    ],
)
def test_exact_match_is_the_share_of_distinct_reference_words(
    published: Smile, reference: str, prediction: str, exact: float
) -> None:
    assert published.score(prediction, reference).rows[0].exact == pytest.approx(exact)


def test_exact_match_is_off_by_default_and_the_wording_is_the_ngram_alone() -> None:
    row = Smile(FakeEncoder(), profile="reference").score("it is lyon", "paris").rows[0]
    assert row.exact == 0
    assert row.lexical == row.ngram_similarity


def test_the_parts_are_raw_cosines_averaged_and_in_harmonic_mean(published: Smile) -> None:
    encoder = FakeEncoder()
    row = published.score_rows(
        [Row(id=1, references=("Paris",), prediction="It is Lyons.", synthetic=("It is Paris.",))]
    ).rows[0]
    a, b = encoder.encode(["It is Lyons.", "It is Paris."])
    grams = encoder.encode(["it", "is", "lyon"])  # lower-cased, stripped, lemmatised
    semantic, ngram = float(a @ b), float((grams @ encoder.encode(["paris"])[0]).max())
    assert row.semantic == pytest.approx(semantic, abs=1e-6)
    assert row.ngram_similarity == pytest.approx(ngram, abs=1e-6)
    keyword = (0 + ngram) / 2
    assert row.average == pytest.approx((semantic + keyword) / 2, abs=1e-6)
    assert row.harmonic == pytest.approx(2 * semantic * keyword / (semantic + keyword), abs=1e-6)
    assert row.score == row.average


class Opposite:
    """An encoder that makes every text the opposite of every other."""

    name, precision, max_tokens = "opposite@0", "fp32", 512

    def encode(self, texts: list[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        return np.array([[1.0 if text == "x" else -1.0, 0.0] for text in texts], dtype=np.float32)


def test_negative_cosines_stay_in_the_parts_but_the_score_is_in_bounds() -> None:
    row = Smile(Opposite(), profile="reference").score("y", "x").rows[0]  # type: ignore[arg-type]
    assert (row.semantic, row.average, row.harmonic, row.score) == (-1, -1, 0, 0)


def test_empty_texts_neither_divide_by_zero_nor_score(published: Smile) -> None:
    rows = published.score(["x", "", "?!"], ["?!", "x", "x"]).rows
    assert [row.reason for row in rows] == ["empty_reference", "empty_prediction", "empty_prediction"]
    assert [row.harmonic for row in rows] == [None, 0.0, 0.0]


def test_the_signature_tells_the_profiles_apart(published: Smile) -> None:
    signature = published.score("a", "a").signature
    assert "|smile-reference|w:0.5|em:fraction|" in signature
    assert "|words:published|" in signature


def test_it_survives_pickling(published: Smile) -> None:
    again = pickle.loads(pickle.dumps(published))  # noqa: S301
    assert again.score("cats", "cat").scores == published.score("cats", "cat").scores
