from __future__ import annotations

import time
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smile_lite.guards import FLAGS, decide, flags, row_flags


def raised(reference: str, prediction: str, question: str | None = None) -> set[str]:
    return set(flags(question, reference, prediction))


def against(names: tuple[str, ...]) -> set[str]:
    return {name for name in names if FLAGS[name].effect == "against"}


@pytest.mark.parametrize(
    ("reference", "prediction"),
    [
        ("yes", "No."),
        ("yes", "Nope, that never happened."),
        ("no", "Yes, it has been so since 1990."),
        ("Yes, it is.", "No, it's not."),
        ("yes", "The answer is: no"),
        ("no", "After long thought, I would say yes."),
        ("yes", "I don't think so."),
        ("yes", "Of course not."),
        ("no", "Certainly!"),
        ("yes", "It isn't."),
        ("yes", "It does not."),
        ("yes", "Unfortunately no."),
        ("no", "They do."),
        ("true", "False."),
        ("true", "The statement is false."),
        ("false", "That is correct."),
        ("true", "That's not true."),
        ("oui", "Non."),
        ("nein", "Ja, natürlich"),
        ("sí", "No, nunca"),
        ("はい", "いいえ、違います"),
        ("да", "Нет."),
    ],
)
def test_the_other_answer_is_yes_no_opposite(reference: str, prediction: str) -> None:
    assert raised(reference, prediction) == {"yes_no_opposite"}


@pytest.mark.parametrize(
    ("reference", "prediction"),
    [
        ("yes", "Yes, no problem."),
        ("yes", "Yes. It is not a problem."),
        ("no", "Norway"),
        ("no", "There is no evidence."),
        ("no", "No man is an island"),
        ("no", "No, yes-men are not welcome."),
        ("yes", "Certainly."),
        ("yes", "Yes, although some say no"),
        ("yes", "No one doubts it; yes."),
        ("false", "It is not true."),
        ("nein", "Das weiß niemand"),
        ("non", "Personne ne sait"),
        ("Norway", "No."),
        ("Ja, seit 1990", "Nein."),
        ("no", "It isn't."),
    ],
)
def test_no_yes_or_no_is_seen_where_none_is_answered_or_it_agrees(reference: str, prediction: str) -> None:
    assert not raised(reference, prediction) & {"yes_no_opposite", "yes_no_both"}


@pytest.mark.parametrize(
    ("reference", "prediction"),
    [
        ("no", "Yes and no"),
        ("yes", "Yes. On second thought, no."),
        ("yes", "No; the final answer is yes"),
        ("no", "Yes! No!"),
        ("yes", "yes/no. No"),
        ("true", "True. Actually, false."),
        ("oui", "Oui. Enfin, non."),
        ("no", "Yes, they say. But the answer is no."),
    ],
)
def test_yes_and_no_is_both(reference: str, prediction: str) -> None:
    assert raised(reference, prediction) == {"yes_no_both"}


def test_a_statement_answers_the_question_whose_words_it_repeats() -> None:
    question = "Is Pluto a planet?"
    assert raised("no", "Pluto is a planet.", question) == {"yes_no_opposite"}
    assert raised("yes", "Pluto isn't a planet.", question) == {"yes_no_opposite"}
    assert raised("no", "Pluto is not a planet.", question) == set()
    assert raised("no", "Pluto is cold.", question) == set()


@pytest.mark.parametrize(
    ("reference", "prediction"),
    [
        ("Oslo", "It isn't Oslo."),
        ("Oslo", "I don't think it is Oslo"),
        ("allowed", "not allowed"),
        ("The contract can be terminated", "The contract cannot be terminated"),
        ("tea with milk", "tea without milk"),
        ("Bergen", "Oslo instead of Bergen"),
        ("They accept cards", "They no longer accept cards."),
        ("The patient does not have asthma", "The patient has asthma"),
        ("no refunds", "We give refunds"),
        ("All students passed", "No students passed"),
        ("Users may share passwords", "Users must never share passwords"),
        ("He won the race", "He didn’t win the race"),
        ("Mars has an ocean", "Mars hasn't an ocean."),
    ],
)
def test_a_negation_of_what_the_reference_says_is_seen(reference: str, prediction: str) -> None:
    assert raised(reference, prediction) == {"negation_differs"}


@pytest.mark.parametrize(
    ("reference", "prediction"),
    [
        ("Oslo", "Oslo, not Bergen"),
        ("Oslo", "It was not Bergen but Oslo."),
        ("Oslo", "Not only Oslo"),
        ("Oslo", "The capital that does not lie inland is Oslo"),
        ("Oslo", "There is no doubt that it is Oslo."),
        ("Oslo", "No, it's Oslo."),
        ("Oslo", "Oslo rather than Bergen"),
        ("Oslo", "It's neither Bergen nor Turku: it's Oslo"),
        ("The plan covers glasses", "The plan covers glasses, not lenses"),
        ("smoking is not allowed", "smoking is prohibited"),
        ("not before May", "not before May, they said"),
        ("Can't Stop", "It was Can't Stop"),
        ("Anna has returned", "Anna did not think she deserved the flowers that greeted her when she returned"),
        ("until Monday", "not until Monday"),
    ],
)
def test_a_negation_of_something_else_is_not(reference: str, prediction: str) -> None:
    assert "negation_differs" not in raised(reference, prediction)


@pytest.mark.parametrize(
    ("reference", "prediction"),
    [
        ("Lead is heavier than tin", "Lead is lighter than tin"),
        ("Take it before meals", "Take it after meals"),
        ("Sales increased in May", "Sales dropped in May"),
        ("Sales rose in May", "Sales fell in May"),
        ("The test was positive", "The test was negative."),
        ("North Macedonia", "South Macedonia"),
        ("the first king", "the last king"),
        ("It is safe", "It is unsafe"),
        ("turn left", "turn right"),
        ("increase", "It would decrease."),
        ("Norway won the match", "Norway lost the match"),
        ("more than five people", "fewer than five people"),
    ],
)
def test_an_opposite_in_place_of_the_reference_s_word_is_an_antonym(reference: str, prediction: str) -> None:
    assert raised(reference, prediction) == {"antonym"}


@pytest.mark.parametrize(
    ("reference", "prediction"),
    [
        ("Lead is heavier than tin", "Tin is lighter than lead"),
        ("The strike came before the vote", "The vote came after the strike"),
        ("it increases", "it does not decrease"),
        ("North Macedonia", "It lies south of Serbia: North Macedonia"),
        ("the first king", "the king who reigned last century"),
        ("turn left", "You're right: turn left"),
        ("Sales rose in May", "After prices fell, sales rose in May"),
        ("left", "You're right, it was never decided who should go or stay in the old house"),
        ("a safe harbour", "The unsafe bridge was closed"),
        ("heat", "cold"),
    ],
)
def test_an_opposite_elsewhere_is_none(reference: str, prediction: str) -> None:
    assert "antonym" not in raised(reference, prediction)


@pytest.mark.parametrize(
    ("reference", "prediction"),
    [
        ("B", "A/B/C"),
        ("C", "A, B, C, or D"),
        ("A", "Option A or option C"),
        ("D", "Possible answers: A, B, C, D"),
        ("B", "It is either (A) or (B), I am not sure."),
        ("Oslo", "either Oslo or Bergen"),
        ("Oslo", "Oslo, Bergen or Turku"),
        ("Bergen", "It might be Oslo or Bergen."),
        ("New York", "New York or Los Angeles"),
        ("dog", "It may be a dog or a cat."),
        ("Oslo", "Oslo. Or maybe Bergen."),
        ("Oslo", "The answer might be Oslo, but it could also be Bergen."),
        ("Oslo", "Maybe Oslo, maybe Bergen"),
        ("1912", "either 1911 or 1912"),
    ],
)
def test_alternatives_left_open_are_hedged(reference: str, prediction: str) -> None:
    assert raised(reference, prediction) == {"hedged"}


@pytest.mark.parametrize(
    ("reference", "prediction"),
    [
        ("B", "(B)"),
        ("B", "The options are A, B, C or D; the answer is B"),
        ("B", "A, B or C. Answer: B"),
        ("A", "A cat or a dog"),
        ("D", "I would pick D over A or B"),
        ("Oslo", "Oslo or the city at the fjord"),
        ("Oslo or Bergen", "It could be Oslo or Bergen"),
        ("uvea", "The uvea or uveal tract"),
        ("football", "It is called soccer or football."),
        ("copper", "In theory, either copper or tin can be used."),
        ("3", "It could be 3 or 4, but the answer is 3."),
    ],
)
def test_a_choice_an_apposition_and_a_free_choice_are_not(reference: str, prediction: str) -> None:
    assert "hedged" not in raised(reference, prediction)


@pytest.mark.parametrize(
    "prediction",
    [
        "I don't know.",
        "I don’t know",
        "As an AI, I cannot answer that question.",
        "I'm unable to assist with that request.",
        "Sorry, but I can't do that.",
        "I'd rather not say.",
        "There is not enough information to answer.",
        "The context does not mention it.",
        "Cannot be determined.",
        "N/A",
        "Unknown",
        "Unfortunately, I have no idea.",
        "I apologize, but I must decline. Please ask something else.",
        "As a language model, I do not have real-time data. However, I recommend checking the official website.",
    ],
)
def test_declining_to_answer_is_a_refusal(prediction: str) -> None:
    assert raised("Bergen", prediction) == {"refusal"}


@pytest.mark.parametrize(
    ("reference", "prediction"),
    [
        ("Bergen", "I'm not sure, but I think it is Oslo"),
        ("Bergen", "I don't know, maybe Oslo"),
        ("Bergen", "I'm sorry, it's Oslo."),
        ("Bergen", "As an AI, I think it's Oslo."),
        ("Bergen", "I can't say for sure but Oslo."),
        ("Bergen", "Oslo, I don't know why"),
        ("Bergen", "I do not know the capital. It is Oslo."),
        ("Bergen", "The company does not know the cause"),
        ("unknown", "I don't know"),
        ("There is not enough information", "There is insufficient information."),
        ("He refused to answer", "He declined to comment"),
        ("Ghost Town", "I'm sorry, I can't help with Ghost Town"),
    ],
)
def test_no_refusal_where_an_answer_follows_or_the_reference_declines(reference: str, prediction: str) -> None:
    assert "refusal" not in raised(reference, prediction)


def test_every_flag_says_what_it_means_and_has_an_effect() -> None:
    assert isinstance(FLAGS, MappingProxyType)
    assert list(FLAGS) == sorted(FLAGS)
    assert all(name == flag.name and flag.meaning for name, flag in FLAGS.items())
    assert {flag.effect for flag in FLAGS.values()} == {"against", "for", "note"}


@pytest.mark.parametrize(
    ("names", "verdict", "expected"),
    [
        ((), "correct", "correct"),
        ((), "incorrect", "incorrect"),
        (("negation_differs",), "correct", "incorrect"),
        (("negation_differs",), "incorrect", "incorrect"),
        (("equal_value",), "incorrect", "correct"),
        (("equal_value", "hedged"), "incorrect", "incorrect"),
        (("equal_value", "hedged"), "correct", "incorrect"),
        (("date_ambiguous",), "correct", "correct"),
        (("date_ambiguous",), "incorrect", "incorrect"),
        (("antonym",), None, None),
    ],
)
def test_decide_lets_flags_against_speak_first(
    names: tuple[str, ...], verdict: str | None, expected: str | None
) -> None:
    assert decide(names, verdict) == expected


def test_decide_knows_its_flags() -> None:
    with pytest.raises(KeyError):
        decide(["no_such_flag"], "correct")


def test_a_row_has_the_flags_against_its_best_reference() -> None:
    assert row_flags(None, ["1990", "1994"], "In 1994.") == ()
    assert row_flags(None, ["five", "6"], "5") == ("equal_value",)
    assert row_flags(None, ["1990", "1994"], "In 1995.") == ("date_differs",)
    assert row_flags(None, ["", " ", "7"], "8") == ("number_differs",)
    assert row_flags(None, [], "8") == ()


def test_alternatives_that_are_all_references_are_no_hedging() -> None:
    assert row_flags(None, ["Oslo", "Bergen"], "Oslo or Bergen") == ()
    assert row_flags(None, ["Oslo"], "Oslo or Bergen") == ("hedged",)


@pytest.mark.parametrize(
    ("reference", "prediction"), [("", "5"), ("5", ""), ("\u200b", "no"), ("yes", " \n"), ("", "")]
)
def test_blank_texts_have_no_flags(reference: str, prediction: str) -> None:
    assert flags(None, reference, prediction) == ()


PIECES = (
    "yes no not never isn't 5 5.5 1/2 -3 10:30 pm 2024-12-10 10/12/2024 May 1990s mg kg $ % one half million first "
    "II larger smaller before after or either could be (A) (B) Oslo Bergen but I don't know sorry . , ;"
)
TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from([*PIECES.split(), "\n"]), max_size=14).map(" ".join),
    st.text(st.characters(min_codepoint=0xD7F0, max_codepoint=0xE010), max_size=8),
)


@given(st.one_of(st.none(), TEXTS), TEXTS, TEXTS)
def test_any_text_gives_sorted_known_names_twice_the_same(
    question: str | None, reference: str, prediction: str
) -> None:
    found = flags(question, reference, prediction)
    assert list(found) == sorted(set(found))
    assert set(found) <= set(FLAGS)
    assert found == flags(question, reference, prediction)


@given(st.one_of(st.none(), TEXTS), TEXTS)
def test_nothing_speaks_against_the_reference_itself(question: str | None, text: str) -> None:
    assert not against(flags(question, text, text))


@given(st.lists(TEXTS, max_size=4), TEXTS)
def test_another_reference_never_adds_a_flag_against(references: list[str], prediction: str) -> None:
    few = against(row_flags(None, references, prediction))
    if any(reference.strip() for reference in references):
        assert len(against(row_flags(None, [*references, prediction], prediction))) <= len(few)


LONG = 12_000
ADVERSARIAL = {
    "plain": "word " * LONG,
    "digits": "9" * (5 * LONG),
    "dots": "1.1," * LONG,
    "thousands": "1 " + "000 " * LONG,
    "fractions": "1/2 " * LONG,
    "apostrophes": "'" * (5 * LONG),
    "acronyms": "a." * LONG,
    "scales": "one million " * LONG,
    "negations": "not Oslo " * LONG,
    "alternatives": "Oslo or " * LONG,
    "yes": "yes, no " * LONG,
    "opposites": "larger after " * LONG,
    "dates": "2024-12-10 " * LONG,
    "ranges": "1 to " * LONG,
    "feet": "6 feet 2 inches " * LONG,
    "signs": "- " * LONG,
    "lines": "\n" * (5 * LONG),
}


def test_what_is_not_read_of_a_very_long_text_is_not_held_against_it() -> None:
    assert flags(None, "5 mg", "word " * 20_000 + "4 mg") == ()
    assert flags(None, "yes", "word " * 20_000 + "\nThe answer is no.") == ("yes_no_opposite",)


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_a_very_long_text_takes_no_longer_than_its_length(name: str) -> None:
    text = ADVERSARIAL[name]
    for reference in ("Oslo is smaller than 5 mg before 2024-12-11", "yes"):
        start = time.process_time()
        flags("Is it so?", reference, text)
        assert time.process_time() - start < 20
    start = time.process_time()
    flags(None, text, "5 mg in Oslo")
    assert time.process_time() - start < 20
