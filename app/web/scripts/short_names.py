"""A script with short names for what only it knows, so that the repository's may be whole words.

A variable's name becomes another in all of its file or nowhere in it, and the new one is nobody's there: so nothing can
be taken for something else, in whatever scope. Names of members, of exports, and what the browser brings stay as they
are. Those of a class's own (`#kept`) are no one else's and can always be shorter.
"""

from __future__ import annotations

import itertools
import string
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from app.web.scripts.places import Places
from app.web.scripts.tokens import Kind, Token, tokenize

_RESERVED = frozenset(
    {"arguments", "as", "async", "await", "break", "case", "catch", "class", "const", "continue", "debugger"}
    | {
        "default",
        "delete",
        "do",
        "else",
        "enum",
        "eval",
        "export",
        "extends",
        "false",
        "finally",
        "for",
        "from",
    }
    | {"function", "get", "if", "implements", "import", "in", "instanceof", "interface", "let", "new", "null"}
    | {
        "of",
        "package",
        "private",
        "protected",
        "public",
        "return",
        "set",
        "static",
        "super",
        "switch",
        "this",
    }
    | {"throw", "true", "try", "typeof", "undefined", "var", "void", "while", "with", "yield"}
)
"""Words of the language, those among them that are words only in places."""

_BROWSERS = frozenset(
    {
        "document",
        "window",
        "self",
        "globalThis",
        "navigator",
        "location",
        "history",
        "screen",
        "performance",
        "crypto",
    }
    | {
        "fetch",
        "localStorage",
        "indexedDB",
        "setTimeout",
        "clearTimeout",
        "WebSocket",
        "EventSource",
        "Worker",
    }
)
"""What the browser brings. A variable may have the name too, and the next function of the file mean the browser's."""


def with_short_names(script: str) -> str:
    """The same program; the script has no comments any more. Raises `ValueError` for what is no JavaScript."""
    tokens = tokenize(script)
    places = Places(tokens)
    names, privates = _short_names(tokens, places), _short_privates(tokens)
    return "".join(
        token.gap + _written(token, place, places, names, privates)
        for place, token in enumerate(tokens)
        if not places.is_superfluous(place)
    )


def _written(
    token: Token, place: int, places: Places, names: Mapping[str, str], privates: Mapping[str, str]
) -> str:
    if token.kind is Kind.PRIVATE:
        return privates.get(token.text, token.text)
    if token.kind is not Kind.NAME or token.text not in names or places.is_member(place):
        return token.text
    between = places.other_name(place)
    return f"{token.text}{between}{names[token.text]}" if between else names[token.text]


@dataclass(slots=True)
class _Use:
    """How a name is used in a script."""

    count: int = 0
    spelled_out: int = 0
    """Characters that stay or come where it is a member at the same time."""
    is_fixed: bool = False
    is_declared: bool = False

    def saved(self, name: str, short: str) -> int:
        """Characters that the shorter one saves."""
        return self.count * (len(name) - len(short)) - self.spelled_out


def _short_names(tokens: list[Token], places: Places) -> dict[str, str]:
    uses: dict[str, _Use] = {}
    for place, (_, kind, name) in enumerate(tokens):
        if kind is not Kind.NAME or name in _RESERVED or name in _BROWSERS:
            continue
        use = uses.setdefault(name, _Use())
        if places.is_member(place):
            continue
        use.count += 1
        use.is_fixed = use.is_fixed or places.is_exported(place)
        use.is_declared = use.is_declared or places.is_declared(place)
        if between := places.other_name(place):
            use.spelled_out += len(name) + len(between)
    free = {name: use for name, use in uses.items() if use.is_declared and not use.is_fixed}
    taken = {token.text for token in tokens if token.kind is Kind.NAME} | _RESERVED
    fresh = (short for short in _all_names() if short not in taken)
    found: dict[str, str] = {}
    short = next(fresh)
    for name in sorted(free, key=lambda name: -free[name].saved(name, "a")):
        if free[name].saved(name, short) > 0:
            found[name] = short
            short = next(fresh)
    return found


def _short_privates(tokens: Iterable[Token]) -> dict[str, str]:
    counts = Counter(token.text for token in tokens if token.kind is Kind.PRIVATE)
    ordered = [name for name, _ in counts.most_common()]
    return {name: f"#{short}" for name, short in zip(ordered, _all_names(), strict=False)}


def _all_names() -> Iterator[str]:
    """a, b, ... Z, aa, ab, ..."""
    for length in itertools.count(1):
        yield from map("".join, itertools.product(string.ascii_letters, repeat=length))
