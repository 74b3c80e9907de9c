"""Warnings of a trial that only the runner can give; the analysis adds those that it finds in stored rows."""

from __future__ import annotations

from dataclasses import dataclass

from app.core.protocol.deflate import DEFLATED, PLAIN
from app.core.trial import Severity, TrialWarning
from app.lab.measure.cpu import CpuChange
from app.store.store import Published


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """The server's record of a trial's source."""

    state: str
    published: tuple[Published, ...]
    disturbances: int
    paths: tuple[str, ...] = ()
    """Ways in which connections of the trial's transport were written to: `direct`, `stock`."""
    asked_path: object = None
    """The way that the arm requires; `None` for any."""
    codings: tuple[str, ...] = ()
    """Encodings of the bytes that were written: `plain`, `deflated`."""
    asked_compression: object = None
    """True or false if the arm requires compression or none; `None` for any."""

    @property
    def warnings(self) -> list[TrialWarning]:
        """Warnings that follow from the state, the paths and the encodings."""
        return [*self._state_warnings(), *self._path_warnings(), *self._coding_warnings()]

    def _path_warnings(self) -> list[TrialWarning]:
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

    def _coding_warnings(self) -> list[TrialWarning]:
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

    def _state_warnings(self) -> list[TrialWarning]:
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
    """Return a warning if processes of the server began or ended in the CPU window."""
    if change is None or not (change.appeared or change.ended):
        return []
    text = (
        f"Processes of the server began ({len(change.appeared)}) or ended ({len(change.ended)}) in the trial."
    )
    advice = "Look into the server's log: its worker may have been restarted."
    return [TrialWarning("server_processes_changed", Severity.VOID, text, advice)]


def late_edge(late_ms: float) -> TrialWarning:
    """Return the warning that the first notifications are not in the CPU window."""
    text = f"The CPU window opened {late_ms:.1f} ms after the first notification was due."
    return TrialWarning(
        "cpu_window_late", Severity.VOID, text, "Raise settle_s in the plan, or free the machine."
    )
