"""A synthetic answer by rule: question and reference turned into a statement, without a model. Deterministic.

English questions of common shapes become statements ("who wrote Middlemarch", "George Eliot" -> "George Eliot wrote
Middlemarch."); every other question is quoted with its answer behind it. The reference always stands in the result as
it was written. Change a rule, change `TEMPLATE_VERSION`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from smile_lite.text import sentence

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TEMPLATE_VERSION", "template_answer"]

TEMPLATE_VERSION = "t1"

_BE = "is|are|was|were"
_DETERMINERS = "the|a|an|this|that|these|those|my|your|his|her|its|our|their|some|all|both|each|every|another"
_PREPOSITIONS = (
    "in|on|at|by|near|from|to|of|for|about|after|before|during|since|until|within|under|over|between|around|outside|"
    "inside|behind|along|across|through|throughout|into|next|north|south|east|west|with|as|against|above|below|beside"
)
_VERBS = (  # where one of these comes first, the subject of a question with an auxiliary ends
    "come|came|start|started|begin|began|end|ended|die|died|happen|happened|take|took|win|won|go|went|get|got|become|"
    "became|move|moved|open|opened|close|closed|join|joined|leave|left|live|lived|grow|grew|originate|originated|make|"
    "made|play|played|sing|sang|write|wrote|direct|directed|invent|invented|discover|discovered|sign|signed|found|"
    "founded|build|built|release|released|hold|held|use|used|film|filmed|locate|located|bear|born|bury|buried|set|"
    "shoot|shot|establish|established|create|created|produce|produced|introduce|introduced|host|hosted|elect|elected|"
    "air|aired|publish|published|form|formed|meet|met|marry|married|landed|fall|fell|rise|rose|occur|occurred|"
    "change|changed|buy|bought|sell|sold|lose|lost|declare|declared|adopt|adopted|pass|passed|ratify|ratified|leave|"
    "has|have|had|holds|makes|plays|sings|uses|owns|lives|runs|wins|gets|comes|takes|gives|contains|covers|stands"
)
_SUBJECT = rf"(?:(?:{_DETERMINERS})\s+)?(?!(?:{_DETERMINERS})\s)\S+.*?"
_STRANDED = re.compile(rf".*\s(?:{_PREPOSITIONS}|called|named|like|mean|stand)$", re.IGNORECASE)
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_DAY = re.compile(rf"(?:(?:{_MONTHS})\s+\d{{1,2}}\b|\d{{1,2}}(?:st|nd|rd|th)?\s+(?:{_MONTHS}))", re.IGNORECASE)
_YEAR_OR_MONTH = re.compile(rf"(?:the\s+)?(?:\d{{3,4}}\b|(?:{_MONTHS})\b)", re.IGNORECASE)
_POLITE = re.compile(r"(?:(?:please|can|could) (?:you )?)?(?:tell me|do you know) (?=wh|how)", re.IGNORECASE)


def template_answer(question: str | None, reference: str) -> str:
    """One statement that holds the reference; the reference alone where there is no question."""
    wanted = sentence(reference)
    asked = _POLITE.sub("", sentence(question or "").rstrip(" ?？!.").strip())
    if not asked or not wanted:
        return wanted
    if not re.match(r"[A-Za-z\"'0-9]", asked):
        return f"{sentence(question or '')} {wanted}"
    for pattern, build in _RULES:
        if (match := pattern.fullmatch(asked)) and (built := build(match, wanted)):
            return _closed(built)
    return _closed(f'The answer to "{asked}" is {wanted}')


def _closed(text: str) -> str:
    """A capital in front, and one full stop behind."""
    return (text[0].upper() if text[0].isascii() else text[0]) + text[1:] + ("" if text[-1] in ".!?。" else ".")


def _of_be(match: re.Match[str], reference: str) -> str:
    """What is the capital of France -> the capital of France is; who was elected in 1997 -> was elected in 1997."""
    rest, be = match["rest"], match["be"]
    if _STRANDED.match(rest):
        return ""
    if match["wh"].lower() == "who" and not re.match(rf"(?:{_DETERMINERS})\s|[A-Z]", rest):
        return f"{reference} {be} {rest}"
    return f"{rest} {be} {reference}"


def _as_subject(match: re.Match[str], reference: str) -> str:
    return f"{reference} {match['rest']}"


def _of_time(match: re.Match[str], reference: str) -> str:
    return f"{match['subject']} {match['aux']} {match['rest']} {_when(reference)}"


def _of_place(match: re.Match[str], reference: str) -> str:
    return f"{match['subject']} {match['aux']} {match['rest']} {_where(reference)}"


def _of_where(match: re.Match[str], reference: str) -> str:
    return "" if _STRANDED.match(match["rest"]) else f"{match['rest']} {match['be']} {_where(reference)}"


def _of_count(match: re.Match[str], reference: str) -> str:
    there = "there is" if re.fullmatch(r"(?:1|one|a|an)\b.*", reference, re.IGNORECASE) else "there are"
    return f"{there} {reference} {match['what']} {match['rest'] or ''}".rstrip()


def _of_measure(match: re.Match[str], reference: str) -> str:
    return "" if _STRANDED.match(match["rest"]) else f"{match['rest']} {match['be']} {reference}"


def _when(reference: str) -> str:
    if _DAY.match(reference):
        return f"on {reference}"
    return f"in {reference}" if _YEAR_OR_MONTH.match(reference) else reference


def _where(reference: str) -> str:
    return reference if re.match(rf"(?:{_PREPOSITIONS})\b", reference, re.IGNORECASE) else f"in {reference}"


def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_RULES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], str], str]], ...] = (
    (_rule(rf"(?P<wh>who|what|which)\s+(?P<be>{_BE})\s+(?P<rest>.+)"), _of_be),
    (_rule(r"who\s+(?P<rest>(?!do\b|does\b|did\b|['’]).+)"), _as_subject),
    (_rule(rf"(?:what|which)\s+(?!(?:year|date|day|month|time)\b)\w+\s+(?P<rest>(?:{_VERBS}|{_BE})\s.+)"), _as_subject),
    (_rule(rf"(?:when|(?:in\s+)?(?:what|which)\s+(?:year|date|day|month))\s+(?P<aux>did|does|do|{_BE})\s+(?P<subject>{_SUBJECT})\s+"
           rf"(?P<rest>(?:{_VERBS})\b.*)"), _of_time),
    (_rule(rf"where\s+(?P<aux>did|does|do|{_BE})\s+(?P<subject>{_SUBJECT})\s+(?P<rest>(?:{_VERBS})\b.*)"), _of_place),
    (_rule(rf"where\s+(?P<be>{_BE})\s+(?P<rest>.+)"), _of_where),
    (_rule(rf"how\s+many\s+(?P<what>.+?)\s+(?:{_BE})(?:\s+there)?(?:\s+(?P<rest>.+))?"), _of_count),
    (_rule(r"how\s+many\s+(?P<what>(?:\w+\s+){0,3}?\w+)\s+(?P<rest>(?:in|on|per)\s.+)"), _of_count),
    (_rule(rf"how\s+(?:old|tall|long|far|deep|big|high|heavy|fast|wide|large|hot|cold)\s+(?P<be>{_BE})\s+(?P<rest>.+)"),
     _of_measure),
)  # fmt: skip
