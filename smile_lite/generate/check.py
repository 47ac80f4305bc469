"""What a synthetic answer must not do: a small model invents units, names and numbers, refuses, repeats itself.

Each rule has a name, which is what the rows and counts of a prepared set hold.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from smile_lite.generate.vocabulary import ABBREVIATIONS, FUNCTION_WORDS, NEGATIONS, NUMBERS, OPENERS, UNITS
from smile_lite.tasks import reference_words
from smile_lite.text import Words, find, split_words

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__all__ = ["CHECKS", "faults"]

CHECKS = {
    "empty": "nothing was written",
    "repeats": "one word four times in a row, or one stretch of words three times",
    "refusal": "it declines to answer or speaks of itself",
    "no_reference": "the reference's words do not stand in it",
    "new_number": "a number that is in neither question nor reference",
    "new_unit": "a unit, currency or percent sign that is in neither",
    "new_name": "a word with a capital that is in neither",
    "new_words": "more than one other word of content that is in neither, inflections apart",
    "new_negation": "a negation that is in neither",
    "many_sentences": "more than one sentence",
    "too_long": "more words than one and a half times question and reference, and twelve",
    "question_again": "the question again",
}

_REFUSALS = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry|unable|not (?:sure|able))|i (?:can(?:not|'t)|do(?: not|n't) know|apologi[sz]e)|"
    r"as an ai|(?:language|ai) model|(?:unable|impossible) to (?:answer|determine|say)|please provide|"
    r"cannot be (?:answered|determined)|(?:no|not enough|insufficient) information|"
    r"here is (?:a|the) (?:sentence|statement))\b"
)
_SENTENCE_END = re.compile(r"(\S*)([.!?]+[\"')\]”’]*\s+(?=\S)|[。！？]+(?=\S)|\n+)")
_LONGEST_TAIL = 12
_STEM = 4


def faults(question: str | None, reference: str, answer: str) -> tuple[str, ...]:
    """The names of the `CHECKS` that `answer` fails as a synthetic answer of `reference`; empty where it is sound."""
    said, asked, wanted = split_words(answer), split_words(question or ""), reference_words(reference)
    if not len(said):
        return ("empty",)
    known = {*asked.keys, *split_words(reference).keys}
    lowered = answer.lower().replace("’", "'")
    found = {
        "repeats": _repeats(said.keys),
        "refusal": bool(_REFUSALS.search(lowered)) and not _REFUSALS.search(f"{question} {reference}".lower()),
        "no_reference": find(wanted.keys, said.keys) < 0,
        "new_number": any(key not in known and _is_number(key) for key in said.keys),
        "new_unit": _new(said.keys, known, UNITS),
        "new_name": any(_is_new_name(said, index, known) for index in range(len(said))),
        "new_words": _new_words(said.keys, [*asked.keys, *split_words(reference).keys]) > 1,
        "new_negation": _is_negative(said.keys) and not _is_negative([*known, *_yes_no(wanted.keys)]),
        "many_sentences": _sentences(answer) > max(1, _sentences(reference)),
        "too_long": len(said) > 1.5 * (len(asked) + len(wanted)) + _LONGEST_TAIL,
        "question_again": answer.rstrip("\"' ").endswith("?") or _opens_with(asked.keys, said.keys),
    }
    return tuple(name for name in CHECKS if found.get(name))


def _repeats(keys: Sequence[str]) -> bool:
    if any(len(set(keys[start : start + 4])) == 1 for start in range(len(keys) - 3)):
        return True
    stretches = Counter(zip(keys, keys[1:], keys[2:], strict=False))
    return max(stretches.values(), default=0) > 2


def _is_number(key: str) -> bool:
    return key in NUMBERS or any(char.isdigit() for char in key)


def _new(keys: Sequence[str], known: Collection[str], table: Collection[str]) -> bool:
    plain = {_singular(key) for key in known} | set(known)
    return any(
        (key in table or _singular(key) in table) and key not in plain and _singular(key) not in plain for key in keys
    )


def _singular(key: str) -> str:
    return key.removesuffix("s") if len(key) > 3 else key


def _is_new_name(said: Words, index: int, known: Collection[str]) -> bool:
    key, written = said.keys[index], said.as_written(index, 1)
    if not written[:1].isupper() or key in known or _singular(key) in known or f"{key}s" in known:
        return False
    return index > 0 or key not in OPENERS


def _new_words(keys: Sequence[str], known: Sequence[str]) -> int:
    """How many different words of content stand in neither; two words that begin with the same letters are one."""
    stems = {key[:_STEM] for key in known}
    return len({key for key in keys if len(key) > 3 and key not in FUNCTION_WORDS and key[:_STEM] not in stems})


def _is_negative(keys: Collection[str]) -> bool:
    return any(key in NEGATIONS or key.endswith("n't") for key in keys)


def _yes_no(keys: Sequence[str]) -> Sequence[str]:
    return ("not",) if tuple(keys) in (("false",), ("incorrect",)) else ()


def _sentences(text: str) -> int:
    """The number of sentences: full stops of abbreviations and initials end none."""
    count = 1
    for match in _SENTENCE_END.finditer(text.strip()):
        before = match[1].rstrip(".").lower().lstrip("(\"'")
        initial = len(before) == 1 and before.isalpha()
        if not (match[2].startswith(".") and (initial or before in ABBREVIATIONS or re.search(r"\w\.\w$", before))):
            count += 1
    return count


def _opens_with(question: Sequence[str], answer: Sequence[str]) -> bool:
    return len(question) > 3 and find(question, answer[: len(question)]) == 0
