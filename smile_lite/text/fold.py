"""Characters: one spelling for those that mean the same, with the way back to the text as it was written.

Folding is Unicode's NFKC_Casefold (UAX #44) with what a grader needs beside it: digits of every script become
ASCII, the vowel points of Arabic and Hebrew are left out, superscripts become powers (x² is x^2, not x2), fractions
keep their distance (2½ is 2 1/2, not 21/2), and punctuation outside ASCII becomes its ASCII relative or a space.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from smile_lite.text.scripts import ACCENTS, EMOJI

__all__ = ["fold", "sentence"]

_IGNORABLE = re.compile(  # default ignorable code points (DerivedCoreProperties) that are not in category Cf
    "[\u034f\u0640\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8™®℠\U000e0100-\U000e01ef]"
)
_APOSTROPHES = frozenset("‘’‚‛ʼʻʽꞌ＇´′׳")
_QUOTES = frozenset("“”„‟«»‹›〝〞〟″״")
_HYPHENS = frozenset("‐‑‒–⁃−﹣－")
_SPELLED = {"⁄": "/", "∕": "/", "٫": ".", "٬": ",", "٪": "%", "‿": "_", "⁀": "_", "‰": "‰", "‱": "‱", "⠀": " "}
_SPELLED |= {"ی": "ي", "ک": "ك"}  # Persian keyboards and Arabic ones write the same words with different letters
_SPELLED_FIRST = {"˚": "°"}  # before NFKC, which would make a space with a ring of it
# More marks than this on one base (Unicode's stream-safe limit) are folded apart, which keeps the work linear.
_LONGEST_SEQUENCE = 32
_FIRST_MARK = "\u0300"  # nothing before it in Unicode belongs to the character in front of it
_DIGIT_SPACES = frozenset("\u00a0\u2007\u2009\u202f")
_OPTIONAL_MARKS = re.compile(f"[{ACCENTS}]+")
_EMOJI = re.compile(f"[{EMOJI}]")
_JOINER, _TAGS = "\u200d", ("\U000e0020", "\U000e007f")
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
        while end < length and text[end] >= _FIRST_MARK and (_extends(text[end]) or _joins(text, start, end)):
            end += 1
            if end - start == _LONGEST_SEQUENCE:
                break
        piece = _fold_sequence(text[start:end])
        if text[start] in _DIGIT_SPACES and text[start - 1 : start].isdigit() and _are_three_digits(text, end):
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
    return (
        unicodedata.category(char)[0] == "M"
        or char in "\uff9e\uff9f"
        or "\u1160" <= char <= "\u11ff"
        or "\ud7b0" <= char <= "\ud7fb"
    )


def _joins(text: str, start: int, end: int) -> bool:
    """Whether `text[end]` holds the emoji that began at `start` together: a joiner, what it joins, a tag of a flag."""
    char = text[end]
    if char == _JOINER:
        return _EMOJI.match(text, end + 1) is not None and _EMOJI.match(text, start) is not None
    if text[end - 1] == _JOINER:
        return end - start > 1
    return _TAGS[0] <= char <= _TAGS[1] and _EMOJI.match(text, start) is not None


def _are_three_digits(text: str, at: int) -> bool:
    return text[at : at + 3].isdigit() and len(text) >= at + 3 and not text[at + 3 : at + 4].isdigit()


@lru_cache(maxsize=16384)
def _fold_sequence(sequence: str) -> str:
    if sequence.isascii():
        return sequence.lower()
    first = sequence[0]
    if len(sequence) > 1 and _EMOJI.match(first):
        return "".join(char if char == _JOINER or char >= _TAGS[0] else _fold_sequence(char) for char in sequence)
    decomposition = unicodedata.decomposition(first)
    visible = "".join(_SPELLED_FIRST.get(char, char) for char in sequence if not _is_ignorable(char))
    composed = _OPTIONAL_MARKS.sub("", unicodedata.normalize("NFKC", visible))
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
