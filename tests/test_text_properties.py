"""What holds of the words and the markup of any text, however odd."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smile_lite.tasks import reference_words
from smile_lite.text import find, fold, is_blank, ngrams, sentence, split_words, unwrap, unwrap_reference

# fmt: off
PIECES = [
    "Paris", "42", "3.5", "a", "b", "kg", "5kg", "서울은", "고양이", "이다", "東京", "สวัสดี", "é", "e\u0301", "İ", "ß",
    "\u0301", "مُ", "ی", "שָׁ", "٣", "٫", "²", "½", "👍", "🇫", "👨\u200d", "\u200d", "\u200b", "\ud83d", "\x00",
    "\U000f0000", "ﷺ", "U.S.", "a.", "10 000", "1,000", "1'000", "-5", "x^2", "1e-", "(tm)", " ", "\n", "\n\n", ".",
    ",", "!", "'", '"', ":", "*", "**", "_", "__", "~~", "`", "```", "```py\n", "# ", "- ", "> ", "1. ", "2. ", "|",
    "| a |\n|---|\n", "[", "](", ")", "[a](b.c)", "$", "$$", "\\(", "\\)", "\\[", "\\]", "\\", "{", "}", "\\frac{",
    "\\frac12", "\\boxed{", "\\sqrt[3]{", "\\pm", "\\text{", "\\_", "\\,", "^{", "_{", "^\\circ", "<think>", "</think>",
    "<think", "[THINK]", "<answer>", "</answer>", "<b>", "</b>", "<sup>", "<br>", "<", ">", "&lt;", "&#33;", "&amp;",
    "C:\\new", "https://x.org", "Answer: ",
]
UNITS = [
    "*", "**a ", "_a", "$", "$a ", "<think>", "</think>", "<", "[",
    "[a](", "\\frac{", "\\boxed{", "{", "}", "\\(", "\\[",
    "`", "` ``", "> ", "- ", "1. ", "|-", "^{", "&lt;", "1 000 ", "1,000,", "가", "👨\u200d", "\u0301", "a. ", "a'b",
]
# fmt: on
PIECED = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
ANYTHING = st.one_of(PIECED, st.text(st.characters(exclude_categories=()), max_size=60))
PLAIN = st.text(st.sampled_from("ab Z9.,;!?'\"()東서울é-"), max_size=40).filter(lambda text: not unwrap_changes(text))
FEW = settings(max_examples=60)


def unwrap_changes(text: str) -> bool:
    """Whether a list or a lead-in stands there; nothing else can, in the characters of PLAIN."""
    return any(line.lstrip()[:1] == "-" for line in text.split("\n"))


@FEW
@given(ANYTHING)
def test_words_are_ordered_slices_of_the_text(text: str) -> None:
    words = split_words(text)
    assert all(words.keys)
    assert all(0 <= start < end <= len(text) for start, end in zip(words.starts, words.ends, strict=True))
    assert list(words.starts) == sorted(words.starts)
    assert list(words.ends) == sorted(words.ends)
    assert is_blank(text) == (not words.keys)


@FEW
@given(ANYTHING)
def test_folding_leads_back_to_the_text(text: str) -> None:
    folded, origin = fold(text)
    assert len(origin) == len(folded) + 1
    assert list(origin) == sorted(origin)
    assert origin[-1] == len(text)


@FEW
@given(ANYTHING)
def test_composition_makes_no_other_word(text: str) -> None:
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert split_words(composed).keys == split_words(decomposed).keys


@FEW
@given(ANYTHING)
def test_a_reference_is_found_in_itself_and_in_a_sentence_around_it(text: str) -> None:
    wanted = reference_words(text).keys
    assert not wanted or find(wanted, split_words(text).keys) >= 0
    if wanted and any(char.isalpha() for char in text):
        assert all(ngrams(wanted, n) for n in (1, 2, 3))
        assert sentence(text) or is_blank(text)


@FEW
@given(ANYTHING)
def test_unwrapping_never_fails_nor_makes_longer(text: str) -> None:
    assert len(unwrap(text)) <= len(text)
    assert split_words(unwrap(text)) == split_words(unwrap(text))


@FEW
@given(ANYTHING)
def test_a_reference_that_can_be_seen_can_be_seen_unwrapped(text: str) -> None:
    assert is_blank(unwrap_reference(text)) == is_blank(text)
    assert unwrap_reference(text) == unwrap(text) or is_blank(unwrap(text))


@FEW
@given(ANYTHING.filter(lambda text: not set("\\`~&<") & set(text)))
def test_unwrapping_twice_is_unwrapping_once_where_nothing_was_escaped_or_code(text: str) -> None:
    assert unwrap(unwrap(text)) == unwrap(text)


@FEW
@given(PLAIN)
def test_a_text_without_markup_is_returned_as_it_is(text: str) -> None:
    assert unwrap(text) is text


@FEW
@given(ANYTHING, PIECED)
def test_closed_reasoning_in_front_changes_nothing(answer: str, thought: str) -> None:
    thought, answer = (text.replace("<", "").replace("[", "").replace("◁", "") for text in (thought, answer))
    unwrapped = unwrap(f"<think>{thought}</think>\n{answer}")
    assert unwrapped.strip() == unwrap(answer).strip() or is_blank(answer)


@pytest.mark.parametrize("work", [unwrap, split_words, sentence])
@pytest.mark.parametrize("unit", UNITS)
def test_work_grows_with_the_length_only(unit: str, work: Callable[[str], object]) -> None:
    text = unit * (20_000 // len(unit)) + "x"
    begin = time.process_time()
    work(text)
    assert time.process_time() - begin < 1.5  # milliseconds where it is linear, a minute where it is quadratic
