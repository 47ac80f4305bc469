"""Reasoning that models write before their answer: found by its tags, and left out."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DEFAULT_TAGS", "without_reasoning"]

DEFAULT_TAGS = ("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "scratchpad")

_FIRST_SIGNS = ("<", "&lt;", "[", "◁")
_QUOTES = frozenset("`'\"")
_FINAL_CHANNEL = re.compile(r"<\|channel\|>\s*final\b[^<]{0,80}<\|message\|>")
_OTHER_CHANNEL = re.compile(r"<\|channel\|>\s*(?:analysis|commentary)\b")


class _Tag(NamedTuple):
    start: int
    end: int
    kind: str  # "open", "close" or "alone" (<think/>)


def without_reasoning(text: str, tags: Sequence[str] = DEFAULT_TAGS) -> str:
    """`text` without what stands between reasoning tags; the very same where there are none.

    A closed pair is left out wherever it stands, pairs inside it too. Behind a tag that is never closed nothing is
    answer, and nothing before one that was never opened. A tag in quotes or backticks is none, nor is a never closed
    one in the middle of a line with a space on either side ("the <think> tag").
    """
    if not tags or not any(sign in text for sign in _FIRST_SIGNS):
        return text
    text = _final_channel(text)
    found = _tags(text, tuple(tags))
    return _join(text, _kept(text, found)) if found else text


def _final_channel(text: str) -> str:
    """The last message of a reply that comes in channels; nothing where only the reasoning came."""
    if "<|channel|>" not in text:
        return text
    finals = list(_FINAL_CHANNEL.finditer(text))
    if finals:
        return text[finals[-1].end() :]
    reasoning = _OTHER_CHANNEL.search(text)
    return text[: reasoning.start()] if reasoning else text


@lru_cache(maxsize=32)
def _pattern(tags: tuple[str, ...]) -> re.Pattern[str]:
    names = "|".join(re.escape(name) for name in tags)
    return re.compile(
        rf"""
          (?:<|&lt;) \s{{0,8}} (?P<close>/?) \s{{0,8}} (?:[\w-]{{1,20}}:)? (?:{names})
          (?: \s[^<>]{{0,200}}? )? (?P<alone>/?) (?:>|&gt;)
        | \[ (?P<close_bracket>/?) (?:{names}) \]
        | ◁ (?P<close_triangle>/?) (?:{names}) ▷
        | <\| (?: begin | (?P<close_mark>end) ) _of_ (?:{names}) \|>
        """,
        re.IGNORECASE | re.VERBOSE,
    )


def _tags(text: str, tags: tuple[str, ...]) -> list[_Tag]:
    found, brackets = [], set()
    matches = list(_pattern(tags).finditer(text))
    for match in matches:
        if match.group()[0] == "[":
            brackets.add(match["close_bracket"])
    for match in matches:
        quoted = text[match.start() - 1 : match.start()] in _QUOTES and text[match.end() : match.end() + 1] in _QUOTES
        if quoted or (match.group()[0] == "[" and len(brackets) < 2):  # [thinking] alone is a stage direction
            continue
        close = match["close"] or match["close_bracket"] or match["close_triangle"] or match["close_mark"]
        alone = match["alone"]
        found.append(_Tag(match.start(), match.end(), "close" if close else "alone" if alone else "open"))
    return found


def _kept(text: str, found: list[_Tag]) -> list[tuple[int, int]]:
    """The stretches of `text` outside reasoning."""
    kept: list[tuple[int, int]] = []
    begin, depth, last_close = 0, 0, -1
    opened: _Tag | None = None  # the outermost tag that is open, or the first one behind a pair inside it
    for tag in found:
        if tag.kind == "alone" and not depth:
            kept.append((begin, tag.start))
            begin = tag.end
        elif tag.kind == "open":
            if not depth:
                kept.append((begin, tag.start))
                last_close = -1
            if not depth or opened is None:
                opened = tag
            depth += 1
        elif tag.kind == "close":
            if not depth:
                kept.clear()
            depth = max(0, depth - 1)
            begin, last_close, opened = tag.end, tag.end, None
    if opened is None:
        return [*kept, (begin, len(text))]
    if last_close >= 0:
        kept.append((last_close, opened.start))
    return kept if _ends_answer(text, opened) else [*kept, (opened.start, len(text))]


def _ends_answer(text: str, tag: _Tag) -> bool:
    """Whether a tag that is never closed is markup and not a word of a sentence."""
    line = text[text.rfind("\n", 0, tag.start) + 1 : tag.start]
    return not line.strip() or not line[-1].isspace() or text[tag.end : tag.end + 1] not in {" ", "\t"}


def _join(text: str, kept: list[tuple[int, int]]) -> str:
    parts: list[str] = []
    for begin, end in kept:
        part = text[begin:end]
        if part and parts and not parts[-1][-1].isspace() and not part[0].isspace():
            parts.append(" ")
        if part:
            parts.append(part)
    return "".join(parts)
