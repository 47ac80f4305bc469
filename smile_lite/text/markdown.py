"""Markdown by the line and the link: headings, quotes, lists, tables, rules, [text](address), and backslash escapes."""

from __future__ import annotations

import re
from itertools import pairwise

__all__ = ["drop_escapes", "drop_line_marks", "drop_links"]

_ADDRESS = r"\((?:[^\s()]|\([^\s()]*+\))*+(?:[ \t]+\"[^\"\n]{0,200}\")?[ \t]?\)"
_IMAGE = re.compile(rf"(?<!\\)!\[(?P<text>[^\[\]\n]*)\]{_ADDRESS}")
_LINK = re.compile(rf"(?<![\\\w])\[(?P<text>[^\[\]\n]+)\]{_ADDRESS}")
_AUTOLINK = re.compile(r"<(?P<text>(?:https?://|mailto:)[^\s<>]+)>")

_MARKED_LINE = re.compile(r"^[ \t]*+(?:[-–—*•‣◦▪●>#|_=]|\(?\d{1,3}[.)][ \t])", re.MULTILINE)
_RULE = re.compile(r"[ \t]*([-*_=])(?:[ \t]*+\1){2,}+[ \t]*")
_MARKS = re.compile(
    r"""
    [ \t]*+ (?:
        (?: >[ \t]? )++ (?= [^\s>=\d$€£+.-] | [-*][ \t] )          # a quote; "> 5" may say "more than 5"
      | \#{1,6} [ \t]++ (?= \S )                                    # a heading; "#1" is none
      | [-–—*•‣◦▪●] [ \t]++ (?: \[[ xX]\][ \t]++ )? (?= \S )         # an item of a list; "-5" is none
    )++
    """,
    re.VERBOSE,
)
_NUMBERED = re.compile(r"[ \t]*+\(?(\d{1,3})[.)][ \t]++(?=\S)")
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*+\|?[ \t]*")
_ESCAPE = re.compile(r"\\(?:([*_#$%&{}`~])|(-)(?=\d))")
_ESCAPED_NUMBER = re.compile(r"^([ \t]*+\d{1,3})\\([.)])", re.MULTILINE)


def drop_links(text: str) -> str:
    """`text` with [text](address) and ![text](address) as their text; f[i](x) stays."""
    if "](" in text:
        text = _LINK.sub(_link_text, _IMAGE.sub(lambda match: match["text"], text))
    return _AUTOLINK.sub(lambda match: match["text"], text) if "<" in text else text


def _link_text(match: re.Match[str]) -> str:
    return match["text"] if match["text"].strip() else match.group()


def drop_line_marks(text: str) -> str:
    """`text` without what marks a line as heading, quote, item or row of a table, and without lines that divide."""
    if not _MARKED_LINE.search(text):
        return text
    lines = text.split("\n")
    numbered = _numbered_items(lines)
    has_table = any("|" in line and _TABLE_RULE.fullmatch(line) for line in lines)
    out: list[str] = []
    for index, line in enumerate(lines):
        if len(lines) > 1 and (_RULE.fullmatch(line) or (has_table and "|" in line and _TABLE_RULE.fullmatch(line))):
            continue
        marks = _NUMBERED.match(line) if index in numbered else _MARKS.match(line)
        plain = line[marks.end() :] if marks else line
        if marks and "#" in marks.group():
            plain = _without_closing_hashes(plain)
        if has_table and plain.lstrip().startswith("|"):
            plain = plain.strip().strip("|").replace("|", " ").strip()
        out.append(plain)
    return "\n".join(out)


def _numbered_items(lines: list[str]) -> set[int]:
    """The lines whose number is that of a list: the next one's is one more, or 1 as well. Never a lone "3."."""
    items = [(index, int(found[1])) for index, line in enumerate(lines) if (found := _NUMBERED.match(line))]
    listed: set[int] = set()
    for (one, number), (other, following) in pairwise(items):
        if following == number + 1 or following == number == 1:
            listed |= {one, other}
    return listed


def _without_closing_hashes(heading: str) -> str:
    bare = heading.rstrip().rstrip("#")
    return bare.rstrip() if bare[-1:] in {" ", "\t"} else heading


def drop_escapes(text: str) -> str:
    r"""`text` with \* \_ \# \$ \% \& \{ \} and the like as what they stand for; other backslashes stay."""
    if "\\" not in text:
        return text
    return _ESCAPED_NUMBER.sub(r"\1\2", _ESCAPE.sub(lambda match: match[1] or match[2], text))
