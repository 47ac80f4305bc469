"""Strings, scripts, words and n-grams. Standard library only; knows neither rows nor models.

The rules have a name, `WORDS_VERSION`, which is part of every signature: change a rule, change the name.
"""

from smile_lite.text.fold import fold, sentence
from smile_lite.text.published import published_words
from smile_lite.text.words import (
    LONGEST_NGRAM,
    WORDS_VERSION,
    Words,
    find,
    is_blank,
    join,
    ngram_starts,
    ngrams,
    split_words,
)

__all__ = [
    "LONGEST_NGRAM",
    "WORDS_VERSION",
    "Words",
    "find",
    "fold",
    "is_blank",
    "join",
    "ngram_starts",
    "ngrams",
    "published_words",
    "sentence",
    "split_words",
]
