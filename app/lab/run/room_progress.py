"""Tells the room how a run goes on, between trials only: a request inside one would cost the server CPU."""

from __future__ import annotations

import contextlib
from typing import Any

from app.core.errors import Conflict, SiarError
from app.core.plan.scenario import Plan, TrialSpec
from app.core.trial import TrialRecord
from app.lab.analysis.descriptive.bands import Bands
from app.lab.run.room_api import RoomOperator
from app.server.room import notes

NOTES_MAX = 20


class RoomProgress:
    """A `Progress` whose audience is everybody in the room. What people call a round is a trial; idle windows are none."""

    def __init__(self, operator: RoomOperator, plan: Plan) -> None:
        self._operator = operator
        self._plan = plan
        self._bands = Bands(plan)
        self._notes: list[dict[str, Any]] = []
        self._done = 0
        self._is_behind_idle = False

    def start(self, *, trials: int, left_s: float) -> None:
        """The length of the whole."""
        self._tell(self._rounds(trials), left_s)

    def trial(self, spec: TrialSpec, *, done: int, trials: int, left_s: float) -> None:
        """The number of the round, and what came out so far; not between an idle window and its trial."""
        if not self._is_behind_idle:
            self._tell(self._done + self._rounds(trials - done), left_s)
        self._is_behind_idle = spec.idle

    def kept(self, record: TrialRecord, *, is_void: bool) -> None:
        """One more that the bands are made of."""
        self._bands.add(record, is_void=is_void)
        self._done += not record.spec.idle

    def note(self, text: str) -> None:
        """Shown with the next round; the oldest gives way."""
        self._notes = [*self._notes, notes.to_json(text)][-NOTES_MAX:]

    def finish(self) -> None:
        """The last block too; how it ended is another request's."""
        with contextlib.suppress(SiarError):  # It may have ended because the server did.
            self._tell(self._done, 0.0)

    def _rounds(self, trials: int) -> int:
        """Trials of that many trials and idle windows, of which each block has one."""
        arms = len(self._plan.arms)
        return trials if self._plan.idle_s == 0 else trials - round(trials / (arms + 1))

    def _tell(self, rounds: int, left_s: float) -> None:
        with contextlib.suppress(Conflict):  # The room was closed: the next look at it ends the run.
            self._operator.put_progress(
                {
                    "round": min(self._done + 1, max(rounds, 1)),
                    "rounds": max(rounds, 1),
                    "remaining_s": max(0.0, left_s),
                    "results": self._bands.cells(),
                    "notes": self._notes,
                }
            )
