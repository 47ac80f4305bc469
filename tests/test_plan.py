from __future__ import annotations

from smile_lite.pairwise import measure
from smile_lite.plan import PairTask, RowTask, build_plan
from smile_lite.testing import FakeEncoder


def pair(reference: str, *phrasings: str, hit: int = -1, ngrams: tuple[str, ...] = ()) -> PairTask:
    return PairTask(reference, phrasings, float(hit >= 0), hit, ngrams, range(len(ngrams)))


def test_each_text_is_encoded_once_however_many_rows_need_it() -> None:
    row = RowTask(("it is lyon",), (pair("paris", "paris", ngrams=("it", "is", "lyon")),))
    encoder = FakeEncoder()
    measure(build_plan([row, row, row]), encoder, shift=True)
    assert sorted(encoder.texts) == ["is", "it", "it is lyon", "lyon", "paris"]


def test_a_hit_needs_neither_ngrams_nor_its_reference() -> None:
    plan = build_plan([RowTask(("it is paris",), (pair("paris", "The answer is Paris.", hit=2),))])
    assert plan.texts == ("it is paris", "The answer is Paris.")
    found = measure(plan, FakeEncoder(), shift=True)
    assert found.ngram.tolist() == [1.0]
    assert found.position.tolist() == [2]


def test_index_arrays_have_the_shapes_that_they_promise() -> None:
    rows = [
        RowTask(("a b",), (pair("c", "x", "y", ngrams=("a", "b")), pair("b", "z", hit=1))),
        RowTask(("d",), (pair("c", "x", ngrams=("d",)),)),
    ]
    plan = build_plan(rows)
    assert plan.whole_text.tolist() == [0, 1]
    assert plan.whole_offset.tolist() == [0, 1, 2]
    assert plan.row_offset.tolist() == [0, 2, 3]
    assert plan.pair_row.tolist() == [0, 0, 1]
    assert plan.phrasing_offset.tolist() == [0, 2, 3, 4]
    assert plan.gram_offset.tolist() == [0, 2, 2, 3]
    assert [plan.texts[index] for index in plan.gram_text] == ["a", "b", "d"]
    assert plan.gram_text[2] == plan.whole_text[1]  # "d" is a sentence too, and has one number
    assert plan.pair_reference.tolist()[1] == -1


def test_an_empty_plan_measures_nothing() -> None:
    assert measure(build_plan([]), FakeEncoder(), shift=True).semantic.tolist() == []


def test_the_best_ngram_is_the_first_of_equals_and_blocks_do_not_matter() -> None:
    grams = tuple(f"w{number}" for number in range(5000))  # more than one block of texts
    plan = build_plan([RowTask(("p",), (pair("w4321", "q", ngrams=(*grams, "w4321")),))])
    found = measure(plan, FakeEncoder(), shift=True)
    assert found.ngram.tolist() == [1.0]
    assert found.position.tolist() == [4321]
