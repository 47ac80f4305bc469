"""Words as the published SMILE code makes them, faults included (profile `reference` only)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["published_words"]

_STRIPPED = re.compile(r"[^\w\s]")


def published_words(text: str, lemma: Callable[[str], str]) -> list[str]:
    r"""Lower-case, delete every character that is neither `\\w` nor space, split at spaces, lemmatise word by word.

    So 3.5 becomes 35, C++ becomes c, and the combining marks of Hindi and Thai are lost: that is what earlier
    numbers were computed with. Nothing but the profile `reference` uses it.
    """
    return [lemma(word) for word in _STRIPPED.sub("", text.lower()).split()]
