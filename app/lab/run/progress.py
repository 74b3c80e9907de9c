"""What a person sees while an experiment runs. Written between trials only: a redraw would cost CPU inside one.

Names come from plan files: they are printed as they are, neither as rich's markup nor as control sequences.
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
    """Promises of the runner: `start` once, `trial` before each trial and `kept` after it, `note` at any time, `finish`."""

    def start(self, *, trials: int, left_s: float) -> None:
        """The run begins: so many trials and idle windows, so long."""

    def trial(self, spec: TrialSpec, *, done: int, trials: int, left_s: float) -> None:
        """A trial is about to begin. `trials` grows when a block is repeated."""

    def kept(self, record: TrialRecord, *, is_void: bool) -> None:
        """A trial or idle window is over and in the store."""

    def note(self, text: str) -> None:
        """Something to know: a sentence."""

    def finish(self) -> None:
        """The run is over, for whatever reason."""


class SilentProgress:
    """Says nothing."""

    def start(self, *, trials: int, left_s: float) -> None:
        """Nothing."""

    def trial(self, spec: TrialSpec, *, done: int, trials: int, left_s: float) -> None:
        """Nothing."""

    def kept(self, record: TrialRecord, *, is_void: bool) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""

    def finish(self) -> None:
        """Nothing."""


class PlainProgress:
    """A line at the start and for every tenth of the way, for logs and pipes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._tenth = 0

    def start(self, *, trials: int, left_s: float) -> None:
        """How much there is to do."""
        self._say(f"{trials} trials and idle windows, about {duration(left_s)}")

    def trial(self, spec: TrialSpec, *, done: int, trials: int, left_s: float) -> None:
        """A line when another tenth is done."""
        if done * 10 // trials > self._tenth:
            self._tenth = done * 10 // trials
            self._say(f"{self._tenth * 10:3d} %  {done} of {trials}  {duration(left_s)} left")

    def kept(self, record: TrialRecord, *, is_void: bool) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """The sentence."""
        self._say(text)

    def finish(self) -> None:
        """Nothing more."""

    def _say(self, text: str) -> None:
        print(literal(text), file=self._stream, flush=True)


class TerminalProgress:
    """One line that is redrawn between trials, with a bar and the time left."""

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
        """The empty bar."""
        self._bar.start()
        self._bar.update(self._task, total=trials, left=f"{duration(left_s)} left", refresh=True)

    def trial(self, spec: TrialSpec, *, done: int, trials: int, left_s: float) -> None:
        """The bar as it is now."""
        self._bar.update(
            self._task,
            description=describe(spec),
            completed=done,
            total=trials,
            left=f"{duration(left_s)} left",
            refresh=True,
        )

    def kept(self, record: TrialRecord, *, is_void: bool) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """The sentence, above the bar."""
        self._bar.console.print(literal(text), markup=False, emoji=False, highlight=False)

    def finish(self) -> None:
        """The bar goes away."""
        self._bar.stop()


class Both:
    """Tells two listeners."""

    def __init__(self, first: Progress, second: Progress) -> None:
        self._listeners = (first, second)

    def start(self, *, trials: int, left_s: float) -> None:
        """Both."""
        for each in self._listeners:
            each.start(trials=trials, left_s=left_s)

    def trial(self, spec: TrialSpec, *, done: int, trials: int, left_s: float) -> None:
        """Both."""
        for each in self._listeners:
            each.trial(spec, done=done, trials=trials, left_s=left_s)

    def kept(self, record: TrialRecord, *, is_void: bool) -> None:
        """Both."""
        for each in self._listeners:
            each.kept(record, is_void=is_void)

    def note(self, text: str) -> None:
        """Both."""
        for each in self._listeners:
            each.note(text)

    def finish(self) -> None:
        """Both."""
        for each in self._listeners:
            each.finish()


def for_stream(stream: TextIO = sys.stderr) -> Progress:
    """Live on a terminal, plain lines elsewhere."""
    return TerminalProgress(Console(file=stream)) if stream.isatty() else PlainProgress(stream)


def describe(spec: TrialSpec) -> str:
    """A trial in a few words."""
    what = "idle" if spec.idle else literal(spec.arm.name)
    return f"{what}, {spec.clients} client{'s' if spec.clients > 1 else ''}"


def literal(text: str) -> str:
    """The text with a question mark for everything that a terminal would obey instead of showing."""
    return "".join(each if each.isprintable() else "?" for each in text)


def duration(seconds: float) -> str:
    """Whole seconds; above two minutes, minutes."""
    if seconds < 120:
        return f"{max(0, round(seconds))} s"
    return f"{round(seconds / 60)} min"
