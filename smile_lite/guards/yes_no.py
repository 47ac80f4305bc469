"""Yes or no: which of them a reference is, and which a prediction answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from smile_lite.guards.lexer import text_at
from smile_lite.guards.negation import is_negator, negators
from smile_lite.guards.words import AUXILIARIES, clauses, is_content, listed, stem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smile_lite.guards.lexer import Token

__all__ = ["yes_no_flags"]


class Pair(NamedTuple):
    """The words for yes and for no of one language, or of one way to ask."""

    yes: frozenset[str]
    no: frozenset[str]


def _pair(yes: str, no: str) -> Pair:
    return Pair(frozenset(yes.split()), frozenset(no.split()))


_YES_NO = _pair("yes yeah yep yup yea", "no nope nah")
_TRUE_FALSE = _pair("true correct", "false incorrect untrue")
_OTHER_LANGUAGES = (
    _pair("oui", "non"),
    _pair("sí si", "no"),
    _pair("sì si", "no"),
    _pair("sim", "não nao"),
    _pair("ja jawohl", "nein"),
    _pair("ja", "nee"),
    _pair("ja", "nej nei"),
    _pair("да", "нет"),
    _pair("так", "ні"),
    _pair("tak", "nie"),
    _pair("はい ええ", "いいえ いや"),
    _pair("是的 是", "不是 不 否"),
    _pair("네 예", "아니요 아니오"),
    _pair("evet", "hayır"),
    _pair("हाँ हां", "नहीं"),
    _pair("نعم", "لا"),
)
_LEADING = frozenset(
    listed(
        "well so oh um hmm ok okay unfortunately sadly honestly apparently the final correct short my answer is would "
        'be response conclusion verdict therefore thus hence and but then actually in : , " * # - ( = >'
    )
)
_STATED_BY = frozenset(listed("answer answers conclusion verdict response statement claim"))
_IS = frozenset(listed("is was be would are : = probably clearly definitely still a simple therefore"))
_BEGINS_CLAUSE = frozenset(".,;:!?\n\"()*-–>'") | frozenset(listed("but so therefore thus hence and actually then"))
# Behind a "no" that is an answer, not the determiner of a noun ("no man is").
_BEHIND_NO = frozenset(
    listed(
        "it it's he he's she she's they they're we you you're i i'm this that that's there there's these "
        "those the because but since as not however according although though in only if"
    )
)
_I_SAY = frozenset(listed("i would d i'd must to we can"))
_SURELY = frozenset(listed("definitely absolutely certainly surely course indeed affirmative"))
_REFUSED = ("not at all", "probably not", "not really", "i don't think so", "i doubt it", "by no means", "no way")
_PRONOUNS = frozenset(listed("it he she they we you i this that there these those"))
_LONGEST_SHORT_ANSWER = 4
_FURTHEST_STATEMENT = 6


def yes_no_flags(question: Sequence[Token], reference: Sequence[Token], prediction: Sequence[Token]) -> set[str]:
    """The flags where the reference is yes or no (true or false): alone, or before a comma or full stop."""
    pairs, wanted = _asked(reference)
    if not pairs:
        return set()
    votes = _votes(prediction, pairs)
    if not votes and pairs[0] is _TRUE_FALSE:
        votes = _votes(prediction, [_YES_NO])
    elif not votes and _YES_NO in pairs:
        votes = _votes(prediction, [_TRUE_FALSE]) or _implied(question, prediction)
    if len(votes) == 2:
        return {"yes_no_both"}
    return {"yes_no_opposite"} if votes == {not wanted} else set()


def _asked(reference: Sequence[Token]) -> tuple[list[Pair], bool]:
    """The pairs that the reference's word belongs to, and whether it says yes."""
    words = [token for token in reference if token.kind != "mark"]
    if not words or reference[0].kind == "mark":
        return [], False
    word, alone = words[0].text, len(words) == 1
    if not alone and reference[1].text not in (",", ".", ";", ":", "!", "-", "\n"):
        return [], False
    if not alone and word not in ("yes", "no", "true", "false"):
        return [], False
    pairs = [pair for pair in (_TRUE_FALSE, _YES_NO) if word in pair.yes | pair.no]
    if alone:
        pairs += [pair for pair in _OTHER_LANGUAGES if word in pair.yes | pair.no]
    return pairs, any(word in pair.yes for pair in pairs)


def _votes(prediction: Sequence[Token], pairs: Sequence[Pair]) -> set[bool]:
    yes = frozenset().union(*(pair.yes for pair in pairs))
    no = frozenset().union(*(pair.no for pair in pairs)) - yes
    found: set[bool] = set()
    adjective = pairs[0] is _TRUE_FALSE
    lead = next((at for at, token in enumerate(prediction) if token.text not in _LEADING), 0)
    for at, token in enumerate(prediction):
        if (token.text in yes or token.text in no) and _is_answer(prediction, at, lead, adjective=adjective):
            flipped = adjective and at > 0 and is_negator(prediction, at - 1)
            found.add((token.text in yes) != flipped)
    return found | _assured(prediction, lead)


def _assured(prediction: Sequence[Token], lead: int) -> set[bool]:
    """What a head such as these says: "Certainly.", "Of course not", "Not at all", "I don't think so"."""
    head = " ".join(token.text for token in prediction[lead : lead + 4])
    if head.startswith(_REFUSED):
        return {False}
    words = head.split()
    at = 1 if words[:1] == ["of"] else 0
    if at < len(words) and words[at] in _SURELY and (at or words[at] != "course"):
        behind = words[at + 1] if at + 1 < len(words) else "."
        return {False} if behind == "not" else {True} if behind in ".,!;" else set()
    return set()


def _is_answer(tokens: Sequence[Token], at: int, lead: int, *, adjective: bool) -> bool:
    """Whether the word at `at` answers: it leads, begins a clause, or is what "the answer is"."""
    behind = tokens[at + 1] if at + 1 < len(tokens) else None
    ends = behind is None or behind.kind == "mark"
    before = tokens[at - 1].text if at else "."
    if adjective:
        negated = at > 0 and is_negator(tokens, at - 1)
        return ends and (at == lead or before in _BEGINS_CLAUSE or before in AUXILIARIES or negated)
    if _is_stated(tokens, at):
        return True
    if tokens[at].text == "no" and not ends and behind is not None and behind.text not in _BEHIND_NO:
        return False
    if behind is not None and ((behind.text == "-" and not behind.gap) or (tokens[at].text == "si" and not ends)):
        return False
    said = before == "say" and text_at(tokens, at - 2) in _I_SAY  # but not "some say no"
    return at == lead or before in _BEGINS_CLAUSE or said


def _is_stated(tokens: Sequence[Token], at: int) -> bool:
    """Whether it is in words such as: the (final) answer is no."""
    place = at - 1
    while place >= 0 and at - place < _FURTHEST_STATEMENT and tokens[place].text in _IS:
        place -= 1
    return place < at - 1 and place >= 0 and tokens[place].text in _STATED_BY


def _implied(question: Sequence[Token], prediction: Sequence[Token]) -> set[bool]:
    """What a statement without yes or no answers: "It isn't.", or the question's own words affirmed or negated."""
    words = [token for token in prediction if token.kind != "mark"]
    if (
        1 < len(words) <= _LONGEST_SHORT_ANSWER
        and words[0].text in _PRONOUNS
        and not any(is_content(token) and token.text != "not" for token in words[2:])
    ):
        auxiliary = words[1].text.removesuffix("n't")
        if auxiliary in AUXILIARIES or words[1].text.endswith("n't"):
            return {not negators(prediction, 0, len(prediction))}
    asked = {stem(token.text) for token in question if is_content(token)}
    if len(asked) < 2 or negators(question, 0, len(question)) or _offers_choice(question):
        return set()
    for first, end in clauses(prediction):
        if asked <= {stem(token.text) for token in prediction[first:end]}:
            return {len(negators(prediction, first, end)) % 2 == 0}
    return set()


def _offers_choice(question: Sequence[Token]) -> bool:
    begins = question[0].text if question else ""
    return begins not in AUXILIARIES
