"""A script as a row of tokens: as much of JavaScript's grammar as renaming needs.

Comments are gone already. A template is several tokens, with the code between its pieces in between:

    `a ${b} c`   is   `a ${   b   } c`
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import NamedTuple


class Kind(Enum):
    """What a token is."""

    NAME = auto()
    """A keyword is one too."""
    PRIVATE = auto()
    """A class's own, as `#kept`."""
    TEXT = auto()
    """A string, a regular expression, or a number."""
    PIECE = auto()
    """Of a template: from a backtick or a brace that ends code, to a backtick or what begins code."""
    MARK = auto()


class Token(NamedTuple):
    """One token, and the white space before it."""

    gap: str
    kind: Kind
    text: str


_TOKEN = re.compile(
    r"""
    (?P<gap> \s*)
    (?: (?P<NAME> [A-Za-z_$][\w$]*)
      | (?P<PRIVATE> \#[A-Za-z_$][\w$]*)
      | (?P<TEXT>
          "(?:[^"\\\n]|\\.)*"
        | '(?:[^'\\\n]|\\.)*'
        | 0[xX][\da-fA-F_]+n?
        | (?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?n?
        )
      | (?P<MARK> \.\.\. | \?\.(?!\d) | => | [^\w\s])
    )
    """,
    re.VERBOSE | re.DOTALL,
)

_PIECE = re.compile(r"[`}](?:[^`\\$]|\\.|\$(?!\{))*(?:`|\$\{)", re.DOTALL)

_EXPRESSION = re.compile(r"/(?![*/])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")

_BEFORE_EXPRESSION = frozenset(
    ["return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "else", "do", "await", "yield"]
)
"""Behind these words, and behind most marks, a slash begins a regular expression; elsewhere it divides."""


def tokenize(script: str) -> list[Token]:
    """All tokens of a script without comments. Raises `ValueError` for what is no JavaScript."""
    found: list[Token] = []
    braces: list[str] = []
    """Open ones: `{`, or `${` of a template."""
    position, end = 0, len(script.rstrip())
    while position < end:
        token = _next(script, position, is_in_code=braces[-1:] == ["${"], last=found[-1:])
        _count_braces(braces, token.kind, token.text)
        found.append(token)
        position += len(token.gap) + len(token.text)
    return found


def _next(script: str, position: int, *, is_in_code: bool, last: list[Token]) -> Token:
    """`is_in_code`: a brace that is closed here ends the code within a template."""
    found = _TOKEN.match(script, position)
    if found is None or found.lastgroup is None:
        raise ValueError(f"no JavaScript: {script[position : position + 40]!r}")
    gap, kind, text = found["gap"], Kind[found.lastgroup], found[found.lastgroup]
    if text == "`" or (text == "}" and is_in_code):
        kind, text = Kind.PIECE, _matched(_PIECE, script, found.end("gap"))
    elif text == "/" and _may_begin_expression(last):
        expression = _matched(_EXPRESSION, script, found.end("gap"))
        kind, text = (Kind.TEXT, expression) if expression else (kind, text)
    if not text:
        raise ValueError(f"a template does not end: {script[position : position + 40]!r}")
    return Token(gap, kind, text)


def _matched(pattern: re.Pattern[str], script: str, position: int) -> str:
    found = pattern.match(script, position)
    return found.group() if found else ""


def _may_begin_expression(last: list[Token]) -> bool:
    if not last:
        return True
    _, kind, text = last[0]
    if kind is Kind.MARK:
        return text not in (")", "]", "}")
    return kind is Kind.NAME and text in _BEFORE_EXPRESSION


def _count_braces(braces: list[str], kind: Kind, text: str) -> None:
    if kind is Kind.PIECE:
        if text[0] == "}":
            braces.pop()
        if text.endswith("${"):
            braces.append("${")
    elif kind is Kind.MARK and text == "{":
        braces.append("{")
    elif kind is Kind.MARK and text == "}" and braces:
        braces.pop()
