from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smile_lite.scoring import bin_index, combine, cosine, harmonic_mean, lexical, segmented_max, shifted

UNIT = st.floats(0, 1)


def arrays(*values: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(values, dtype=np.float64)


@pytest.mark.parametrize(
    # Worked by hand from S = w s_s + (1 - w) (EM + n) / 2.
    ("semantic", "exact", "ngram", "weight", "score"),
    [
        (1.0, 1, 1.0, 0.3, 1.0),
        (0.0, 0, 0.0, 0.3, 0.0),
        (0.8, 0, 0.6, 0.3, 0.3 * 0.8 + 0.7 * 0.3),
        (0.5, 1, 1.0, 0.3, 0.85),
        (1.0, 0, 1.0, 0.3, 0.65),
        (0.0, 1, 1.0, 0.3, 0.70),
        (0.9, 0, 0.4, 1.0, 0.9),
        (0.9, 1, 0.4, 0.0, 0.7),
    ],
)
def test_the_score_is_the_paper_s_formula(
    semantic: float, exact: float, ngram: float, weight: float, score: float
) -> None:
    got = combine(arrays(semantic), lexical(arrays(exact), arrays(ngram)), weight)
    assert got[0] == pytest.approx(score, abs=1e-12)


@given(UNIT, UNIT)
def test_without_containment_no_score_passes_065_so_the_paper_s_verdict_is_no(semantic: float, ngram: float) -> None:
    score = combine(arrays(semantic), lexical(arrays(0), arrays(ngram)), 0.3)
    assert score[0] <= 0.65 + 1e-12
    assert bin_index(score)[0] < 4


@given(UNIT)
def test_with_containment_every_score_reaches_070_so_the_paper_s_verdict_is_yes(semantic: float) -> None:
    score = combine(arrays(semantic), lexical(arrays(1), arrays(1)), 0.3)
    assert score[0] >= 0.70 - 1e-12
    assert bin_index(score)[0] >= 4


@pytest.mark.parametrize(
    ("score", "expected"),
    [(0.0, 0), (0.1666, 0), (0.1667, 1), (0.5, 3), (0.6666, 3), (4 / 6, 4), (0.8333, 4), (0.8334, 5), (1.0, 5)],
)
def test_six_bins_of_equal_width_and_one_belongs_to_the_last(score: float, expected: int) -> None:
    assert bin_index(arrays(score))[0] == expected


def test_the_shifted_cosine_runs_from_0_to_1() -> None:
    assert shifted(arrays(-1, 0, 1)).tolist() == [0, 0.5, 1]


def test_the_cosine_of_known_vectors() -> None:
    a = np.array([[1, 0], [1, 1], [3, 4], [0, 0]], dtype=np.float32)
    b = np.array([[0, 2], [2, 2], [-3, -4], [1, 0]], dtype=np.float32)
    assert cosine(a, b) == pytest.approx([0, 1, -1, 0], abs=1e-12)


def test_the_cosine_of_a_vector_with_itself_is_exactly_one() -> None:
    vectors = np.random.default_rng(0).standard_normal((2000, 384)).astype(np.float32)
    assert (cosine(vectors, vectors) == 1.0).all()
    assert (cosine(vectors, -vectors) == -1.0).all()


def test_the_cosine_of_a_row_does_not_depend_on_the_other_rows() -> None:
    random = np.random.default_rng(1)
    a, b = (random.standard_normal((101, 384)).astype(np.float32) for _ in range(2))
    whole = cosine(a, b)
    assert all(cosine(a[i : i + 1], b[i : i + 1])[0] == whole[i] for i in range(101))


@pytest.mark.parametrize(
    ("values", "offsets", "best", "where"),
    [
        ([3, 1, 2], [0, 3], [3], [0]),
        ([1, 2, 2, 0], [0, 3, 4], [2, 0], [1, 3]),
        ([5, 7], [0, 0, 1, 1, 2, 2], [-np.inf, 5, -np.inf, 7, -np.inf], [-1, 0, -1, 1, -1]),
        ([], [0, 0], [-np.inf], [-1]),
        ([], [0], [], []),
    ],
)
def test_segmented_maximum_with_ties_and_empty_segments(
    values: list[float], offsets: list[int], best: list[float], where: list[int]
) -> None:
    got, index = segmented_max(arrays(*values), np.array(offsets))
    assert got.tolist() == best
    assert index.tolist() == where


@given(st.lists(st.lists(st.integers(0, 3))))
def test_segmented_maximum_agrees_with_python_s(segments: list[list[int]]) -> None:
    flat = [float(value) for segment in segments for value in segment]
    offsets = np.cumsum([0, *map(len, segments)])
    got, index = segmented_max(arrays(*flat), offsets)
    for segment, best, where, start in zip(segments, got, index, offsets, strict=False):
        if segment:
            assert best == max(segment)
            assert where == start + segment.index(max(segment))
        else:
            assert where == -1


def test_the_harmonic_mean_is_zero_where_it_has_no_meaning() -> None:
    assert harmonic_mean(arrays(0.5, 0, -0.2, 1), arrays(1, 0, 0.2, 1)) == pytest.approx([2 / 3, 0, 0, 1])
