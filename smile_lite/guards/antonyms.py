"""A word of the reference replaced by its opposite, with the words around it kept."""

from __future__ import annotations

from collections import defaultdict
from math import ceil
from typing import TYPE_CHECKING

from smile_lite.guards.negation import is_negator
from smile_lite.guards.words import is_content, stem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from smile_lite.guards.lexer import Token
    from smile_lite.guards.side import Side

__all__ = ["antonym"]

# Groups are divided by "|": the first word against the others, or those before "/" against those behind it.
# Between two things: "X is larger than Y" is "Y is smaller than X", so what stands on which side counts.
_RELATIONS = """
larger smaller lesser | bigger smaller | greater smaller less lesser fewer | more less fewer | higher lower | taller
shorter | longer shorter | older younger newer | earlier later | faster slower | quicker slower | stronger weaker |
heavier lighter | deeper shallower | wider narrower | thicker thinner | better worse | richer poorer | hotter colder
cooler | warmer colder cooler | closer farther further | nearer farther further | cheaper costlier | safer riskier |
before after | precedes follows | preceded followed | above below | over under | exceeds
"""
_PLAIN = """
more fewer less | most least fewest | maximum minimum | max min | highest lowest | largest smallest | biggest smallest
| greatest smallest least | tallest shortest | longest shortest | oldest youngest newest | earliest latest | fastest
slowest | strongest weakest | best worst | high low | large small | big small | long short | strong weak | increase
rise rose risen grow grew grown climb soar raise / decrease reduce decline fall fell fallen drop shrink shrank lower |
expand / contract shrink shrank | gain / lose lost loss | profit / loss | win won / lose lost | winner loser | victory
defeat | succeed succeeded success successful / fail failed failure unsuccessful | give gave given administer /
withhold withheld | continue / discontinue stop | start begin began begun / stop end finish | beginning end | first /
last final | open close closed | opened closed | opening closing | accept reject refuse | accepted rejected refused |
approve reject disapprove | approved rejected | allow forbid prohibit ban disallow | allowed forbidden prohibited
banned | permit forbid prohibit | permitted prohibited forbidden | include exclude | included excluded | agree
disagree | support oppose | supported opposed | add remove subtract | buy sell | bought sold | buyer seller | import
export | lend borrow | push pull | enter exit leave | arrive depart | arrival departure | attack defend | love hate |
hire fire | encourage discourage | enable disable | activate deactivate inhibit | on off | up down | top bottom |
upper lower | inside outside | internal external | interior exterior | inner outer | north south east west | northern
southern | eastern western | left right | forward backward backwards | clockwise counterclockwise anticlockwise |
front back rear | ascending descending | positive negative | even odd | true false | correct incorrect wrong | right
wrong | safe unsafe | safe dangerous | legal illegal | lawful unlawful | possible impossible | likely unlikely | able
unable | known unknown | stable unstable | equal unequal | healthy unhealthy | happy unhappy sad | alive dead | born
died | male female | man woman | men women | boy girl | king queen | husband wife | son daughter | brother sister |
mother father | hot cold | wet dry | solid liquid | light dark heavy | full empty | hard soft | early late | young old
| rich poor | public private | active inactive passive | present absent | benign malignant | acute chronic | guilty
innocent | acidic alkaline basic | major minor | always never | everyone nobody | everything nothing | all none | day
night | summer winter | morning evening | sunrise sunset | enemy friend ally | ally enemy | offense defense | supply
demand | cause prevent
"""
_MOST_PLACES = 64
_WINDOW = 60
_SHORT_ANSWER = 12
_LEAST_SHARE = 0.75


def _opposites(table: str) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for group in table.split("|"):
        side, slash, other_side = group.partition("/")
        words = [stem(word) for word in side.split()]
        others = [stem(word) for word in other_side.split()] if slash else words[1:]
        for word in words if slash else words[:1]:
            for other in others:
                found[word].add(other)
                found[other].add(word)
    return {word: frozenset(others) for word, others in found.items()}


_OPPOSITE_RELATIONS = _opposites(_RELATIONS)
_OPPOSITES = _opposites(_PLAIN)


def antonym(reference: Side, prediction: Side) -> bool:
    """Whether a word of the reference is missing and one of its opposites stands in its place.

    A relation ("smaller than") needs the words around it on the same sides; any other word its neighbour and three
    quarters of the rest. Where one side is negated as well, the two may cancel: no flag.
    """
    wanted = _telling(reference, 0, _WINDOW)
    for at, word in enumerate(wanted):
        relations = _OPPOSITE_RELATIONS.get(word, frozenset())
        others = relations | _OPPOSITES.get(word, frozenset())
        if not others or word in prediction.places or _is_negated(reference.tokens, at):
            continue
        for other in sorted(others - set(wanted)):
            for place in prediction.places.get(other, ())[:_MOST_PLACES]:
                if not _is_negated(prediction.tokens, place) and _stands_in_place(
                    wanted, at, prediction, place, strict=other in relations
                ):
                    return True
    return False


def _telling(side: Side, first: int, end: int) -> list[str]:
    """The stem of each token that is content or has an opposite, "" for the others."""
    first, end = max(0, first), min(end, len(side.tokens))
    return [
        word if is_content(token) or word in _OPPOSITES or word in _OPPOSITE_RELATIONS else ""
        for token, word in zip(side.tokens[first:end], side.stems[first:end], strict=True)
    ]


def _stands_in_place(wanted: Sequence[str], at: int, prediction: Side, place: int, *, strict: bool) -> bool:
    before, behind = _content(wanted[:at]), _content(wanted[at + 1 :])
    near_before = _content(_telling(prediction, place - _WINDOW, place))
    near_behind = _content(_telling(prediction, place + 1, place + _WINDOW))
    rest = len(before) + len(behind)
    if not rest:
        return len(prediction.tokens) <= _SHORT_ANSWER
    if strict:
        met = len(set(before) & set(near_before)) + len(set(behind) & set(near_behind))
        return met >= ceil(_LEAST_SHARE * len(set(before)) + _LEAST_SHARE * len(set(behind)))
    neighbours = (before[-1:] == near_before[-1:] and before) or (behind[:1] == near_behind[:1] and behind)
    met = len({*before, *behind} & {*near_before, *near_behind})
    return bool(neighbours) and met >= ceil(_LEAST_SHARE * len({*before, *behind}))


def _content(stems: Sequence[str]) -> list[str]:
    return [word for word in stems if word]


def _is_negated(tokens: Sequence[Token], at: int) -> bool:
    return any(is_negator(tokens, before) for before in range(max(0, at - 4), at))
