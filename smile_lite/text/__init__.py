"""Strings, scripts, words, n-grams and markup. Standard library only; knows neither rows nor models.

The rules have names, `WORDS_VERSION` and `MARKUP_VERSION`, for the signature: change a rule, change its name.
"""

from smile_lite.text.fold import fold, sentence
from smile_lite.text.markup import DEFAULT_TAGS, MARKUP_VERSION, unwrap, unwrap_reference
from smile_lite.text.ngrams import LONGEST_NGRAM, find, join, ngram_starts, ngrams
from smile_lite.text.published import published_words
from smile_lite.text.words import WORDS_VERSION, Words, is_blank, split_words

__all__ = [
    "DEFAULT_TAGS",
    "LONGEST_NGRAM",
    "MARKUP_VERSION",
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
    "unwrap",
    "unwrap_reference",
]
