r"""Formulas in prose: between \( and \), \[ and \], $$ or $, and commands that stand free. Dollars are not formulas."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from smile_lite.text.latex import latex_to_text

if TYPE_CHECKING:
    from smile_lite.text.verbatim import Masks

__all__ = ["read_formulas"]

_DELIMITER = re.compile(r"\\{1,2}(?P<bracket>[()\[\]])|\\\$|(?P<double>\$\$)|(?P<single>\$)|(?P<newline>\n)")
_CLOSES = {")": "(", "]": "["}
_LATEX_SIGN = re.compile(r"[\\^_={}+<>]")
_SPACED_FORMULA = re.compile(r"[\\^={}]|\A\s[-\d.,]+\s\Z")
_PROSE = re.compile(r"[A-Za-z]{3,}|[A-Za-z]{2,}\s")
_THOUSANDS_COMMA = re.compile(r"(?<=\d)\{,\}(?=\d)")  # 1{,}000
_FREE_COMMAND = re.compile(r"\\[A-Za-z,]|[\^_]\{")


def read_formulas(text: str, masks: Masks) -> str:
    r"""`text` with formulas as plain text, hidden from the rules of markdown, and free \boxed{} and the like read.

    $...$ is a formula where a space is inside both of its dollars or neither, no letter or digit outside touches them
    (behind a command a letter may), it stays on one line and does not read as prose: "$5 and $10", "US$5" and "10$"
    are money.
    """
    if "$" in text or "\\" in text:
        text = _replace(text, _spans(text), masks)
    text = _THOUSANDS_COMMA.sub(",", text) if "{,}" in text else text
    return latex_to_text(text, in_formula=False) if _FREE_COMMAND.search(text) else text


def _spans(text: str) -> list[tuple[int, int, int]]:
    """(begin, end, width of the delimiters) of each formula, in order."""
    found: list[tuple[int, int, int]] = []
    delimiters = list(_DELIMITER.finditer(text))
    last: dict[str, int] = {}
    for match in delimiters:
        last[_kind(match)] = match.start()
    kind, opening = "", 0
    for match in delimiters:
        name = _kind(match)
        if name in _CLOSES and kind == _CLOSES[name]:
            found.append((opening, match.end(), len(match.group())))
            kind = ""
        elif name in {"(", "["} and kind in {"", "$", name}:
            closing = ")" if name == "(" else "]"
            kind, opening = (name, match.start()) if last.get(closing, -1) > match.start() else (kind, opening)
        elif name == "$$" and kind == "$$" and not _is_prose(text[opening + 2 : match.start()]):
            found.append((opening, match.end(), 2))
            kind = ""
        elif name == "$$" and kind in {"", "$", "$$"}:
            kind, opening = ("$$", match.start()) if last["$$"] > match.start() else ("", 0)
        elif name == "$" and kind == "$" and _can_close(text, opening, match.start()):
            found.append((opening, match.end(), 1))
            kind = ""
        elif name == "$" and kind in {"", "$"}:
            kind, opening = ("$", match.start()) if _can_open(text, match.start()) else ("", 0)
        elif name == "\n" and kind == "$":
            kind = ""
    return found


def _kind(delimiter: re.Match[str]) -> str:
    return delimiter["bracket"] or delimiter["double"] or delimiter["single"] or delimiter["newline"] or ""


def _can_open(text: str, at: int) -> bool:
    before, behind = text[at - 1 : at], text[at + 1 : at + 2]
    return not (before.isascii() and before.isalnum()) and behind not in {"", "\n"}


def _can_close(text: str, opening: int, at: int) -> bool:
    behind = text[at + 1 : at + 2]
    content = text[opening + 1 : at]
    touched = behind.isascii() and (
        behind.isdigit() or (behind.isalpha() and "\\" not in content)
    )  # $90^\circ$C may be
    if not content or touched or content[0].isspace() != content[-1].isspace():
        return False
    if content[0].isspace():  # "$ x = 1 $", and "$ 42 $" where no number follows as in "$ 5, $ 6"
        return bool(_SPACED_FORMULA.search(content)) and not text[at + 1 : at + 3].strip().isdigit()
    return not _is_prose(content)


def _is_prose(content: str) -> bool:
    return bool(re.search(r"\s", content) and not _LATEX_SIGN.search(content) and _PROSE.search(content))


def _replace(text: str, spans: list[tuple[int, int, int]], masks: Masks) -> str:
    out: list[str] = []
    done = 0
    for begin, end, width in spans:
        content = text[begin + width : end - width]
        if r"\begin" in content:
            content = re.sub(r"(?<!\\)&", " ", content)
        plain = latex_to_text(content, in_formula=True).strip()
        if plain:
            out += [text[done:begin], masks.hide(plain)]
            done = end
    return "".join([*out, text[done:]])
