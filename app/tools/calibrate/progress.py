"""Progress of a calibration: one line that is overwritten on a terminal, a line for each quarter in a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self, TextIO

from app.i18n import Words
from app.lab.analysis.words import TRANSPORT_TITLES
from app.tools.calibrate.case import Case

LOG_LINES = 4


@dataclass(slots=True)
class Progress:
    """Progress display, updated between trials only. It erases its line on a terminal at the end."""

    stream: TextIO
    words: Words
    seconds: Sequence[float]
    """Approximate duration of each case."""
    _done: int = field(init=False, default=0)

    def __enter__(self) -> Self:
        self._say(self.words.say("start", count=len(self.seconds), seconds=round(sum(self.seconds))))
        return self

    def __exit__(self, *_error: object) -> None:
        if self.stream.isatty():
            self.stream.write("\r\x1b[K")
            self.stream.flush()

    def next(self, case: Case) -> None:
        """Show that a case is about to begin."""
        text = self.words.say(
            "progress",
            number=self._done + 1,
            count=len(self.seconds),
            transport=TRANSPORT_TITLES[case.transport],
            what=self.words.say(f"part_name.{case.part}"),
            seconds=round(sum(self.seconds[self._done :])),
        )
        if self.stream.isatty():
            self.stream.write(f"\r\x1b[K{text}")
            self.stream.flush()
        elif self._done and self._done % -(-len(self.seconds) // LOG_LINES) == 0:
            self._say(text)
        self._done += 1

    def _say(self, text: str) -> None:
        print(text, file=self.stream, flush=True)
