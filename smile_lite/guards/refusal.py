"""Refusals. Only where nothing else is said: "I'm not sure, but it is Paris" is an answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from smile_lite.guards.words import FUNCTION_WORDS, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from smile_lite.guards.lexer import Token

__all__ = ["declines"]

_LONGEST_REFUSAL = 150  # tokens; who says more than that says something
_WHOLE = frozenset(
    (
        "unknown",
        "n / a",
        "na",
        "no answer",
        "unanswerable",
        "no idea",
        "no comment",
        "not sure",
        "not known",
        "pass",
        "idk",
    )
)
_SHORTHAND = {
    "CANNOT": "(?:do not|don't|dont|did not|didn't|cannot|can't|cant|can not|could not|couldn't|am not|'m not|will not"
    "|won't|would not|wouldn't|am unable to|unable to|not able to|am not able to)",
    "ANSWER": "(?:know|help|assist|answer|find|provide|determine|have|say|tell|be sure|be certain|access|see|give"
    "|comply|discuss|share|fulfill?|identify|confirm|verify|recall|remember|predict|understand|comment|respond|offer"
    "|engage|reveal|speculate|disclose|complete|do that|do this|possess|able to|sure|certain|aware|familiar)",
    "FACTS": "(?:information|data|context|evidence|details)",
    "SOURCE": "(?:context|text|passage|documents?|article|question|information|sources?|results?)",
    "TOLD": "(?:known|available|clear|specified|mentioned|provided|stated)",
}
# One pattern a line, over the words of a part with single spaces between; the words in capitals are above.
_REFUSING_LINES = r"""
\b(?:i|we) (?:(?:\w+ly|still|just|am|are) )?CANNOT (?:\w+ly |even |quite |be |able to )?ANSWER\b
^(?:i am|i'm|im|we are|we're)? ?(?:very |so |truly |really )?(?:sorry|afraid not)$
\b(?:i|we) (?:must )?(?:apologi[sz]e|decline|refuse)\b
\b(?:i|we) (?:will not|won't|cannot|can't|would rather not) (?:do|answer|say)\b
\bi'd rather not\b
^my apologies\b
\bbeyond my (?:\w+ )?(?:capabilities|abilities|knowledge|scope|expertise)\b
\b(?:i|we) (?:have|had) no (?:idea|information|knowledge|clue|data|access|way)\b
\bi'm (?:unable to|not able to|not sure|not certain|not aware|not familiar)\b
^(?:unable|not able) to \w+
\b(?:not enough|insufficient) (?:\w+ )?FACTS\b
\bno (?:\w+ )?(?:information|idea|clue)\b
^(?:it|that|this|the \w+|(?:that|this) information) is (?:currently )?(?:not TOLD|unknown|unclear|unavailable)$
^(?:it|that|this|the \w+) is (?:currently )?not in the SOURCE$
^it's (?:not TOLD|unknown|unclear)$
^not (?:specified|available|provided|mentioned|stated|determined|enough information)\b
^(?:cannot|can't) (?:be )?(?:determined|determine|answer|answered|say|tell)\b
\b(?:cannot|can't|can not|could not|couldn't) be (?:\w+ly )?(?:determined|answered|found|known|established)\b
\b(?:it is|it's|is) (?:\w+ )?(?:impossible|not possible) (?:for me )?to (?:\w+ly )?ANSWER\b
\bSOURCE (?:provided |given )?(?:does not|doesn't|do not|don't) (?:\w+ly )?(?:mention|contain|specify|state|include)\b
\bSOURCE (?:provided |given )?(?:does not|doesn't|do not|don't) (?:\w+ly )?ANSWER\b
\b(?:is|are|was) not (?:\w+ly )?(?:given|TOLD) in the\b
"""
_NEUTRAL_LINES = r"""
^(?:so |therefore |if so )?(?:please|kindly|let me know|feel free|thank|i hope|hope this|for more|for the latest)\b
^(?:try|check|consider|would you|could you|can you|may i|how (?:else|can)|what (?:else|would)|is there|do you)\b
^(?:i|i'd|i would) (?:would )?(?:strongly )?(?:recommend|suggest|advise)\b
^(?:it is|it's|it would be|it may be|it might be) (?:best|recommended|better|advisable|helpful|important)\b
^(?:you|you'd|you'll) (?:may|might|can|could|should|would|will)? ?(?:also |want to |need to |like to |try )*\
(?:check|try|refer|consult|visit|find|contact|look|search|ask|provide|be able)\b
^(?:if you|if there|without|this requires|my (?:knowledge|training|last|responses))\b
^(?:i am|i'm) (?:still learning|here to|happy to|only able|designed|programmed)\b
^(?:i am|i'm)? ?sorry for\b
^(?:i|we) (?:appreciate|need|only|can only|would need|'d need|require)\b
"""


def _patterns(lines: str) -> tuple[re.Pattern[str], ...]:
    lines = lines.replace("\\\n", "")
    for short, words in _SHORTHAND.items():
        lines = lines.replace(short, words)
    return tuple(re.compile(line) for line in lines.split("\n") if line)


_REFUSING, _NEUTRAL = _patterns(_REFUSING_LINES), _patterns(_NEUTRAL_LINES)
_SPEAKER = re.compile(
    r"^(?:(?:i am|i'm|im) (?:very |so |truly )?(?:sorry|afraid) )?"
    r"(?:as|i am|i'm) (?:just |only )?an? (?:ai|artificial intelligence|(?:large )?language model)(?: language)?"
    r"(?: model| assistant| chatbot)*(?: (?:developed|created|trained|made) by \w+)?(?: and)?(?: |$)"
)
_GUESSING = frozenset(listed("maybe perhaps probably possibly guess likely believe"))
_BREAKS = frozenset((".", "!", "?", "\n", ";", ":", "but", "however", "although", "though", "that said"))
_FILLERS = frozenset(
    listed(
        "sorry unfortunately regrettably sadly honestly thanks thank you hello hi hmm well no so therefore "
        "however at this time i'm i am my apologies currently personally frankly actually that said"
    )
)


def declines(tokens: Sequence[Token]) -> bool:
    """Whether every part of a text refuses, or is what goes with a refusal, and at least one refuses."""
    if not tokens or len(tokens) > _LONGEST_REFUSAL:
        return False
    parts = list(_parts(tokens))
    if " ".join(parts) in _WHOLE:
        return True
    kinds = {_kind(part) for part in parts}
    return "refusing" in kinds and "saying" not in kinds


def _kind(part: str) -> str:
    """What one part of a text does: "refusing", "neutral" or "saying" something."""
    part = _SPEAKER.sub("", part.strip(" ,")).strip(" ,")
    first, comma, _ = part.partition(" , ")
    words = part.replace(" , ", " ")
    if not _GUESSING.isdisjoint(words.split()):
        return "saying"
    if not words.strip():
        return "refusing"  # nothing behind "as an AI"
    if (
        comma
        and first.split()[0] not in FUNCTION_WORDS | _FILLERS
        and not (_is_like(_REFUSING, first) or _is_like(_NEUTRAL, first))
    ):
        return "saying"  # "Lille, I don't know why"
    if _is_like(_REFUSING, words):
        return "refusing"
    return "neutral" if _is_like(_NEUTRAL, words) or _FILLERS.issuperset(words.split()) else "saying"


def _is_like(patterns: Iterable[re.Pattern[str]], words: str) -> bool:
    return any(pattern.search(words) for pattern in patterns)


def _parts(tokens: Sequence[Token]) -> Iterator[str]:
    part: list[str] = []
    for token in tokens:
        if token.text in _BREAKS:
            if part:
                yield " ".join(part)
            part = []
        elif token.kind != "mark" or token.text in "/',":
            part.append(token.text)
    if part:
        yield " ".join(part)
