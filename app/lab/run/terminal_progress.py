"""Progress of a run on a terminal: a row for each arm with its running median, a bar, and who else uses the CPU.

It is redrawn between trials only, because drawing and looking at other programs use CPU time.
"""

from __future__ import annotations

import sys
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as RichProgress
from rich.table import Table
from rich.text import Text

from app.core.plan.scenario import TrialSpec
from app.core.trial import TrialRecord
from app.i18n import LANGUAGES, Words
from app.lab.measure.other_programs import OtherProgram, OtherPrograms
from app.lab.run.live_rows import IN_A_ROW, InvalidStreak, LiveRows
from app.lab.run.progress import (
    PlainProgress,
    Progress,
    describe,
    duration,
    literal,
    median_text,
    translated,
)


class TerminalProgress(Progress):
    """Progress as rows and a bar, removed at the end.

    `names_others`: name the busiest other program. It is false where the server under test may be one of them.
    """

    def __init__(self, console: Console, language: str = LANGUAGES[0], *, names_others: bool = True) -> None:
        self._words = Words(language)
        self._bar = RichProgress(
            TextColumn("{task.description:<24}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}", markup=False),
            console=console,
            auto_refresh=False,
        )
        self._task = self._bar.add_task(self._words.say("progress.starting"), total=None, left="")
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._rows = LiveRows()
        self._streak = InvalidStreak()
        self._others = OtherPrograms() if names_others else None
        self._other: OtherProgram | None = None

    def start(self, *, trials: int, left_s: float) -> None:
        """Show the empty bar."""
        if self._others is not None:
            self._others.busiest()
        self._live.start()
        self._bar.update(self._task, total=trials, left=self._left(left_s))
        self._draw()

    def trial(self, spec: TrialSpec, *, done: int, trials: int, left_s: float) -> None:
        """Redraw with the trial's description and the time left."""
        self._bar.update(
            self._task,
            description=describe(spec, self._words),
            completed=done,
            total=trials,
            left=self._left(left_s),
        )
        self._draw()

    def kept(self, record: TrialRecord, *, is_valid: bool) -> None:
        """Take the trial into its arm's row, and say so after three invalid repetitions in a row."""
        self._rows.add(record, is_valid=is_valid)
        if self._others is not None:
            self._other = self._others.busiest()
        if self._streak.add(record, is_valid=is_valid):
            self.note(self._words.say("progress.invalid_streak", count=IN_A_ROW))

    def note(self, sentence: str) -> None:
        """Print the remark above the rows."""
        said = literal(translated(sentence, self._words.language))
        self._live.console.print(said, markup=False, emoji=False, highlight=False)

    def finish(self) -> None:
        """Remove rows and bar."""
        self._live.stop()

    def _draw(self) -> None:
        parts: list[Table | RichProgress | Text] = [self._table(), self._bar]
        if self._other is not None:
            percent = round(100 * self._other.share)
            said = self._words.say("progress.other", name=literal(self._other.name), percent=percent)
            parts.append(Text(said, style="yellow"))
        self._live.update(Group(*parts), refresh=True)

    def _table(self) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
        table.add_column()
        table.add_column(justify="right")
        table.add_column(justify="right")
        for row in self._rows.rows.values():
            rounds = self._words.say("progress.rounds", valid=row.valid, rounds=row.rounds)
            # Text objects: an arm's name may contain brackets, which are markup to rich.
            cells = (literal(row.title), rounds, median_text(row, self._words))
            table.add_row(*map(Text, cells), style=None if row.valid else "dim")
        return table

    def _left(self, left_s: float) -> str:
        return self._words.say("progress.left", left=duration(left_s, self._words))


def for_stream(
    stream: TextIO = sys.stderr, language: str = LANGUAGES[0], *, names_others: bool = True
) -> Progress:
    """Return progress that is written to `stream`: rows and a bar on a terminal, plain lines elsewhere.

    `names_others`: as in `TerminalProgress`.
    """
    if stream.isatty():
        return TerminalProgress(Console(file=stream), language, names_others=names_others)
    return PlainProgress(stream, language)
