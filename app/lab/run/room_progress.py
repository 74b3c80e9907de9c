"""Progress of a run for the room, sent between trials only: a request during one would cost the server CPU."""

from __future__ import annotations

import contextlib
from typing import Any

from app.core.errors import Conflict, SiarError
from app.core.plan.scenario import Plan, TrialSpec
from app.core.trial import TrialRecord
from app.lab.analysis.descriptive.bands import Bands
from app.lab.run.progress import Progress
from app.lab.run.room_api import RoomOperator
from app.server.room import notes

NOTES_MAX = 20
"""Notes that are shown; older ones are dropped."""


class RoomProgress(Progress):
    """Progress for everybody in the room. A trial is a "round" there; idle windows are not counted."""

    def __init__(self, operator: RoomOperator, plan: Plan) -> None:
        self._operator = operator
        self._plan = plan
        self._bands = Bands(plan)
        self._notes: list[dict[str, Any]] = []
        self._done = 0
        self._is_after_idle = False

    def start(self, *, trials: int, left_s: float) -> None:
        """Send the count of rounds and the estimated duration."""
        self._send(self._rounds(trials), left_s)

    def trial(self, spec: TrialSpec, *, done: int, trials: int, left_s: float) -> None:
        """Send the number of the round and the results so far, except between an idle window and its trial."""
        if not self._is_after_idle:
            self._send(self._done + self._rounds(trials - done), left_s)
        self._is_after_idle = spec.idle

    def kept(self, record: TrialRecord, *, is_valid: bool) -> None:
        """Add the trial to the result bands and count it."""
        self._bands.add(record, is_void=not is_valid)
        self._done += not record.spec.idle

    def note(self, sentence: str) -> None:
        """Show a note from the next round on; drop the oldest above `NOTES_MAX`."""
        self._notes = [*self._notes, notes.to_json(sentence)][-NOTES_MAX:]

    def finish(self) -> None:
        """Send the results with the last block; `finish_room` sends the verdict."""
        with contextlib.suppress(SiarError):  # The run may have ended because the server did.
            self._send(self._done, 0.0)

    def _rounds(self, trials: int) -> int:
        """Return the count of trials among trials and idle windows; each block has one idle window."""
        arms = len(self._plan.arms)
        return trials if self._plan.idle_s == 0 else trials - round(trials / (arms + 1))

    def _send(self, rounds: int, left_s: float) -> None:
        with contextlib.suppress(Conflict):  # The room was closed; the next `RoomWatch.refresh` ends the run.
            self._operator.put_progress(
                {
                    "round": min(self._done + 1, max(rounds, 1)),
                    "rounds": max(rounds, 1),
                    "remaining_s": max(0.0, left_s),
                    "results": self._bands.cells(),
                    "notes": self._notes,
                }
            )
