"""Progress of a run, shown to people between trials only, because drawing uses CPU time.

Names come from plan files: they are printed literally, neither as rich's markup nor as control sequences.
"""

from __future__ import annotations

from typing import TextIO

from app.core.messages import Message
from app.core.plan.scenario import TrialSpec
from app.core.sentence import Sentence
from app.core.trial import TrialRecord
from app.i18n import LANGUAGES, Words, in_language, text
from app.lab.run.live_rows import IN_A_ROW, InvalidStreak, LiveRow, LiveRows
from app.server.room.notes import cause_sentence


class Progress:
    """Receives events of a run; a subclass ignores those that it does not define.

    The runner calls `start` once, `trial` before each trial, `kept` after each, `note` at any time, and `finish` at the
    end. `trials` counts trials and idle windows of the whole run, `done` those that are over; `left_s` is the estimated
    time left in seconds.
    """

    def start(self, *, trials: int, left_s: float) -> None:
        """Handle the start of a run."""

    def trial(self, spec: TrialSpec, *, done: int, trials: int, left_s: float) -> None:
        """Handle the start of a trial or idle window. `trials` grows when a block is repeated."""

    def kept(self, record: TrialRecord, *, is_valid: bool) -> None:
        """Handle the end of a trial or idle window, which is in the store. `is_valid`: no warning voids it."""

    def note(self, sentence: str) -> None:
        """Show a remark on the run."""

    def finish(self) -> None:
        """Handle the end of the run, for whatever reason."""


class PlainProgress(Progress):
    """Progress as plain lines for logs and pipes: one at the start, and one per tenth of the trials with running medians."""

    def __init__(self, stream: TextIO, language: str = LANGUAGES[0]) -> None:
        self._stream = stream
        self._words = Words(language)
        self._tenth = 0
        self._rows = LiveRows()
        self._streak = InvalidStreak()

    def start(self, *, trials: int, left_s: float) -> None:
        """Print the count of trials and idle windows, and the estimated duration."""
        self._say(self._words.say("progress.start", trials=trials, left=duration(left_s, self._words)))

    def trial(self, spec: TrialSpec, *, done: int, trials: int, left_s: float) -> None:
        """Print a line when another tenth is done."""
        tenth = done * 10 // trials
        if tenth == self._tenth:
            return
        self._tenth = tenth
        left = self._words.say("progress.left", left=duration(left_s, self._words))
        line = self._words.say(
            "progress.line", percent=f"{tenth * 10:3d}", done=done, trials=trials, left=left
        )
        rows = [(row.title, median_text(row, self._words)) for row in self._rows.rows.values()]
        self._say("  ".join([line, *(f"{title} {median}" for title, median in rows if median)]))

    def kept(self, record: TrialRecord, *, is_valid: bool) -> None:
        """Take the trial into its arm's median, and say so after three invalid repetitions in a row."""
        self._rows.add(record, is_valid=is_valid)
        if self._streak.add(record, is_valid=is_valid):
            self._say(self._words.say("progress.invalid_streak", count=IN_A_ROW))

    def note(self, sentence: str) -> None:
        """Print the remark."""
        self._say(translated(sentence, self._words.language))

    def _say(self, line: str) -> None:
        print(literal(line), file=self._stream, flush=True)


class Both(Progress):
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

    def kept(self, record: TrialRecord, *, is_valid: bool) -> None:
        """Pass it on to both."""
        for each in self._listeners:
            each.kept(record, is_valid=is_valid)

    def note(self, sentence: str) -> None:
        """Pass it on to both."""
        for each in self._listeners:
            each.note(sentence)

    def finish(self) -> None:
        """Pass it on to both."""
        for each in self._listeners:
            each.finish()


def describe(spec: TrialSpec, words: Words) -> str:
    """Return a short description of a trial: arm (or "idle") and count of clients."""
    what = words.say("progress.idle") if spec.idle else literal(spec.arm.name)
    key = "progress.client" if spec.clients == 1 else "progress.clients"
    return words.say(key, what=what, count=spec.clients)


def median_text(row: LiveRow, words: Words) -> str:
    """Return an arm's running median; "" before its first delay."""
    if row.median_ms is None:
        return ""
    key = "progress.median" if row.valid else "progress.median_seen"
    return words.say(key, median_ms=text(Message("screen.figure", {"n": row.median_ms}), words.language))


def translated(sentence: str, language: str) -> str:
    """Return a remark in the reader's language; one without a code is returned as it is."""
    if not isinstance(sentence, Sentence):
        return sentence
    if (why := cause_sentence(sentence.places.get("why_code"), language)) is None:
        return in_language(language, sentence)
    return in_language(language, Sentence(sentence, sentence.code, {**sentence.places, "why": why}))


def literal(printed: str) -> str:
    """Return the text with a question mark for each unprintable character, which a terminal might execute."""
    return "".join(each if each.isprintable() else "?" for each in printed)


def duration(seconds: float, words: Words) -> str:
    """Return a duration as text: seconds, or minutes from two minutes on."""
    if seconds < 120:
        return words.say("progress.seconds", count=max(0, round(seconds)))
    return words.say("progress.minutes", count=round(seconds / 60))
