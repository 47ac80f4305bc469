r"""LaTeX as a reader sees it: \frac{1}{2} is 1/2, \sqrt{2} is √2, 88.55\pm0.04 is 88.55±0.04, x^{2} is x^2.

One pass with a stack of its own, so that neither depth nor length of an answer can stop it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from smile_lite.text.latex_forms import Pending, finish
from smile_lite.text.latex_names import ARGUMENTS, DROPPED, FUNCTIONS, ROOTS, SYMBOLS

__all__ = ["latex_to_text"]

_TOKEN = re.compile(
    r"\\{1,2}(?P<command>[A-Za-z]{2,})\*?(?=\{)|\\(?P<name>[A-Za-z]+)\*?|\\(?P<char>[^A-Za-z])|(?P<open>\{)|(?P<close>\})"
    r"|(?P<script>[\^_])|(?P<plain>[^\\{}^_]+|\\)",
    re.DOTALL,
)
_ROOT = re.compile(r"[ \t]*\[([^\[\]{}\\]{1,20})\]")
_SPACES = {",": " ", ";": " ", ":": " ", " ": " ", ">": " ", "\\": " ", "\n": " ", "!": "", "/": "", "(": "", ")": ""}
_THIN_SPACE = "\u2009"  # 10\,000: the word rules take it for one number
_FORMULA = re.compile(r"(?<![A-Za-z0-9_])(?:(?:[A-Z][a-z]?(?:_\d+)?){2,12}|(?:H|N|O|F|Cl|Br|I)_[23])(?![A-Za-z0-9_])")
_LONG_ENOUGH = frozenset({"pi", "pm", "mu", "le", "ge", "ne"})  # \to and \in may be folders
_BRACKETS = frozenset("()[]|.\\")
_DEEPEST = 64

_LITERAL, _DROPPED, _ARGUMENT = "literal", "dropped", "argument"  # what a closing brace closes


@dataclass(slots=True)
class _Frame:
    out: list[str] = field(default_factory=list)
    pending: list[Pending] = field(default_factory=list)


def latex_to_text(source: str, *, in_formula: bool) -> str:
    r"""`source` as plain text.

    In a formula every command is read. In prose (`in_formula` false) a brace or a backslash may be just that, so only
    commands with an argument in braces and the longer names of symbols are: C:\new, \d+ and {query} stay.
    """
    text = _Reader(source, in_formula=in_formula).read()
    return _FORMULA.sub(lambda match: match.group().replace("_", ""), text) if in_formula else text


class _Reader:
    def __init__(self, source: str, *, in_formula: bool) -> None:
        self._source = source
        self._in_formula = in_formula
        self._frames = [_Frame()]
        self._braces: list[str] = []
        self._inside = 0  # braces of commands that are open: inside them the rules of formulas hold
        self._at = 0

    def read(self) -> str:
        while self._at < len(self._source):
            token = _TOKEN.match(self._source, self._at)
            assert token is not None  # noqa: S101 - the alternatives cover every character
            self._at = token.end()
            kind = token.lastgroup
            if kind in {"name", "command"}:
                self._read_command(token[kind], token.group())
            elif kind == "char":
                self._read_char(token["char"], token.group())
            elif kind == "open":
                self._open(_DROPPED if self._is_formula() else _LITERAL)
            elif kind == "close":
                self._close()
            elif kind == "script":
                self._read_script(token.group())
            else:
                self._read_plain(token)
        *open_frames, last = self._frames
        parts = [part for frame in open_frames for part in _unfinished(frame, argument_is_open=True)]
        return "".join([*parts, *_unfinished(last)])

    def _is_formula(self) -> bool:
        return self._in_formula or self._inside > 0

    def _next(self) -> str:
        return self._source[self._at : self._at + 1]

    def _open(self, otherwise: str) -> None:
        """An opening brace has been read: it opens an argument where a command waits for one."""
        kind = otherwise
        if self._frames[-1].pending:
            kind = _ARGUMENT
            self._frames.append(_Frame())
        self._braces.append(kind)
        self._inside += kind != _LITERAL
        if kind == _LITERAL:
            self._emit("{")

    def _close(self) -> None:
        if not self._braces:
            if not self._in_formula:
                self._emit("}")
            return
        kind = self._braces.pop()
        self._inside -= kind != _LITERAL
        if kind != _ARGUMENT:
            self._give_up()
        if kind == _LITERAL:
            self._emit("}")
        elif kind == _ARGUMENT:
            self._emit("".join(_unfinished(self._frames.pop())))

    def _emit(self, value: str) -> None:
        """`value` goes to the command that waits for it, what that makes of it to the one before, and so on."""
        frame = self._frames[-1]
        while frame.pending:
            waiting = frame.pending[-1]
            waiting.arguments.append(value)
            if len(waiting.arguments) < waiting.needed:
                return
            frame.pending.pop()
            value = finish(waiting, frame.out[-1] if frame.out and not frame.pending else "")
        if value:
            frame.out.append(value)

    def _give_up(self) -> None:
        """Nothing more comes for the commands that wait."""
        frame = self._frames[-1]
        if frame.pending:
            frame.out = _unfinished(frame)
            frame.pending.clear()

    def _wait(self, source: str, needed: int, form: str) -> None:
        if len(self._frames) + len(self._frames[-1].pending) < _DEEPEST:
            self._frames[-1].pending.append(Pending(source, needed, form))

    def _read_command(self, name: str, written: str) -> None:
        braced = self._next() == "{"
        root = _ROOT.match(self._source, self._at) if name == "sqrt" else None
        if root:
            braced = self._source[root.end() : root.end() + 1] == "{"
        if not self._is_formula() and not (braced and len(name) > 1) and not self._is_clear(name):
            self._give_up()
            self._emit(written)
        elif name in ARGUMENTS:
            needed, form = ARGUMENTS[name]
            if root:
                self._at = root.end()
                form = ROOTS.get(root[1], f"{root[1].replace('{', '').replace('}', '')}√") + "{0}"
            self._wait(written, needed, form)
        elif name in SYMBOLS:
            self._emit(SYMBOLS[name])
        elif name in FUNCTIONS:
            self._emit(name + (" " if self._next().isalnum() or self._next() == "\\" else ""))
        elif name in {"quad", "qquad"}:
            self._emit(" ")
        elif name in DROPPED:
            if self._next() == ".":  # \left. is no bracket
                self._at += 1
        elif braced:
            self._open_style()
        else:
            self._emit(name)

    def _is_clear(self, name: str) -> bool:
        """Whether `name` is a command of LaTeX in prose too."""
        if name in {"left", "right"}:
            return self._next() in _BRACKETS
        return name in SYMBOLS and (len(name) > 2 or name in _LONG_ENOUGH)

    def _open_style(self) -> None:
        """The argument of a change of type, or of a command nobody knows: its brace is dropped."""
        self._at += 1
        self._open(_DROPPED)

    def _read_char(self, char: str, written: str) -> None:
        before, behind = self._source[max(0, self._at - 3) : self._at - 2], self._next()
        if char == "," and before.isdigit() and behind.isdigit():
            self._emit(_THIN_SPACE)
        elif not self._is_formula():
            self._emit(written)
        else:
            self._emit(_SPACES.get(char, char))

    def _read_script(self, char: str) -> None:
        before = self._source[max(0, self._at - 3) : self._at - 1]
        is_variable = before[-1:].isalpha() and not before[:-1].isalnum()
        if self._is_formula() or self._opens_script(char, is_variable):
            self._wait(char, 1, char)
            if not self._frames[-1].pending:
                self._emit(char)
        else:
            self._emit(char)

    def _opens_script(self, char: str, is_variable: bool) -> bool:
        r"""Whether ^ or _ is a command in prose: in x^{2}, 90^\circ and x_{1}, but not in {name}_{id}."""
        if char == "^":
            return self._source.startswith(("{", "\\circ"), self._at)
        return is_variable and self._next() == "{"

    def _read_plain(self, token: re.Match[str]) -> None:
        plain = token.group()
        if not self._is_formula() and plain.strip():
            self._give_up()
        if not self._frames[-1].pending:
            if self._is_formula():
                plain = plain.replace("~", " ")
            self._frames[-1].out.append(plain)
            return
        argument = plain.lstrip()[:1]  # one character, as in \frac12 and x^2
        if argument:
            self._at = token.start() + plain.index(argument) + 1
            self._emit(argument)


def _unfinished(frame: _Frame, *, argument_is_open: bool = False) -> list[str]:
    """What the frame holds, also of commands that never got all their arguments."""
    parts = list(frame.out)
    for command in frame.pending:
        parts += command.arguments or ([] if argument_is_open else [command.source])
    return parts
