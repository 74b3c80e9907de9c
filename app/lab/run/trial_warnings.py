"""Warnings of a trial that only the runner can give; the analysis adds those that it finds in stored rows."""

from __future__ import annotations

from dataclasses import dataclass

from app.core.protocol.deflate import DEFLATED, PLAIN
from app.core.trial import TrialWarning
from app.lab.analysis.validity.trial_warnings import void
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
        if not self.asked_path:
            return [void("mixed_paths", paths=self.paths)]
        variant = "asked" if self.paths else "none"
        return [void("mixed_paths", variant=variant, paths=self.paths, asked=str(self.asked_path))]

    def _coding_warnings(self) -> list[TrialWarning]:
        if self.asked_compression is None:
            return []
        asked = DEFLATED if self.asked_compression else PLAIN
        if self.codings == (asked,):
            return []
        variant = "" if self.codings else "none"
        return [void("other_coding", variant=variant, codings=self.codings, asked=asked)]

    def _state_warnings(self) -> list[TrialWarning]:
        if self.state == "voided":
            return [void("operator_published")]
        if self.state == "failed":
            return [void("source_failed", published=len(self.published))]
        return []


def process_warnings(change: CpuChange | None) -> list[TrialWarning]:
    """Return a warning if processes of the server began or ended in the CPU window."""
    if change is None or not (change.appeared or change.ended):
        return []
    return [void("server_processes_changed", began=len(change.appeared), ended=len(change.ended))]


def late_edge(late_ms: float) -> TrialWarning:
    """Return the warning that the first notifications are not in the CPU window."""
    return void("cpu_window_late", late_ms=late_ms)
