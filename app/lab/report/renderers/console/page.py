"""Texts and tables of a report on a console, translated and free of control characters."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.core import messages
from app.core.messages import Say

_CONTROLS = dict.fromkeys([*range(0x0A), *range(0x0B, 0x20), *range(0x7F, 0xA0)], "?")
"""Control characters by their replacement. The line feed is kept, because headings contain it."""


def plain(text: str) -> Text:
    """Return literal text: brackets are not markup, and control characters become question marks.

    An imported run may contain control sequences, which a terminal would execute.
    """
    return Text(text.translate(_CONTROLS))


@dataclass(frozen=True, slots=True)
class Page:
    """A console, and the function that makes text in its reader's language."""

    console: Console
    translate: Say

    def say(self, text: messages.Text, *, style: str = "", one_line: bool = False) -> None:
        """Print a text. Where the output is no terminal, `one_line` keeps it on one line, so that a log can be searched."""
        is_wrapped = self.console.is_terminal or not one_line
        self.console.print(plain(self.translate(text)), style=style or None, soft_wrap=not is_wrapped)

    def say_each(self, texts: Iterable[messages.Text], *, style: str = "", one_line: bool = False) -> None:
        """Print texts one below the other."""
        for text in texts:
            self.say(text, style=style, one_line=one_line)

    def say_command(self, command: messages.Text) -> None:
        """Print a command that a reader copies: a terminal wraps it without a line feed in it."""
        self.console.print(plain(self.translate(command)), soft_wrap=True)

    def table(
        self,
        headings: Sequence[messages.Text],
        rows: Iterable[Sequence[messages.Text]],
        *,
        texts: Sequence[int],
        muted: Collection[int] = (),
    ) -> None:
        """Print a table without a frame, so that 80 columns are enough.

        `texts`: indices of columns that are aligned left. `muted`: those of rows that are grey.
        """
        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
        for index, heading in enumerate(headings):
            table.add_column(
                plain(self.translate(heading)),
                justify="left" if index in texts else "right",
                overflow="fold",
            )
        for index, row in enumerate(rows):
            cells = (plain(self.translate(cell)) for cell in row)
            table.add_row(*cells, style="dim" if index in muted else None)
        self.console.print(table)
