"""Where each token of a script stands: between what, in which bracket, and what it therefore is."""

from __future__ import annotations

from collections.abc import Sequence

from app.web.scripts.tokens import Kind, Token

_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")

_BEFORE_CONDITION = frozenset({"if", "while", "for", "switch", "await"})
"""Behind these a parenthesis holds no parameters, although a block may follow it."""

_DECLARING = frozenset({"const", "let", "var", "function", "class"})

_BEFORE_MEMBERS = frozenset("=([,:?&|") | {"return", "const", "let", "var", "...", "import", "export"}
"""Behind these a brace holds members; elsewhere it begins a block, or a class."""

_SPEAKING = (Kind.MARK, Kind.NAME)
"""What tells by its text what stands beside it."""

_BEFORE_MEMBER = frozenset({"{", "}", ",", ";", "get", "set", "async", "static", "*"})


class Places:
    """The brackets of a script, and what its names are by where they stand."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        """Raises `ValueError` for brackets that do not close."""
        self._tokens = tokens
        # One more at either end, so that what stands before the first and behind the last is nothing.
        self._texts = ["", *(each.text if each.kind in _SPEAKING else "" for each in tokens), "", ""]
        self._around: list[int | None] = []
        """By token: which one opened the bracket that it stands in."""
        self._closers: dict[int, int] = {}
        """By the token that opens a bracket: the one that closes it."""
        self._openers: dict[int, int] = {}
        """The other way round."""
        self._class_bodies: set[int] = set()
        self._find_brackets()

    def text(self, place: int | None) -> str:
        """The mark or name at a place; empty beyond the ends, and for strings and numbers."""
        return self._texts[max(place, -1) + 1] if place is not None else ""

    def is_exported(self, place: int) -> bool:
        """Whether the name here is how other files know this."""
        if self._stands_for_two(place):
            return self.text(self._opener(place) - 1) == "export"
        before, two_before = self.text(place - 1), (self.text(place - 2), self.text(place - 3))
        return before == "import" or (before in _DECLARING and "export" in two_before)

    def is_member(self, place: int) -> bool:
        """Whether the name here is one of a member only, and says nothing of a variable of that name."""
        before, after, around = self.text(place - 1), self.text(place + 1), self._around[place]
        if before in (".", "?.", "as") or after == "as":
            return True
        if around in self._class_bodies:
            return before in _BEFORE_MEMBER
        return self._holds_members(around) and before in _BEFORE_MEMBER and after in (":", "(")

    def other_name(self, place: int) -> str:
        """What goes between a name that stands for itself here and the one that it gets; empty where it just changes.

        `{ kept }` is short for `{ kept: kept }`, in a pattern as in a literal, and `import { kept }` likewise.
        """
        if not self._stands_for_two(place):
            return ""
        return " as " if self.text(self._opener(place) - 1) == "import" else ":"

    def is_declared(self, place: int) -> bool:
        """Whether the name here is made here: a variable, a function, a class, a parameter, or an import."""
        before, after, around = self.text(place - 1), self.text(place + 1), self._around[place]
        if before in _DECLARING or after == "=>":
            return True
        if around is None:
            return False
        if self._stands_for_two(place):
            return self._is_pattern(around)
        if self.text(around) == "[":
            return self._is_pattern(around) and before in ("[", ",", "...")
        is_item = before in ("(", ",", "...") and after in (",", ")", "=")
        return is_item and self.text(around) == "(" and self._holds_parameters(around)

    def is_superfluous(self, place: int) -> bool:
        """Whether the mark here says nothing: a semicolon or a comma behind the last of its kind."""
        mark, before, after = self.text(place), self.text(place - 1), self.text(place + 1)
        if mark == ",":
            return after in _CLOSING and before not in (",", "[")
        if mark != ";" or after != "}" or before in (";", "{", "else", "do"):
            return False
        # Behind `while (...)` and the like it is a statement of its own, and an empty one.
        return before != ")" or self.text(self._openers[place - 1] - 1) not in _BEFORE_CONDITION

    def _stands_for_two(self, place: int) -> bool:
        """Whether the name here is a member and a variable at once."""
        before, after = self.text(place - 1), self.text(place + 1)
        is_alone = before in ("{", ",") and after in (",", "}", "=")
        return is_alone and self._holds_members(self._around[place])

    def _holds_members(self, opener: int | None) -> bool:
        return opener is not None and self.text(opener) == "{" and self.text(opener - 1) in _BEFORE_MEMBERS

    def _is_pattern(self, opener: int) -> bool:
        """Whether what the bracket holds is taken apart: it is declared, imported, or a parameter."""
        before, around = self.text(opener - 1), self._around[opener]
        if before in ("const", "let", "var", "import"):
            return True
        if around is None:
            return False
        if before in ("(", ",") and self.text(around) == "(":
            return self._holds_parameters(around)
        return before in ("[", ",", ":") and self.text(around) in ("[", "{") and self._is_pattern(around)

    def _holds_parameters(self, opener: int) -> bool:
        following = self._follows_bracket(opener)
        return following == "=>" or (following == "{" and self.text(opener - 1) not in _BEFORE_CONDITION)

    def _follows_bracket(self, opener: int) -> str:
        return self.text(self._closers[opener] + 1)

    def _opener(self, place: int) -> int:
        """What opened the bracket around; -1 outside of all."""
        around = self._around[place]
        return -1 if around is None else around

    def _find_brackets(self) -> None:
        open_ones: list[int] = []
        is_class = False
        for place, (_, kind, text) in enumerate(self._tokens):
            closes = text[0] == "}" if kind is Kind.PIECE else kind is Kind.MARK and text in _CLOSING
            opens = text.endswith("${") if kind is Kind.PIECE else kind is Kind.MARK and text in _OPENING
            if closes:
                if not open_ones:
                    raise ValueError("a bracket is closed that was not opened")
                opener = open_ones.pop()
                self._closers[opener], self._openers[place] = place, opener
            self._around.append(open_ones[-1] if open_ones else None)
            if kind is Kind.NAME and text == "class":
                is_class = self.text(place + 1) != ":"  # `{ class: "note" }` begins none.
            elif is_class and kind is Kind.MARK and text == "{":
                self._class_bodies.add(place)
                is_class = False
            if opens:
                open_ones.append(place)
        if open_ones:
            raise ValueError("a bracket is not closed")
