"""A run with phones from the empty room to the report: gather, count down, measure, publish the result.

The room starts the countdown when enough phones are ready, and the operator may start with fewer. Whatever ends the run early,
finished trials are analysed and kept, and the phones are released.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.core.errors import SiarError, Unfit
from app.core.messages import Message
from app.core.plan.classroom import length_s, with_phones
from app.core.plan.scenario import Plan, plan_to_json
from app.i18n import LANGUAGES, text
from app.lab.analysis.analyse import Analysis, analyse
from app.lab.analysis.headline import headline
from app.lab.analysis.words import arm_title
from app.lab.measure import host
from app.lab.report.data.headline import verdict_json
from app.lab.report.data.phone_results import write_participants, write_phone_results
from app.lab.report.files import write_all
from app.lab.run.api import Server
from app.lab.run.client_link import Stopped
from app.lab.run.laboratory import Laboratory
from app.lab.run.participant_pool import ParticipantPool, phones_of
from app.lab.run.phones import Phones
from app.lab.run.progress import Both, Progress
from app.lab.run.room_api import Room, RoomOperator
from app.lab.run.room_progress import RoomProgress
from app.lab.run.runner import run_in_laboratory
from app.store import run_ids as naming
from app.store.plans import check_for_phones
from app.store.store import FILE_NAME, RunHead, Store

LOOK_S = 0.5
"""Period of polling the room while phones gather."""

KEEP_ALIVE_S = 5.0
"""Period of requests while the report is computed; the room closes after a minute without one."""

SIMULATED = "simulated"
"""Word in the model of a phone that is a program."""

HEADINGS = (
    *("room.heading.transport", "heading.phones", "heading.median_ms", "heading.p95_ms"),
    *("room.heading.cpu_us_per_delivery", "room.heading.delivered"),
    *("heading.late", "heading.lost", "heading.blocks"),
)
"""Headings of the table on the big screen, by their keys."""


@dataclass(slots=True)
class RoomRun:
    """One run with phones."""

    plan: Plan
    server: Server
    runs_dir: Path
    run: str
    wanted_count: int
    progress: Progress
    settings: Mapping[str, object] = field(default_factory=dict)
    """The caller's settings, for the run's conditions."""
    stop: Callable[[], bool] = lambda: False
    operator: RoomOperator = field(init=False)
    _is_result_sent: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.operator = RoomOperator(self.server, self.run)

    @property
    def folder(self) -> Path:
        """Folder of the run."""
        return self.runs_dir / self.run

    def execute(self) -> Analysis | None:
        """Gather phones, run the plan and write the report; return its analysis, `None` if stopped before measuring.

        Raises `Malformed` for a plan that phones cannot run, and `Unfit` after the report if the run failed.
        """
        check_for_phones(self.plan)
        with self._room():
            try:
                room = self._gathered()
            except (KeyboardInterrupt, Stopped):
                return None
            return self._measure(room)

    @contextlib.contextmanager
    def _room(self) -> Iterator[None]:
        """Open the room, and close it at the end unless the result was sent."""
        self.operator.open_room(
            wanted_count=self.wanted_count,
            length_s=length_s(self.plan),
            plan=plan_to_json(self.plan),
        )
        try:
            yield
        finally:
            if not self._is_result_sent:
                with contextlib.suppress(
                    SiarError
                ):  # The room may be closed already, or the server may be gone.
                    self.operator.close_room()

    def _gathered(self) -> Room:
        """Wait for the end of the countdown; return the room. Raises `Stopped` when the room was closed."""
        while True:
            room = self.operator.room()
            if self.stop() or room["run"] != self.run or room["phase"] == "closed":
                raise Stopped
            if room["phase"] == "running":
                return room
            time.sleep(LOOK_S)

    def _measure(self, room: Room) -> Analysis | None:
        found = phones_of(room)
        if not found:
            raise Unfit("Everybody left during the countdown: there is no phone to measure with.")
        pool = ParticipantPool(found, seed=self.plan.seed)
        plan = with_phones(self.plan, len(pool.phones))
        progress = Both(self.progress, RoomProgress(self.operator, plan))
        analysis = None
        try:
            run_in_laboratory(
                self._head(plan, pool),
                self.folder,
                lambda store: self._laboratory(plan, pool, store, progress),
                progress,
                folder_exists=True,
            )
        finally:
            if (self.folder / FILE_NAME).is_file():
                analysis = self._report(pool)
        return analysis

    def _head(self, plan: Plan, pool: ParticipantPool) -> RunHead:
        return RunHead(
            id=self.run,
            started=naming.utc_now(),
            plan=plan,
            conditions={
                **host.conditions(settings=self.settings, server=self.server.version),
                "participants": [
                    {"client": each.client, "pseudonym": each.pseudonym, "model": each.model}
                    for each in pool.phones
                ],
            },
            simulated=any(SIMULATED in (each.model or "").casefold() for each in pool.phones),
        )

    @contextlib.contextmanager
    def _laboratory(
        self, plan: Plan, pool: ParticipantPool, store: Store, progress: Progress
    ) -> Iterator[Laboratory]:
        # Before the first trial, so that participants can be found even if the run is interrupted.
        write_participants(self.folder, _with_names(pool))
        yield Phones(self.run, plan, self.server, pool, store, progress.note, self.stop)

    @contextlib.contextmanager
    def _keep_alive(self) -> Iterator[None]:
        """Keep the room open during computations, which take minutes for a large run."""
        is_over = threading.Event()

        def poll() -> None:
            while not is_over.wait(KEEP_ALIVE_S):
                with contextlib.suppress(SiarError):  # Without a room the report is still written.
                    self.operator.room()

        polling = threading.Thread(target=poll, name="siar-keep-alive", daemon=True)
        polling.start()
        try:
            yield
        finally:
            is_over.set()
            polling.join()

    def _report(self, pool: ParticipantPool) -> Analysis:
        """Write the report and the phones' results, and send the result to the room; return the analysis."""
        with self._keep_alive():
            with Store.open(self.folder) as store:
                analysis = analyse(store.load())
            write_all(analysis, self.folder)
            found = headline(analysis)
            verdict = verdict_json(found.kind, found.sentence)
            keys = write_phone_results(analysis, self.folder, verdict, [each.client for each in pool.phones])
        with contextlib.suppress(SiarError):  # Without a room the report is still there.
            self.operator.finish_room(
                {
                    "verdict": verdict,
                    "table": result_table(analysis),
                    "downloads": [
                        {"name": "report.html", "url": f"/api/runs/{self.run}/report"},
                        {"name": "export.zip", "url": f"/api/runs/{self.run}/export.zip"},
                    ],
                    "results": {
                        pool.device(client): f"/results/{self.run}/{key}" for client, key in keys.items()
                    },
                }
            )
            self._is_result_sent = True
        return analysis


def result_table(analysis: Analysis) -> dict[str, Any]:
    """Return a row for each arm and count of phones, for the big screen, which formats numbers in its language."""
    rows = [
        [
            *(arm_title(row.arm), row.clients, _rounded(row.delay_ms_p50), _rounded(row.delay_ms_p95)),
            *(_rounded(row.cpu_per_delivery_us), row.delivered, row.late, row.lost, row.trials),
        ]
        for row in analysis.summary
    ]
    english, indonesian = ([text(Message(key), language) for key in HEADINGS] for language in LANGUAGES)
    return {"headings": english, "headings_id": indonesian, "rows": rows}


def _rounded(value: float | None) -> float | None:
    """Round to four significant digits, as `words.number` does."""
    return None if value is None else float(f"{value:.4g}")


def _with_names(pool: ParticipantPool) -> list[dict[str, object]]:
    return [
        {
            "client": each.client,
            "seat": each.client + 1,
            "pseudonym": each.pseudonym,
            "device": each.device,
            "name": each.name,
            "model": each.model,
        }
        for each in pool.phones
    ]
