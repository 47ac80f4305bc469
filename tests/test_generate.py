from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smile_lite.chat.protocol import ChatModel
from smile_lite.errors import ExtraMissing, ModelUnavailable, NoReply, UnknownModel, UsageError
from smile_lite.generate.check import CHECKS, faults
from smile_lite.generate.generator import ChatGenerator, Generator, TemplateGenerator
from smile_lite.generate.known import Settings, load_generator
from smile_lite.generate.prompts import messages
from smile_lite.generate.synthesis import Item, Synthetic, synthesise
from smile_lite.generate.template import template_answer
from smile_lite.tasks import reference_words
from smile_lite.testing import FakeChat, FakeGenerator
from smile_lite.text import find, split_words

TEMPLATES = [
    ("who wrote middlemarch", "George Eliot", "George Eliot wrote middlemarch."),
    ("What is the capital of France?", "Paris", "The capital of France is Paris."),
    ("who was elected in 1997", "Tony Blair", "Tony Blair was elected in 1997."),
    ("who was the first man on the moon?", "Neil Armstrong", "The first man on the moon was Neil Armstrong."),
    ("when did the titanic sink", "1912", 'The answer to "when did the titanic sink" is 1912.'),
    ("when did the war start", "1914", "The war did start in 1914."),
    ("when was the bridge built", "4 May 1883", "The bridge was built on 4 May 1883."),
    ("when was the bridge built", "after the war", "The bridge was built after the war."),
    ("where is the eiffel tower", "Paris", "The eiffel tower is in Paris."),
    ("where is the eiffel tower", "on the Seine", "The eiffel tower is on the Seine."),
    ("where was the film shot", "Malta", "The film was shot in Malta."),
    ("how many legs are there on a spider", "8", "There are 8 legs on a spider."),
    ("how tall is the tower", "300 m", "The tower is 300 m."),
    ("what is the film based on", "a novel", 'The answer to "what is the film based on" is a novel.'),
    ("is the earth flat?", "no", 'The answer to "is the earth flat" is no.'),
    ("日本の首都はどこですか？", "東京", "日本の首都はどこですか？ 東京"),
    (None, "Paris", "Paris"),
    ("", "Paris", "Paris"),
    ("who?", "  ", ""),
    ("who said {0} and %s", "{name}", "{name} said {0} and %s."),
]


@pytest.mark.parametrize(("question", "reference", "expected"), TEMPLATES)
def test_the_template_turns_common_questions_into_statements_and_quotes_the_rest(
    question: str | None, reference: str, expected: str
) -> None:
    assert template_answer(question, reference) == expected


STARTS = ["who wrote", "when did the", "where is", "how many", "what is the", "is it", "日本"]


@given(st.sampled_from(STARTS), st.text(), st.text("abcXYZ019 é東"))
def test_the_reference_stands_in_whatever_the_template_makes(start: str, rest: str, reference: str) -> None:
    made = template_answer(f"{start} {rest}", reference)
    wanted = reference_words(reference)
    assert not len(wanted) or find(wanted.keys, split_words(made).keys) >= 0


SOUND = [
    ("who wrote middlemarch", "George Eliot", "George Eliot wrote Middlemarch."),
    ("how many legs does a spider have", "8", "A spider has 8 legs."),
    ("are bats blind", "no", "No, bats are not blind."),
    ("are bats blind", "false", "Bats are not blind, that is false."),
    ("where is the statue", "the U.S. Capitol", "The statue is in the U.S. Capitol."),
    ("who played dr. no", "Joseph Wiseman", "Dr. No was played by Joseph Wiseman."),
    ("what did he say", "I don't know", "He said: I don't know."),
    ("how long is it", "5 km", "It is 5 km long."),
    ("首都は", "東京", "首都は東京です。"),
    (None, "Paris", "Paris."),
    ("is it 3 percent", "3%", "It is 3%."),
]


@pytest.mark.parametrize(("question", "reference", "answer"), SOUND)
def test_an_answer_that_says_nothing_new_is_sound(question: str | None, reference: str, answer: str) -> None:
    assert faults(question, reference, answer) == ()


FAULTY = [
    ("who wrote it", "George Eliot", "", "empty"),
    ("who wrote it", "George Eliot", "\u200b ", "empty"),
    ("are they", "yes", "yes yes yes yes yes", "repeats"),
    ("what is it", "a cat", "it is a cat it is a cat it is a cat", "repeats"),
    ("who wrote it", "George Eliot", "I'm sorry, I cannot say who George Eliot is.", "refusal"),
    ("who wrote it", "George Eliot", "As an AI, I think George Eliot.", "refusal"),
    ("who wrote it", "George Eliot", "Mary Ann Evans wrote it.", "no_reference"),
    ("when was it", "the 9th century", "It was the 19th century.", "no_reference"),
    ("who wrote it", "George Eliot", "George Eliot wrote it in 1871.", "new_number"),
    ("who wrote it", "George Eliot", "George Eliot wrote two of it.", "new_number"),
    ("how many", "8", "There are 8%.", "new_unit"),
    ("how much", "8", "It was $8.", "new_unit"),
    ("how far", "8", "It is 8 miles.", "new_unit"),
    ("who wrote it", "Eliot", "George Eliot wrote it.", "new_name"),
    ("who was the president", "Lincoln", "Washington and Lincoln was the president.", "new_name"),
    ("who sang it", "Aaron Lewis", "Aaron Lewis is a musician who plays guitar.", "new_words"),
    ("who wrote it", "George Eliot", "George Eliot did not write it.", "new_negation"),
    ("who wrote it", "George Eliot", "George Eliot wrote it. It is it.", "many_sentences"),
    ("who wrote it", "George Eliot", f"George Eliot wrote {'it and ' * 20} it.", "too_long"),
    ("who wrote the book", "George Eliot", "Who wrote the book is George Eliot?", "question_again"),
    ("who wrote the book", "George Eliot", "Who wrote the book: George Eliot", "question_again"),
]


@pytest.mark.parametrize(("question", "reference", "answer", "fault"), FAULTY)
def test_each_fault_of_a_small_model_has_a_name(question: str, reference: str, answer: str, fault: str) -> None:
    assert fault in faults(question, reference, answer)


def test_every_check_is_seen_to_fail_once() -> None:
    assert {fault for *_, fault in FAULTY} == set(CHECKS)


@given(st.text(), st.text(), st.text())
def test_checking_never_fails_on_any_text(question: str, reference: str, answer: str) -> None:
    assert set(faults(question, reference, answer)) <= set(CHECKS)


def test_both_questions_share_the_opening_of_the_conversation_and_show_braces_as_they_are() -> None:
    first, second = (messages("who {x} %s", "{0}", attempt) for attempt in (0, 1))
    assert first[:-1] == second[:-1]
    assert "Question: who {x} %s\nAnswer: {0}\n" in first[-1]["content"]
    assert "Draft: {0} {x} %s.\n" in second[-1]["content"]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Paris is it.\nQuestion: and now?", "Paris is it."),
        ('"Paris is it."', "Paris is it."),
        ("Sentence: Paris is it.", "Paris is it."),
        ("<think>hm\nParis?</think>\n\nParis is it.", "Paris is it."),
        ("<think>never closed", ""),
        ("**Paris is it.**", "Paris is it."),
        ("", ""),
    ],
)
def test_a_reply_is_freed_of_what_models_put_around_it(reply: str, expected: str) -> None:
    assert ChatGenerator(FakeChat(lambda _: reply)).answer("q", "Paris", 0) == expected


def test_the_first_sound_answer_is_taken_and_the_refused_ones_are_kept() -> None:
    replies = iter(["I cannot say.", "Paris is the capital."])
    made = list(synthesise([Item("capital", "Paris")], ChatGenerator(FakeChat(lambda _: next(replies)))))
    assert made == [
        Synthetic("Paris is the capital.", "retry", (("I cannot say.", faults("capital", "Paris", "I cannot say.")),))
    ]


def test_where_no_answer_is_sound_the_template_speaks() -> None:
    (made,) = synthesise([Item("who wrote it", "Eliot")], ChatGenerator(FakeChat(lambda _: "42")))
    assert (made.text, made.how, len(made.refused)) == ("Eliot wrote it.", "fallback", 2)


def test_a_reply_that_does_not_come_counts_as_an_attempt() -> None:
    def nothing(_: str) -> str:
        raise NoReply("the server answered with nothing")

    (made,) = synthesise([Item("who wrote it", "Eliot")], ChatGenerator(FakeChat(nothing)))
    assert (made.how, made.refused) == ("fallback", (("", ("no_reply",)), ("", ("no_reply",))))


def test_the_template_is_trusted_and_never_falls_back() -> None:
    (made,) = synthesise([Item("who wrote the book", "no")], TemplateGenerator())
    assert made.how == "first"


class Slow(FakeGenerator):
    """Later items answer sooner; so many are asked at once as threads came."""

    def __init__(self, threads: int) -> None:
        super().__init__(concurrency=threads)
        self.meeting = threading.Barrier(threads)

    def answer(self, question: str | None, reference: str, attempt: int) -> str:
        place = self.meeting.wait(timeout=10)
        time.sleep(0.002 * place)
        return super().answer(question, reference, attempt)


def test_many_threads_ask_at_once_and_the_answers_stay_in_order() -> None:
    items = [Item(f"q{number}", f"r{number}") for number in range(16)]
    made = list(synthesise(items, Slow(4)))
    assert [one.text for one in made] == [f"The answer is r{number}." for number in range(16)]


def test_a_generator_that_cannot_be_asked_any_more_stops_the_run_after_what_it_gave() -> None:
    class Dying(FakeGenerator):
        def answer(self, question: str | None, reference: str, attempt: int) -> str:
            if reference == "r5":
                raise ModelUnavailable("gone")
            return super().answer(question, reference, attempt)

    for threads in (1, 3):
        stream = synthesise([Item("q", f"r{number}") for number in range(20)], Dying(concurrency=threads))
        assert [next(stream).text for _ in range(5)] == [f"The answer is r{number}." for number in range(5)]
        with pytest.raises(ModelUnavailable, match="gone"):
            next(stream)


def test_items_are_asked_for_as_they_are_needed_not_all_at_once() -> None:
    taken = []

    def items() -> Iterator[Item]:
        for number in range(1000):
            taken.append(number)
            yield Item("q", f"r{number}")

    stream = synthesise(items(), FakeGenerator(concurrency=2))
    next(stream)
    assert len(taken) < 20
    stream.close()  # type: ignore[attr-defined]


def test_the_stand_ins_keep_the_protocols() -> None:
    assert isinstance(FakeGenerator(), Generator)
    assert isinstance(TemplateGenerator(), Generator)
    assert isinstance(ChatGenerator(FakeChat(str)), Generator)
    assert isinstance(FakeChat(str), ChatModel)


def test_generators_go_by_name() -> None:
    assert load_generator("none") is None
    assert isinstance(load_generator("template"), TemplateGenerator)
    with pytest.raises(UsageError, match="--generator-model"):
        load_generator("openai")


def test_without_llama_cpp_auto_means_the_template_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smile_lite.generate.known.find_spec", lambda _: None)
    told: list[str] = []
    assert isinstance(load_generator("auto", notify=told.append), TemplateGenerator)
    assert "llama.cpp is not installed (pip install 'smile-lite[generate]')" in told[0]


def test_a_model_needs_its_extra_before_anything_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "llama_cpp", None)
    with pytest.raises(ExtraMissing, match=r"smile-lite\[generate\]"):
        load_generator("smollm2-135m-instruct", Settings(offline=True))


def test_an_unknown_generator_is_told_with_those_there_are() -> None:
    from smile_lite.chat.gguf import get_gguf

    with pytest.raises(UnknownModel, match="smollm2-135m-instruct"):
        get_gguf("gpt-7")
