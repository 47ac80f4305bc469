"""HTML in an answer, as far as models write it: known tags, the tokens of chat templates, and entities."""

from __future__ import annotations

import html
import re

__all__ = ["decode_entities", "drop_tags"]

_ROWS = """
alone  \\n  br hr
line   \\n  p div li ul ol tr h1 h2 h3 h4 h5 h6 blockquote pre table tbody thead section article center
cell   \\t  td th
answer .    answer final_answer finalanswer
pair   .    b strong i em u s del ins mark small big span font code tt kbd samp var q cite abbr label a sub html body
pair   .    final response output result solution
power  ^    sup
"""
_KIND = {name: row.split()[0] for row in _ROWS.strip().splitlines() for name in row.split()[2:]}
_IN_PLACE = {"alone": "\n", "line": "\n", "cell": "\t"}
_UNPAIRED = frozenset({"alone", "answer"})
_TAG = re.compile(rf"<(?P<close>/?)(?P<name>{'|'.join(_KIND)})(?:\s[^<>]{{0,300}})?/?>", re.IGNORECASE)
_CHAT_TOKEN = re.compile(
    r"<\|[a-z0-9_]{1,40}\|>|<(?:bos|eos|pad|start_of_turn|end_of_turn)>|\[/?INST\]|\A\s{0,80}<s>|</s>(?=\s{0,80}\Z)"
)
_BASE = re.compile(r"(?:[\d)]|(?<![^\W\d_])[^\W\d_]{1,2})\Z")  # what has powers: 10, km, x; Paris has footnotes
_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|nbsp|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")


def drop_tags(text: str) -> str:
    """`text` without known tags and chat tokens; what stands inside stays, 10<sup>3</sup> is 10^3.

    A tag counts where it is closed somewhere; <br> and <answer> always. "3 < 5", "<int>" and "<pattern>" are text.
    """
    if "<" not in text and "[" not in text:
        return text
    text = _CHAT_TOKEN.sub("", text)
    tags = list(_TAG.finditer(text))
    closed = {match["name"].lower() for match in tags if match["close"]}
    opened = {match["name"].lower() for match in tags if not match["close"]}
    out: list[str] = []
    done = 0
    for match in tags:
        name = match["name"].lower()
        if _KIND[name] not in _UNPAIRED and not (name in closed and name in opened):
            continue
        out += [text[done : match.start()], _replacement(text, match, _KIND[name])]
        done = match.end()
    return "".join([*out, text[done:]])


def _replacement(text: str, tag: re.Match[str], kind: str) -> str:
    if kind in _IN_PLACE:
        return _IN_PLACE[kind]
    before, behind = text[max(0, tag.start() - 3) : tag.start()], text[tag.end() : tag.end() + 2]
    if kind == "power" and not tag["close"] and re.match(r"[-+−]?\d", behind):
        return "^" if _BASE.search(before) else " "
    apart = kind == "answer" and before[-1:].isalnum() and behind[:1].isalnum()
    return " " if apart else ""


def decode_entities(text: str) -> str:
    """`text` with the entities that are nothing else: &amp; &lt; &gt; &quot; &nbsp; and numbers. Once, not again."""
    if "&" not in text:
        return text
    return _ENTITY.sub(lambda match: html.unescape(match.group()).replace("\xa0", " "), text)
