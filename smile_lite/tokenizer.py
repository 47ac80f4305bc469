"""The model's own tokenizer, with the truncation and padding that the manifest wants instead of its file's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from smile_lite.errors import ModelIntegrityError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tokenizers import Tokenizer

    from smile_lite.manifest import Encoding

__all__ = ["load_cutter", "load_tokenizer", "pair_ids", "token_ids", "windows"]


def load_tokenizer(path: Path, encoding: Encoding) -> Tokenizer:
    """Raises ModelIntegrityError for a file that is no tokenizer."""
    # Rust threads of the tokenizer do not survive a fork, and it warns about that at every call; who set it decides.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises bare Exception
        raise ModelIntegrityError(f"{path} is no tokenizer: {error}") from None
    tokenizer.no_padding()  # some files carry padding to a fixed length, or a truncation of their own
    tokenizer.enable_truncation(max_length=encoding.max_tokens)
    return tokenizer


def token_ids(tokenizer: Tokenizer, texts: Sequence[str], encoding: Encoding) -> list[tuple[int, ...]]:
    """The tokens of each text, the manifest's prefix before it."""
    prepared = [_unicode(encoding.prefix + text) for text in texts]
    return [tuple(one.ids) for one in tokenizer.encode_batch_fast(prepared)]


def pair_ids(
    tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]], encoding: Encoding
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The tokens of each pair, and for each token whether it is of the first text (0) or of the second (1)."""
    prepared = [(_unicode(encoding.prefix + one), _unicode(other)) for one, other in pairs]
    return [(tuple(one.ids), tuple(one.type_ids)) for one in tokenizer.encode_batch(prepared)]


def load_cutter(path: Path, encoding: Encoding) -> Tokenizer:
    """The tokenizer for `windows`: what is over the model's length comes in further pieces, half a piece apart."""
    tokenizer = load_tokenizer(path, encoding)
    room = encoding.max_tokens - tokenizer.num_special_tokens_to_add(is_pair=False)
    tokenizer.enable_truncation(max_length=encoding.max_tokens, stride=room // 2)
    return tokenizer


def windows(cutter: Tokenizer, text: str) -> list[str]:
    """`text` in pieces that the model reads whole, each half a piece behind the one before; [text] where it is one.

    They are cut between tokens, at the places in the text that the tokenizer gives for them.
    """
    whole = _unicode(text)
    first = cutter.encode(whole)
    found = []
    for piece in (first, *first.overflowing):
        places = [place for place, special in zip(piece.offsets, piece.special_tokens_mask, strict=True) if not special]
        found.append(whole[places[0][0] : places[-1][1]] if places else whole)
    return found if len(found) > 1 else [text]


def _unicode(text: str) -> str:
    """`text` without lone surrogates, which no tokenizer takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
