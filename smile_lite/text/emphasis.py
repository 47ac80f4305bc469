"""Stress in markdown: * _ ** __ *** ~~ around words. Where they stand in a formula, a name or alone, they stay."""

from __future__ import annotations

import re

from smile_lite.text.scripts import HANGUL, UNSPACED

__all__ = ["drop_emphasis"]

_RUN = re.compile(r"\\[\\*_~]|\*+|_+|~~+|\n[ \t]*\n")
_BESIDE_WORDS = re.compile(f"[{UNSPACED}{HANGUL}]")  # these scripts put no space between stress and the next word
_CLOSING_MARKS = frozenset(",.;:!?)]}")
_OPENING_MARKS = frozenset("([{")
_IN_CODE = frozenset("/\\=")
_LONGEST = 3
_PYTHON_NAME = re.compile(
    r"__(?:init|main|name|file|all|doc|dict|call|str|repr|len|iter|next|new|eq|hash|enter|exit|getitem|setitem|slots|"
    r"class|version|import|contains|add|del|post_init|getattr|setattr)__"
)


def drop_emphasis(text: str) -> str:
    """`text` without the marks of stress that stand in pairs around something. Linear.

    A mark opens where no letter or digit stands before it and no space behind, and closes the other way round; so
    a_b, 2*3*4, a * b, f(*a, **b), SELECT *, *.py and __init__ are as they were.
    """
    open_runs: dict[str, list[tuple[int, int]]] = {}
    dropped: list[tuple[int, int]] = []
    names = {match.start() for match in _PYTHON_NAME.finditer(text)} if "__" in text else set()
    names |= {match.end() - 2 for match in _PYTHON_NAME.finditer(text)} if names else set()
    for match in _RUN.finditer(text):
        run, start, end = match.group(), match.start(), match.end()
        if run[0] == "\n":
            open_runs.clear()
        elif run[0] != "\\" and len(run) <= _LONGEST and start not in names:
            stack = open_runs.setdefault(run[0], [])
            if stack and _can_close(text, start, end):
                pairs = _close(stack, start, end)
                dropped += pairs
                if pairs:
                    continue
            if _can_open(text, start, end):
                stack.append((start, end))
    if not dropped:
        return text
    kept: list[str] = []
    done = 0
    for start, end in sorted(dropped):
        kept.append(text[done:start])
        done = end
    return "".join([*kept, text[done:]])


def _close(stack: list[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    """The runs that go with the closing one: the nearest of its length, or the two nearest where they make it up."""
    length = end - start
    for back, (opened, ended) in enumerate(reversed(stack[-4:]), 1):
        if ended - opened == length:
            del stack[-back:]
            return [(opened, ended), (start, end)]
    if len(stack) > 1 and sum(ended - opened for opened, ended in stack[-2:]) == length:
        pairs = [*stack[-2:], (start, end)]
        del stack[-2:]
        return pairs
    return []


def _can_open(text: str, start: int, end: int) -> bool:
    before, behind = text[start - 1 : start], text[end : end + 1]
    if not behind.strip() or behind in _CLOSING_MARKS:
        return False
    return not _touches(before) and not (before == "." and end - start == 1)


def _can_close(text: str, start: int, end: int) -> bool:
    before, behind = text[start - 1 : start], text[end : end + 1]
    return bool(before.strip()) and before not in _OPENING_MARKS and not _touches(behind)


def _touches(neighbour: str) -> bool:
    """Whether a letter, digit or sign of code stands there."""
    return neighbour in _IN_CODE or (neighbour.isalnum() and not _BESIDE_WORDS.match(neighbour))
