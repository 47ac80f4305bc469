"""What markup rules must not touch: code, paths, finished formulas. A mask, one character, stands in for each."""

from __future__ import annotations

import re

__all__ = ["Masks", "mask_code", "mask_paths"]

_FIRST, _COUNT = 0xF0000, 0xFFFE  # private use: neither letter, space nor punctuation, so it is like a closed box
_MASK = re.compile("[\U000f0000-\U000ffffd]")
_FENCE = re.compile(r"[ \t>]*(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)")
_FENCE_BEHIND_TEXT = re.compile(r"(?P<text>[^`]*[^`\s][ \t]*)(?P<fence>`{3,})(?P<info>[\w+#.-]{0,20})[ \t]*")
_RUN = re.compile("`+")
_PATH = re.compile(r"(?<![A-Za-z])[A-Za-z]:\\+\w[^\s]*|https?://[^\s<>\])|\"\U000f0000-\U000ffffd]+")


class Masks:
    """The stretches put aside, and the text with a mask in the place of each."""

    def __init__(self) -> None:
        self._hidden: list[str] = []

    def hide(self, stretch: str) -> str:
        """The mask of `stretch`; `stretch` itself where there are no masks left."""
        if len(self._hidden) == _COUNT:
            return stretch
        self._hidden.append(self.restore(stretch))
        return chr(_FIRST + len(self._hidden) - 1)

    def hide_own(self, text: str) -> str:
        """`text` with masks for the characters that would be taken for masks. To be called first."""
        return _MASK.sub(lambda match: self._hide_character(match.group()), text)

    def restore(self, text: str) -> str:
        """`text` with what the masks stand for."""
        return _MASK.sub(lambda match: self._behind(match.group()), text) if self._hidden else text

    def _hide_character(self, char: str) -> str:
        if len(self._hidden) == _COUNT:
            return "\ufffd"
        self._hidden.append(char)
        return chr(_FIRST + len(self._hidden) - 1)

    def _behind(self, mask: str) -> str:
        index = ord(mask) - _FIRST
        return self._hidden[index] if index < len(self._hidden) else mask


def mask_code(text: str, masks: Masks) -> str:
    """`text` with code fences and inline code hidden; their backticks and the fence's language are gone."""
    if "`" not in text and "~~~" not in text:
        return text
    lines = text.split("\n")
    out: list[str] = []
    at = 0
    while at < len(lines):
        opening = _FENCE.fullmatch(lines[at]) or _FENCE_BEHIND_TEXT.fullmatch(lines[at])
        if opening is None or at + 1 == len(lines):
            out.append(_mask_inline(lines[at], masks))
            at += 1
            continue
        before = opening.groupdict().get("text") or ""
        body, at = _fenced(lines, at + 1, opening["fence"])
        code = "\n".join(body)
        out.append(before + masks.hide(code if code.strip() else opening["info"].strip()))
    return "\n".join(out)


def _fenced(lines: list[str], at: int, fence: str) -> tuple[list[str], int]:
    """The lines from `at` to the end of the fence (or of the text), and the number of the line behind it."""
    body: list[str] = []
    while at < len(lines):
        line = lines[at].rstrip()
        at += 1
        if line.endswith(fence):
            rest = line.rstrip(fence[0])
            return ([*body, rest] if rest.strip() else body), at
        body.append(lines[at - 1])
    return body, at


def _mask_inline(line: str, masks: Masks) -> str:
    runs = [match.span() for match in _RUN.finditer(line)]
    if len(runs) < 2:
        return line
    following: dict[int, int] = {}
    partner = [-1] * len(runs)
    for index in range(len(runs) - 1, -1, -1):
        length = runs[index][1] - runs[index][0]
        partner[index] = following.get(length, -1)
        following[length] = index
    out: list[str] = []
    done, index = 0, 0
    while index < len(runs):
        start, end = runs[index]
        close = partner[index]
        code = line[end : runs[close][0]] if close >= 0 else ""
        if code.strip() and line[start - 1 : start] != "\\":
            out += [line[done:start], masks.hide(code.strip(" ") if code[0] == code[-1] == " " else code)]
            done, index = runs[close][1], close
        index += 1
    return "".join([*out, line[done:]])


def mask_paths(text: str, masks: Masks) -> str:
    r"""`text` with addresses and Windows paths hidden: the \text of C:\new\text is no command."""
    if ":\\" not in text and "://" not in text:
        return text
    return _PATH.sub(
        lambda match: match.group() if re.search(r"[{}$]", match.group()) else masks.hide(match.group()), text
    )
