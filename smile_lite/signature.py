"""The name of a score: everything that decides the number, on one line. Two results compare only where it is the
same.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["FALLBACK", "Signature", "differences", "short"]

FALLBACK = "max(ref,question+ref)"


@dataclass(frozen=True, slots=True)
class Signature:
    """The fields of a signature, in their order.

    w: weight of the semantic part. em: exact match. syn: where the synthetic answer came from ("given", or the
    fallback: the nearer of the reference alone and question + reference). markup: version of the rules that
    take an answer out of its markup, or off. words: version of the word rules. refs: how
    several references become one. empty: what an empty prediction scores. model, prec: encoder and arithmetic. len:
    tokens a text is cut to, with "window" where a long prediction is compared piece by piece instead. verdict: how a
    score becomes a verdict. guards: version of the flags where they have a say in it, or off. v: version of smile-lite.
    """

    metric: str
    w: str
    em: str
    syn: str
    markup: str
    words: str
    refs: str
    empty: str
    model: str
    prec: str
    len: str
    verdict: str
    guards: str
    v: str

    def __str__(self) -> str:
        rest = (f"{field.name}:{getattr(self, field.name)}" for field in fields(self)[1:])
        return "|".join(("smile-lite", self.metric, *rest))


def short(number: float) -> str:
    """A number in as few digits as name it alone: 0.3, 1."""
    return repr(float(number)).removesuffix(".0")


def differences(a: str, b: str) -> list[str]:
    """The fields in which two signatures differ, as "name: this, that"; empty where they compare."""
    left, right = _parts(a), _parts(b)
    names = list(dict.fromkeys((*left, *right)))
    return [
        f"{name}: {left.get(name, 'absent')}, {right.get(name, 'absent')}"
        for name in names
        if left.get(name) != right.get(name)
    ]


def _parts(signature: str) -> dict[str, str]:
    head, metric, *rest = ([*signature.split("|"), "", ""])[: max(2, signature.count("|") + 1)]
    named = (part.partition(":") for part in rest)
    return {"program": head, "metric": metric, **{name: value for name, _, value in named}}
