"""Words that carry no content, light stems, and clauses: what the word-by-word rules share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from smile_lite.guards.lexer import Token

__all__ = ["AUXILIARIES", "FUNCTION_WORDS", "clauses", "is_content", "listed", "stem"]


def listed(words: str) -> tuple[str, ...]:
    """The words of a table that is written as text."""
    return tuple(words.split())


AUXILIARIES = frozenset(
    listed("is are was were be been being am do does did has have had can could will would shall should may might must")
)
FUNCTION_WORDS = AUXILIARIES | frozenset(
    listed(
        "a an the of in on at to for from by with as into onto upon about than that this these those it its "
        "he she they them his her hers their theirs we us our you your i me my mine who whom whose which what "
        "when where how why there here and or so such very really quite also just only even still already "
        "actually s"
    )
)
_CLAUSE_ENDS = frozenset('.!?;:,\n()[]"')
_CLAUSE_WORDS = frozenset(listed("but however although though yet whereas while because since unless except"))
_ENDINGS = ("ingly", "edly", "ing", "ed", "es", "s", "ly", "e")
_SHORTEST_STEM = 3
_IRREGULAR = {
    form: base
    for base, forms in {
        "win": "won", "lose": "lost", "rise": "rose risen", "fall": "fell fallen", "give": "gave given",
        "begin": "began begun", "grow": "grew grown",
        "shrink": "shrank shrunk", "go": "went gone", "take": "took taken",
        "write": "wrote written", "make": "made", "buy": "bought", "sell": "sold", "build": "built", "hold": "held",
        "find": "found", "become": "became", "come": "came", "see": "saw seen", "say": "said", "pay": "paid",
        "leave": "left", "keep": "kept", "lead": "led", "know": "knew known", "speak": "spoke spoken",
        "eat": "ate eaten",
        "break": "broke broken", "choose": "chose chosen", "drive": "drove driven", "fly": "flew flown",
        "send": "sent",
        "spend": "spent", "teach": "taught", "think": "thought", "meet": "met", "bring": "brought", "run": "ran",
        "sing": "sang sung", "swim": "swam swum", "forbid": "forbade forbidden", "withhold": "withheld",
    }.items()
    for form in forms.split()
}  # fmt: skip


def stem(word: str) -> str:
    """The word without its English inflection, roughly: covers, covered and covering are one."""
    word = _IRREGULAR.get(word, word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM and not word.endswith("ss"):
            word = word[: -len(ending)]
            if word[-1] == word[-2] and word[-1] not in "lsz":  # dropped, stopping
                word = word[:-1]
            break
    return f"{word[:-1]}y" if word.endswith("i") else word


def is_content(token: Token) -> bool:
    """Whether the token says something by itself."""
    return token.kind == "number" or (token.kind == "word" and token.text not in FUNCTION_WORDS)


def clauses(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """The stretches [first, end) between punctuation and words such as "but"."""
    first = 0
    for at, token in enumerate(tokens):
        ends = token.text in (_CLAUSE_ENDS if token.kind == "mark" else _CLAUSE_WORDS)
        if ends:
            if at > first:
                yield first, at
            first = at + 1
    if first < len(tokens):
        yield first, len(tokens)
