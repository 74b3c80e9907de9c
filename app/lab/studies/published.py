"""Figures of the published studies as they were printed, read from `published.json`.

`repeated_study` returns typed figures of the study whose experiment the demo repeats (SSE against Socket.IO with 1, 3 and
6 phones). `study_of` returns any study as plain values, for tables of published and measured figures.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_name("published.json")

REPEATED_STUDY = "brawijaya-sse-websocket"

FAULTS = (
    "Phone and laptop clocks were never synchronised, so their offset is part of every delay.",
    "At 3 clients one phone has 0.919 s under SSE where the other two average 0.229 s: the phones differ by more "
    "than the protocols do.",
    "0.278 to 1.110 s on one WLAN is a hundred times any round trip; a send loop that does not yield gives delays of "
    "that size over any protocol.",
    "CPU is a system-wide meter, read before and after: every mean is three readings of one decimal, without "
    "spread or test; it cannot resolve the differences that were read from it.",
    "Number of samples, intervals, payload, order, repetition and the transport that Socket.IO really used (it "
    "starts with polling) are not given; nor is any interval.",
)
"""Faults of the repeated study, which a reader must know before comparing its figures with others."""


@dataclass(frozen=True, slots=True)
class PublishedMean:
    """A mean of one transport at one count of clients."""

    transport: str
    clients: int
    value: float
    derived: bool
    """True if the value was computed from the study's text and is not printed in it."""


@dataclass(frozen=True, slots=True)
class PublishedPoint:
    """The mean delay of a single client, where the text names it."""

    transport: str
    clients: int
    client: int
    """The client's number, from 1."""
    delay_s: float


@dataclass(frozen=True, slots=True)
class PublishedStudy:
    """The figures of a study that the report shows next to a run's."""

    title: str
    authors: tuple[str, ...]
    institution: str
    setup: str
    delay_s: tuple[PublishedMean, ...]
    cpu_points: tuple[PublishedMean, ...]
    """System-wide `cpu_percent` after minus before, in percentage points."""
    delay_points: tuple[PublishedPoint, ...]

    def delay_at(self, transport: str, clients: int) -> PublishedMean | None:
        """Return the mean delay in seconds; `None` where the study has none."""
        return _find(self.delay_s, transport, clients)

    def cpu_at(self, transport: str, clients: int) -> PublishedMean | None:
        """Return the CPU in percentage points; `None` where the study has none."""
        return _find(self.cpu_points, transport, clients)


@cache
def studies() -> tuple[dict[str, Any], ...]:
    """Return all studies as plain values."""
    return tuple(json.loads(_FILE.read_text(encoding="utf-8"))["studies"])


def study_of(name: str) -> dict[str, Any]:
    """Return the study with this id, as plain values."""
    return next(each for each in studies() if each["id"] == name)


@cache
def repeated_study() -> PublishedStudy:
    """Return the study whose experiment the demo repeats."""
    study = study_of(REPEATED_STUDY)
    setup = study["setup"]
    return PublishedStudy(
        title=study["title"],
        authors=tuple(study["authors"]),
        institution=study["institution"],
        setup=f"{setup['server']}; {setup['clients']}; {setup['network']}",
        delay_s=_means(study["delay_s_mean"]),
        cpu_points=_means(study["cpu_percent_points_mean"]),
        delay_points=tuple(
            PublishedPoint(point["transport"], point["clients"], point["client"], point["value"])
            for point in study["delay_s_points"]
        ),
    )


def _means(by_transport: dict[str, dict[str, Any]]) -> tuple[PublishedMean, ...]:
    return tuple(
        PublishedMean(transport, int(count), *value_of(figure))
        for transport, figures in by_transport.items()
        for count, figure in figures.items()
        if count != "overall"
    )


def value_of(figure: float | dict[str, Any]) -> tuple[float, bool]:
    """Return a published value, and True if it was derived from the text."""
    if isinstance(figure, dict):
        return figure["value"], bool(figure.get("derived"))
    return figure, False


def _find(means: tuple[PublishedMean, ...], transport: str, clients: int) -> PublishedMean | None:
    return next((each for each in means if (each.transport, each.clients) == (transport, clients)), None)
