"""What only the runner can see go wrong in a trial; the analysis adds what it finds in the rows."""

from __future__ import annotations

from dataclasses import dataclass

from app.core.protocol.deflate import DEFLATED, PLAIN
from app.core.trial import Severity, TrialWarning
from app.lab.measure.cpu import CpuChange
from app.store.store import Published


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """What the server says of a trial."""

    state: str
    published: tuple[Published, ...]
    disturbances: int
    paths: tuple[str, ...] = ()
    """How connections of the trial's transport were written to: `direct`, `stock`."""
    asked_path: object = None
    """What the arm asks for; `None`: whatever the server does."""
    codings: tuple[str, ...] = ()
    """What was done with their bytes: `plain`, `deflated`."""
    asked_compression: object = None
    """Likewise."""

    @property
    def warnings(self) -> list[TrialWarning]:
        """What its state and its paths mean for the trial."""
        return [*self._of_state(), *self._of_paths(), *self._of_codings()]

    def _of_paths(self) -> list[TrialWarning]:
        if len(self.paths) < 2 and self.asked_path in (None, *self.paths):
            return []
        text = f"Connections were written to by {' and '.join(self.paths) or 'no path'}" + (
            f", where the arm asks for {self.asked_path}." if self.asked_path else "."
        )
        return [
            TrialWarning(
                "mixed_paths",
                Severity.VOID,
                text,
                "Keep other clients away; under servers other than ours, and with TLS, all is stock.",
            )
        ]

    def _of_codings(self) -> list[TrialWarning]:
        if self.asked_compression is None:
            return []
        asked = DEFLATED if self.asked_compression else PLAIN
        if self.codings == (asked,):
            return []
        found = " and ".join(self.codings) or "not there"
        return [
            TrialWarning(
                "other_coding",
                Severity.VOID,
                f"What went to the phones was {found}, where the arm asks for {asked}.",
                "Keep proxies away that change what a browser accepts; phones that begin with polling must have upgraded.",
            )
        ]

    def _of_state(self) -> list[TrialWarning]:
        if self.state == "voided":
            return [
                TrialWarning(
                    "operator_published",
                    Severity.VOID,
                    "An operator published during the trial.",
                    "Publish between trials, or leave the run alone.",
                )
            ]
        if self.state == "failed":
            return [
                TrialWarning(
                    "source_failed",
                    Severity.VOID,
                    f"The source stopped after {len(self.published)} notifications.",
                    "Look into the server's log.",
                )
            ]
        return []


def process_warnings(change: CpuChange | None) -> list[TrialWarning]:
    """Processes of the server that came or went in the window."""
    if change is None or not (change.appeared or change.ended):
        return []
    text = (
        f"Processes of the server began ({len(change.appeared)}) or ended ({len(change.ended)}) in the trial."
    )
    advice = "Look into the server's log: its worker may have been restarted."
    return [TrialWarning("server_processes_changed", Severity.VOID, text, advice)]


def late_edge(late_ms: float) -> TrialWarning:
    """The first notifications are not in the CPU window."""
    text = f"The CPU window opened {late_ms:.1f} ms after the first notification was due."
    return TrialWarning(
        "cpu_window_late", Severity.VOID, text, "Raise settle_s in the plan, or free the machine."
    )
