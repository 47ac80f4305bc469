"""The answer inside the markup that models wrap it in. One function, one table of steps; text is always data."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from smile_lite.text.emphasis import drop_emphasis
from smile_lite.text.formulas import read_formulas
from smile_lite.text.hypertext import decode_entities, drop_tags
from smile_lite.text.markdown import drop_escapes, drop_line_marks, drop_links
from smile_lite.text.reasoning import DEFAULT_TAGS, without_reasoning
from smile_lite.text.verbatim import Masks, mask_code, mask_paths
from smile_lite.text.words import is_blank

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DEFAULT_TAGS", "MARKUP_VERSION", "unwrap", "unwrap_reference"]

MARKUP_VERSION = "m1"

_MARKED = re.compile(
    r"[<*`\\$◁&]|~~|\]\(|\[/|(?<![^\W_])_|_(?![^\W_])|[\^_]\{|\{,\}|^[ \t]*+(?:[-–—•‣◦▪●>#|=]|\(?\d{1,3}[.)][ \t])",
    re.MULTILINE,
)
_LEAD_IN = re.compile(
    r"""
    \s*+ (?: (?: (?:the\s|my\s|so\s|thus,?\s){0,2} (?:(?:final|correct|best|short)\s)? answer (?:\sis)?
             | antwort | réponse | respuesta | resposta | risposta | ответ | 答案 | 回答 | 答え | 정답 | 답 )
         [ \t]{0,8} [:：] \s*+ )++
    """,
    re.IGNORECASE | re.VERBOSE,
)


def unwrap(text: str, *, tags: Sequence[str] = DEFAULT_TAGS) -> str:
    r"""The answer that `text` holds, as plain text; `text` itself where it has no markup. Never longer than `text`.

    Left out: reasoning between `tags`, HTML tags, the marks of markdown and LaTeX, "Answer:" in front. What they
    enclose stays, code as it is: $\boxed{\frac{1}{2}}$ is 1/2, **Paris** is Paris. Only reasoning can leave
    nothing; an answer of nothing but markup ("<br>", "$") is returned as it is.
    """
    answer = without_reasoning(text, tags)
    lead_in = _LEAD_IN.match(answer)
    if answer == text and not lead_in and not _MARKED.search(text):
        return text
    plain = _plain(answer)
    if plain == text.strip():
        return text
    if is_blank(plain):
        return "" if is_blank(answer) else answer.strip()
    return plain


def unwrap_reference(reference: str, *, tags: Sequence[str] = DEFAULT_TAGS) -> str:
    """`reference` as `unwrap` makes it, so that it equals a prediction written alike; blank only if it was blank."""
    plain = unwrap(reference, tags=tags)
    return unwrap(reference, tags=()) if is_blank(plain) else plain


def _plain(answer: str) -> str:
    masks = Masks()
    text = mask_code(masks.hide_own(answer), masks)
    text = mask_paths(drop_links(text), masks)
    text = read_formulas(drop_tags(text), masks)
    text = drop_escapes(drop_emphasis(drop_line_marks(text)))
    text = masks.restore(decode_entities(text)).strip()
    lead_in = _LEAD_IN.match(text)
    return text[lead_in.end() :].strip() if lead_in and lead_in.end() < len(text) else text
