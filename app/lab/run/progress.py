"""Progress of a run for people. It is written between trials only, because drawing uses CPU time.

Names come from plan files: they are printed literally, neither as rich's markup nor as control sequences.
"""

from __future__ import annotations

import sys
from typing import Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as RichProgress

from app.core.plan.scenario import TrialSpec
from app.core.trial import TrialRecord


class Progress(Protocol):
    """Receives events of a run.

    The runner calls `start` once, `trial` before each trial, `kept` after each, `note` at any time, and `finish` at the end.
    """

    def start(self, *, trials: int, left_s: float) -> None:
        """Handle the start of a run, with its count of trials and idle windows and its estimated duration."""

    def trial(self, spec: TrialSpec, *, done: int, trials: int, left_s: float) -> None:
        """Handle the start of a trial. `trials` grows when a block is repeated."""

    def kept(self, record: TrialRecord, *, is_void: bool) -> None:
        """Handle the end of a trial or idle window, which is in the store."""

    def note(self, text: str) -> None:
        """Show a sentence."""

    def finish(self) -> None:
        """Handle the end of the run, for whatever reason."""


class SilentProgress:
    """Progress that shows nothing."""

    def start(self, *, trials: int, left_s: float) -> None:
        """Do nothing."""

    def trial(self, spec: TrialSpec, *, done: int, trials: int, left_s: float) -> None:
        """Do nothing."""

    def kept(self, record: TrialRecord, *, is_void: bool) -> None:
        """Do nothing."""

    def note(self, text: str) -> None:
        """Do nothing."""

    def finish(self) -> None:
        """Do nothing."""


class PlainProgress:
    """Progress as plain lines for logs and pipes: one at the start and one per tenth of the trials."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._tenth = 0

    def start(self, *, trials: int, left_s: float) -> None:
        """Print the count of trials and the estimated duration."""
        self._say(f"{trials} trials and idle windows, about {duration(left_s)}")

    def trial(self, spec: TrialSpec, *, done: int, trials: int, left_s: float) -> None:
        """Print a line when another tenth is done."""
        if done * 10 // trials > self._tenth:
            self._tenth = done * 10 // trials
            self._say(f"{self._tenth * 10:3d} %  {done} of {trials}  {duration(left_s)} left")

    def kept(self, record: TrialRecord, *, is_void: bool) -> None:
        """Do nothing."""

    def note(self, text: str) -> None:
        """Print the sentence."""
        self._say(text)

    def finish(self) -> None:
        """Do nothing."""

    def _say(self, text: str) -> None:
        print(literal(text), file=self._stream, flush=True)


class TerminalProgress:
    """Progress as a bar on a terminal with the time left, redrawn between trials."""

    def __init__(self, console: Console) -> None:
        self._bar = RichProgress(
            TextColumn("{task.description:<24}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}", markup=False),
            console=console,
            auto_refresh=False,
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=None, left="")

    def start(self, *, trials: int, left_s: float) -> None:
        """Show the empty bar."""
        self._bar.start()
        self._bar.update(self._task, total=trials, left=f"{duration(left_s)} left", refresh=True)

    def trial(self, spec: TrialSpec, *, done: int, trials: int, left_s: float) -> None:
        """Redraw the bar."""
        self._bar.update(
            self._task,
            description=describe(spec),
            completed=done,
            total=trials,
            left=f"{duration(left_s)} left",
            refresh=True,
        )

    def kept(self, record: TrialRecord, *, is_void: bool) -> None:
        """Do nothing."""

    def note(self, text: str) -> None:
        """Print the sentence above the bar."""
        self._bar.console.print(literal(text), markup=False, emoji=False, highlight=False)

    def finish(self) -> None:
        """Remove the bar."""
        self._bar.stop()


class Both:
    """Progress that passes each event to two others."""

    def __init__(self, first: Progress, second: Progress) -> None:
        self._listeners = (first, second)

    def start(self, *, trials: int, left_s: float) -> None:
        """Pass it on to both."""
        for each in self._listeners:
            each.start(trials=trials, left_s=left_s)

    def trial(self, spec: TrialSpec, *, done: int, trials: int, left_s: float) -> None:
        """Pass it on to both."""
        for each in self._listeners:
            each.trial(spec, done=done, trials=trials, left_s=left_s)

    def kept(self, record: TrialRecord, *, is_void: bool) -> None:
        """Pass it on to both."""
        for each in self._listeners:
            each.kept(record, is_void=is_void)

    def note(self, text: str) -> None:
        """Pass it on to both."""
        for each in self._listeners:
            each.note(text)

    def finish(self) -> None:
        """Pass it on to both."""
        for each in self._listeners:
            each.finish()


def for_stream(stream: TextIO = sys.stderr) -> Progress:
    """Return a bar for a terminal, and plain lines for other streams."""
    return TerminalProgress(Console(file=stream)) if stream.isatty() else PlainProgress(stream)


def describe(spec: TrialSpec) -> str:
    """Return a short description of a trial."""
    what = "idle" if spec.idle else literal(spec.arm.name)
    return f"{what}, {spec.clients} client{'s' if spec.clients > 1 else ''}"


def literal(text: str) -> str:
    """Return the text with a question mark for each unprintable character, which a terminal might execute."""
    return "".join(each if each.isprintable() else "?" for each in text)


def duration(seconds: float) -> str:
    """Return a duration as text: seconds, or minutes from two minutes on."""
    if seconds < 120:
        return f"{max(0, round(seconds))} s"
    return f"{round(seconds / 60)} min"
