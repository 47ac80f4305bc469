"""Words and n-grams: where a word begins and ends, when two words are the same, what an n-gram is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from smile_lite.text.fold import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "LONGEST_NGRAM",
    "WORDS_VERSION",
    "Words",
    "find",
    "is_blank",
    "join",
    "ngram_starts",
    "ngrams",
    "split_words",
]

WORDS_VERSION = "v1"

# Scripts written without spaces: every character, with the marks on it, is a word of its own.
_UNSPACED = (
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd-\u0ec6\u1000-\u102a\u103f\u1050-\u1055"
    "\u1780-\u17b3\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U000323af"
)
_UNSPACED_MARKS = (
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e"
    "\u1056-\u1059\u17b6-\u17d3\u3099\u309a"
)
_EMOJI = "\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
_CURRENCY = "$¢-¥֏؋৲৳৻૱௹฿៛₠-⃀\ua838﷼"
_PUNCTUATION = "\\x00-\\x20\\x7f!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^`{|}~"
_LETTER = f"[^\\s{_PUNCTUATION}{_UNSPACED}{_EMOJI}{_CURRENCY}%‰‱°]"  # letters, digits, marks, _, other symbols

# A sign stands after a space or an opening mark: not after a letter or digit, nor a closing bracket or quote.
_BEFORE_SIGN = "(?<![^\\W_]) (?<![)\\]%]) (?<![^\\W_]['\"])"

_TOKEN = re.compile(
    rf"""
      (?P<skip> (?<=\w) \((?:tm|sm|r)\) )                        # a trade mark is no word: Stretchmax(TM)
    | (?P<unspaced> [{_UNSPACED}][{_UNSPACED_MARKS}]* )
    | (?P<emoji> [{_EMOJI}]+ )
    | (?P<word>
        (?: {_BEFORE_SIGN} [-+] (?=\.?\d) )?                     # the sign of -5, not the hyphen of 3-4
        (?: (?<![\w.]) \. (?=\d) )?                              # .5
        {_LETTER}+
        (?: (?: ['&@^.*] | \^- | (?<=\d)[,:/-](?=\d) ) {_LETTER}+ )*   # O'Brien AT&T x^2 3.5 1,000 10:30 1/2 3-4
        (?: (?<=[^\W\d_]) (?: \+\+ | \+(?![\w+]) | \#(?!\w) ) )?  # C++ C# Na+
      )
    | (?P<symbol> {_BEFORE_SIGN} - [{_CURRENCY}] (?=\s?\.?\d) | [{_CURRENCY}%‰‱°<>=+] | (?<!\S)&(?!\S) |
    (?<=\d\s)[-*/](?=\s\d) ) """,
    re.VERBOSE,
)
_THOUSANDS = re.compile(
    r"""
    -? (?: [1-9]\d{0,2} (?:,\d{3})+ | [1-9]\d? (?:,\d{2})*,\d{3}      # 1,000,000 and the Indian 10,00,000
         | [1-9]\d{0,2} (?:'\d{3})+ | [1-9]\d{0,2} (?:\.\d{3}){2,} )   # the Swiss 1'000, the German 1.000.000
    (?! [\d,'] | \.\d{3}(?!\d) )
    """,
    re.VERBOSE,
)
_INTERNET_ADDRESS = re.compile(r"(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|[1-9]?\d|1\d\d)")
_CONTRACTED = frozenset({"it", "he", "she", "that", "this", "there", "here", "what", "who", "where", "how", "let"})
_ACRONYM = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
_BETWEEN_WORDS = "\x00"
LONGEST_NGRAM = 512  # words of an n-gram that are compared: encoders of this family read no more tokens than that


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
    A text of nothing but punctuation keeps it, so that only a blank text has no words.
    """
    folded, origin = fold(text)
    keys: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    minus = False
    for match in _TOKEN.finditer(folded):
        if match.lastgroup == "skip":
            continue
        for key, start, end in _pieces(match):
            keys.append(f"-{key}" if minus and key[0].isdigit() else key)
            minus = match.lastgroup == "symbol" and len(match.group()) > 1  # -$5 is $ -5
            starts.append(origin[start])
            ends.append(
                max(origin[end], origin[start] + 1)
            )  # one character may hold several words: the ligature U+FDFA
    if not keys:
        for match in re.finditer(r"[^\s\x00-\x1f]+", folded):
            keys.append(match.group())
            starts.append(origin[match.start()])
            ends.append(origin[match.end()])
    return Words(text, tuple(keys), tuple(starts), tuple(ends))


def _pieces(match: re.Match[str]) -> list[tuple[str, int, int]]:
    """The words of one token as (key, start, end); mostly one."""
    key, start, end = match.group(), match.start(), match.end()
    if match.lastgroup == "symbol":
        return [("and" if key == "&" else key[-1], start, end)]
    if match.lastgroup != "word" or key.isalnum():
        return [(key, start, end)]
    if "," in key and not _THOUSANDS.match(key) and key.count(",") > 1:  # 1,2,3 is a list
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
    key = _number(key.removeprefix("+")) if key[0] in "+-.0123456789" else key
    if _ACRONYM.fullmatch(key):
        key = key.replace(".", "")
    if len(key) > 3 and key.endswith("'s") and key[:-2] not in _CONTRACTED:
        key, end = key[:-2], end - 2
    return [(key, start, end)]


def _number(key: str) -> str:
    """One spelling for a number: no thousands separators, a digit before the point."""
    grouped = _THOUSANDS.match(key)
    if grouped and not _INTERNET_ADDRESS.fullmatch(key):
        key = re.sub(r"[,'.]", "", grouped.group()) + key[grouped.end() :]
    return re.sub(r"^(-?)\.", r"\g<1>0.", key)


def is_blank(text: str) -> bool:
    """Whether nothing in `text` can be seen: empty, spaces, zero-width and format characters."""
    return not split_words(text).keys


def join(keys: Sequence[str]) -> str:
    """The text of an n-gram: its words with one space between, and none inside a script written without spaces."""
    text = " ".join(keys)
    return text if text.isascii() else _INNER_SPACE.sub("", text)


_INNER_SPACE = re.compile(f"(?<=[{_UNSPACED}{_UNSPACED_MARKS}]) (?=[{_UNSPACED}])")


def ngrams(keys: Sequence[str], n: int) -> list[str]:
    """Every run of `n` words as text, in order, repeats kept; the whole of `keys` where it is shorter than `n`.

    (SMILE, arXiv 2511.17432, section 3: N_i[y].) They begin at `ngram_starts`. Raises ValueError for n < 1.
    """
    starts = ngram_starts(len(keys), n)
    return list(keys) if n == 1 else [join(keys[start : start + min(n, LONGEST_NGRAM)]) for start in starts]


def ngram_starts(count: int, n: int) -> Sequence[int]:
    """The word at which each n-gram of a text of `count` words begins: every one, up to n = 127.

    Longer n-grams begin at every second word, every third from 192, and so on (n // 64), and at the last place, so
    that a long reference costs what is linear in the prediction; neighbours of that length differ in one word of a
    hundred. Raises ValueError for n < 1.
    """
    if n < 1:
        raise ValueError(f"an n-gram has at least one word, not {n}")
    last = max(0, count - n)
    step = max(1, n // 64)
    return range(last + 1) if step == 1 else [*range(0, last, step), last]


def find(needle: Sequence[str], haystack: Sequence[str]) -> int:
    """The index in `haystack` at which the words of `needle` stand in a row, or -1. Linear in both."""
    if not needle or len(needle) > len(haystack):
        return -1
    edge = _BETWEEN_WORDS
    text = f"{edge}{edge.join(haystack)}{edge}"
    at = text.find(f"{edge}{edge.join(needle)}{edge}")
    return -1 if at < 0 else text.count(edge, 0, at)
