"""Characters: one spelling for those that mean the same, with the way back to the text as it was written.

Folding is Unicode's NFKC_Casefold (UAX #44) with what a grader needs beside it: digits of every script become
ASCII, superscripts become powers (x² is x^2, not x2), fractions keep their distance (2½ is 2 1/2, not 21/2), and
punctuation outside ASCII becomes its ASCII relative or a space.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

__all__ = ["fold", "sentence"]

_IGNORABLE = re.compile(  # default ignorable code points (DerivedCoreProperties) that are not in category Cf
    "[\u034f\u0640\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8™®℠\U000e0100-\U000e01ef]"
)
_APOSTROPHES = frozenset("‘’‚‛ʼ＇´′")
_QUOTES = frozenset("“”„‟«»‹›〝〞〟″")
_HYPHENS = frozenset("‐‑‒–⁃−﹣－")
_SPELLED = {"⁄": "/", "∕": "/", "٫": ".", "٬": ",", "‿": "_", "⁀": "_", "‰": "‰", "‱": "‱"}
# More marks than this on one base (Unicode's stream-safe limit) are folded apart, which keeps the work linear.
_LONGEST_SEQUENCE = 32
_DIGIT_SPACES = frozenset("\u2007\u2009\u202f")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACES = re.compile(r"\s+")


def sentence(text: str) -> str:
    """`text` as it goes to the encoder: composed, without format characters, spaces collapsed, lone surrogates
    replaced. Case and punctuation stay: they are the tokenizer's business.
    """
    if text.isascii():
        return _SPACES.sub(" ", text).strip()
    kept = "".join(char for char in _SURROGATE.sub("\ufffd", text) if not _is_ignorable(char))
    return _SPACES.sub(" ", unicodedata.normalize("NFC", kept)).strip()


def fold(text: str) -> tuple[str, list[int] | range]:
    """Fold `text`; also the index in `text` from which each folded character came, with `len(text)` at the end."""
    if text.isascii():
        return text.lower(), range(len(text) + 1)
    folded: list[str] = []
    origin: list[int] = []
    start, length, in_power = 0, len(text), False
    while start < length:
        end = start + 1
        while end < length and end - start < _LONGEST_SEQUENCE and _extends(text[end]):
            end += 1
        piece = _fold_sequence(text[start:end])
        if text[start] in _DIGIT_SPACES and text[start - 1 : start].isdigit() and text[end : end + 3].isdigit():
            piece = "'"  # 10 000 with a thin space is one number, written as 10'000
        power = piece.startswith("^") and len(piece) > 1
        if power and in_power:
            piece = piece[1:]
        in_power = power
        folded.append(piece)
        origin.extend([start] * len(piece))
        start = end
    origin.append(length)
    return "".join(folded), origin


@lru_cache(maxsize=16384)
def _extends(char: str) -> bool:
    """Whether `char` belongs to the one before it: a mark, also a half-width one, a vowel or final of a Hangul
    syllable.
    """
    if char < "\u0300":
        return False
    return (
        unicodedata.category(char)[0] == "M"
        or char in "\uff9e\uff9f"
        or "\u1160" <= char <= "\u11ff"
        or "\ud7b0" <= char <= "\ud7fb"
    )


@lru_cache(maxsize=16384)
def _fold_sequence(sequence: str) -> str:
    if sequence.isascii():
        return sequence.lower()
    first = sequence[0]
    decomposition = unicodedata.decomposition(first)
    composed = unicodedata.normalize("NFKC", "".join(char for char in sequence if not _is_ignorable(char)))
    folded = unicodedata.normalize("NFKC", composed.casefold()).replace("i\u0307", "i")  # İstanbul is istanbul
    spelled = "".join(map(_spell, folded))
    if decomposition.startswith("<super>") and spelled[:1] in "0123456789+-":
        return f"^{spelled}"
    if decomposition.startswith("<fraction>"):
        return f" {spelled}"
    return spelled


@lru_cache(maxsize=16384)
def _spell(char: str) -> str:
    if char.isascii():
        return char
    if _is_ignorable(char):
        return ""
    if char in _SPELLED:
        return _SPELLED[char]
    if char in _APOSTROPHES:
        return "'"
    if char in _QUOTES:
        return '"'
    if char in _HYPHENS:
        return "-"
    category = unicodedata.category(char)
    if category == "Nd":
        return str(unicodedata.decimal(char))
    if category == "Cs":
        return "\ufffd"
    return " " if category[0] in "PZ" or category == "Cc" else char


@lru_cache(maxsize=16384)
def _is_ignorable(char: str) -> bool:
    return not char.isascii() and (unicodedata.category(char) == "Cf" or _IGNORABLE.fullmatch(char) is not None)
