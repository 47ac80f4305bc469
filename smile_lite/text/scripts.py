"""Writing systems as character classes for regular expressions: which characters are words, parts of words, signs."""

from __future__ import annotations

import unicodedata

__all__ = [
    "ACCENTS",
    "CURRENCY",
    "EMOJI",
    "HANGUL",
    "OPERATORS",
    "PUNCTUATION",
    "REGIONAL",
    "UNSPACED",
    "UNSPACED_MARKS",
]

_BLOCKS_WITHOUT_SPACES = (
    (0x0E00, 0x0E7F),  # Thai
    (0x0E80, 0x0EFF),  # Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19DF),  # Tai Le, New Tai Lue
    (0x1A20, 0x1AAF),  # Tai Tham
    (0xA980, 0xA9FF),  # Javanese, Myanmar extended B
    (0xAA60, 0xAA7F),  # Myanmar extended A
)
_HAN_AND_KANA = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U000323af"
)


def _of_category(first_letter: str) -> str:
    return "".join(
        chr(code)
        for first, last in _BLOCKS_WITHOUT_SPACES
        for code in range(first, last + 1)
        if unicodedata.category(chr(code))[0] == first_letter and chr(code) not in "\u17b4\u17b5"
    )


# Every character of these, with the marks on it, is a word of its own. (The vowel of Thai and Lao "am" is a letter.)
UNSPACED = _of_category("L") + _HAN_AND_KANA
UNSPACED_MARKS = _of_category("M") + "\u3099\u309a"
HANGUL = "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7a3\ud7b0-\ud7fb"
REGIONAL = "\U0001f1e6-\U0001f1ff"  # two of them are a flag
EMOJI = "\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
CURRENCY = "$¢-¥֏؋৲৳৻૱௹฿៛₠-⃀\ua838﷼"
OPERATORS = "±∓×÷≤≥≠≈≡≅∝⋅∙∗∘"
PUNCTUATION = "\\x00-\\x20\\x7f!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^`{|}~"
# Vowel points and reading marks that Arabic and Hebrew writers leave out at will; those of Hindi and Thai are letters.
ACCENTS = (
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
)
