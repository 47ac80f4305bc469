"""Words: where a word begins and ends, and when two words are the same."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from smile_lite.text.fold import fold
from smile_lite.text.hangul import cut_particles
from smile_lite.text.numbers import SPACED_THOUSANDS, one_spelling, unit_at
from smile_lite.text.scripts import (
    CURRENCY,
    EMOJI,
    HANGUL,
    OPERATORS,
    PUNCTUATION,
    REGIONAL,
    UNSPACED,
    UNSPACED_MARKS,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["WORDS_VERSION", "Words", "is_blank", "split_words"]

WORDS_VERSION = "v2"

# Letters, digits, marks, _ and symbols that are no words of their own: √2, π, ©.
_LETTER = f"[^\\s{PUNCTUATION}{UNSPACED}{HANGUL}{EMOJI}{CURRENCY}{OPERATORS}%‰‱°]"
# A sign stands after a space or an opening mark: not after a letter or digit, nor a closing bracket or quote.
_BEFORE_SIGN = f"(?<![^\\W_{UNSPACED}{HANGUL}]) (?<![)\\]%]) (?<![^\\W_]['\"])"
_TONE = "[\U0001f3fb-\U0001f3ff]?"

_TOKEN = re.compile(
    rf"""
      (?P<skip> (?<=\w) \((?:tm|sm|r)\) )                        # a trade mark is no word: Stretchmax(TM)
    | (?P<unspaced> [{UNSPACED}][{UNSPACED_MARKS}]* )
    | (?P<hangul> [{HANGUL}]+ )
    | (?P<emoji> [{REGIONAL}]{{2}} | [{EMOJI}]{_TONE} [\U000e0020-\U000e007f]* (?: \u200d [{EMOJI}]{_TONE} )* )
    | (?P<spaced> (?=[-1-9]) (?: {_BEFORE_SIGN} - )? {SPACED_THOUSANDS} )
    | (?P<initials> (?=[^\W\d_]\.) (?<![\w.'&]) [^\W\d_]\. (?: \ ? [^\W\d_]\. )+ (?![^\W_]) )  # J. R. R., J.R.R.
    | (?P<word>
        (?: {_BEFORE_SIGN} [-+] (?=\.?\d) )?                     # the sign of -5, not the hyphen of 3-4
        (?: (?<![\w.]) \. (?=\d) )?                              # .5
        {_LETTER}+
        (?: (?: ['&@^.*] | \^- | (?<=\d)[,:/-](?=\d) | (?<=\de)[-+](?=\d) ) {_LETTER}+ )*  # O'Brien x^2 3.5 10:30 1e-5
        (?: (?<=[^\W\d_]) (?: \+\+ | \+(?!{_LETTER}|\+) | \#(?!{_LETTER}) ) )?  # C++ C# Na+
      )
    | (?P<symbol> {_BEFORE_SIGN} - [{CURRENCY}] (?=\s?\.?\d) | [{CURRENCY}{OPERATORS}%‰‱°<>=+] | (?<!\S)&(?!\S) |
    (?<=\d\s)[-*/](?=\s\d) ) """,
    re.VERBOSE,
)
_SEEN = re.compile("[A-Za-z0-9]")
_CONTRACTED = frozenset({"it", "he", "she", "that", "this", "there", "here", "what", "who", "where", "how", "let"})
_DOTTED = re.compile(r"[^\W\d_]{1,2}(?:\.[^\W\d_]{1,2})+")
_DOTTED_ANYHOW = frozenset({"a.m", "p.m", "e.g", "i.e", "u.s", "u.k", "u.n", "d.c"})


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a text: `keys[i]` is what is compared, `text[starts[i]:ends[i]]` is how it was written."""

    text: str
    keys: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.keys)

    def as_written(self, first: int, count: int) -> str:
        """The stretch of the text from word `first` over `count` words, as it was written."""
        return self.text[self.starts[first] : self.ends[first + count - 1]]


def split_words(text: str) -> Words:
    """Cut `text` into words, in one linear pass.

    Two words are the same when their keys are equal: case, width, accent composition, digit script, thousands
    separators, the dots of U.S. and the 's of a possessive do not count; 3.5, -5, 10:30, x^2, C++ and AT&T are words.
    A unit behind its number (5kg) and a Korean particle behind its noun are words of their own.
    A text of nothing but punctuation keeps it, so that only a blank text has no words.
    """
    folded, origin = fold(text)
    keys: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    minus = False

    def written(at: int) -> str:
        return unicodedata.normalize("NFKC", text[origin[at]])

    for match in _TOKEN.finditer(folded):
        if match.lastgroup == "skip":
            continue
        for key, start, end in _pieces(match, written):
            keys.append(f"-{key}" if minus and key[0].isdigit() else key)
            minus = match.lastgroup == "symbol" and len(match.group()) > 1  # -$5 is $ -5
            starts.append(origin[start])
            # one character may hold several words: the ligature U+FDFA
            ends.append(max(origin[end], origin[start] + 1))
    if not keys:
        for match in re.finditer(r"[^\s\x00-\x1f\x7f]+", folded):
            keys.append(match.group())
            starts.append(origin[match.start()])
            ends.append(origin[match.end()])
    return Words(text, tuple(keys), tuple(starts), tuple(ends))


def _pieces(match: re.Match[str], written: Callable[[int], str]) -> list[tuple[str, int, int]]:
    """The words of one token as (key, start, end); mostly one."""
    key, start, end = match.group(), match.start(), match.end()
    kind = match.lastgroup
    if kind == "word":
        return [(key, start, end)] if key.isalpha() else _pieces_of_word(match, written)
    if kind == "symbol":
        return [("and" if key == "&" else key[-1], start, end)]
    if kind == "spaced":
        return [(key.replace(" ", ""), start, end)]
    if kind == "initials":
        return [(re.sub("[. ]", "", key), start, end - 1)]
    if kind == "hangul":
        cuts = cut_particles(key)
        return [(key[a:b], start + a, start + b) for a, b in zip(cuts, [*cuts[1:], len(key)], strict=True)]
    return [(key, start, end)]


def _pieces_of_word(match: re.Match[str], written: Callable[[int], str]) -> list[tuple[str, int, int]]:
    key, start, end = match.group(), match.start(), match.end()
    at = unit_at(key, lambda index: written(start + index)) if key[-1].isalnum() and key[0] in "+-.0123456789" else 0
    if at:
        return [(one_spelling(key[:at].removeprefix("+")), start, start + at), (key[at:], start + at, end)]
    if key.isalnum():
        return [(key, start, end)]
    if "," in key and key.count(",") > 1 and one_spelling(key).count(","):  # 1,2,3 is a list
        pieces = []
        for part in key.split(","):
            pieces.append((part, start, start + len(part)))
            start += len(part) + 1
        return pieces
    start += len(key) - len(key.lstrip("_"))
    end -= len(key) - len(key.rstrip("_"))
    key = key.strip("_")
    if not key:
        return []
    key = one_spelling(key.removeprefix("+")) if key[0] in "+-.0123456789" else key
    if _DOTTED.fullmatch(key) and _is_acronym(key, match.string[end : end + 1], start, written):
        key = key.replace(".", "")
    if len(key) > 3 and key.endswith("'s") and key[:-2] not in _CONTRACTED:
        key, end = key[:-2], end - 2
    return [(key, start, end)]


def _is_acronym(key: str, following: str, start: int, written: Callable[[int], str]) -> bool:
    """Whether the dots of `key` are those of U.S., a.m. or Ph.D.; those of a.b are not."""
    parts = key.split(".")
    longest = max(map(len, parts))
    if longest == 1 and (following == "." or key in _DOTTED_ANYHOW):
        return True
    begins = [start, *(start + at + 1 for at, char in enumerate(key) if char == ".")]
    return min(map(len, parts)) == 1 and all(written(at).isupper() for at in begins)


def is_blank(text: str) -> bool:
    """Whether nothing in `text` can be seen: empty, spaces, zero-width and format characters."""
    return not _SEEN.search(text) and not split_words(text).keys
