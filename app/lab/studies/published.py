"""Figures of the published studies as they were printed, read from `published.json`.

`repeated_study` returns typed figures of the study whose experiment the demo repeats (SSE against Socket.IO with 1, 3
and 6 phones). `study_of` returns any study as a JSON object, for tables of published and measured figures.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from app.core.messages import Message

_FILE = Path(__file__).with_name("published.json")

REPEATED_STUDY = "brawijaya-sse-websocket"
"""Id of the study whose experiment the demo repeats."""

FAULTS = tuple(Message(f"study.fault.{place}") for place in range(5))
"""Sentences on faults of the repeated study, which a reader must know before comparing its figures with others."""


@dataclass(frozen=True, slots=True)
class PublishedMean:
    """A published mean, delay or CPU, of one transport at one count of clients."""

    transport: str
    clients: int
    value: float
    """Seconds for delays, percentage points for CPU."""
    derived: bool
    """True if the value was computed from the study's text and is not printed in it."""


@dataclass(frozen=True, slots=True)
class PublishedPoint:
    """A mean delay of one client in one scenario that a study states in its text; most have none."""

    transport: str
    clients: int
    client: int
    """The client's number, from 1."""
    delay_s: float


@dataclass(frozen=True, slots=True)
class PublishedStudy:
    """A published study, with the figures that the report shows next to those of a run."""

    title: str
    authors: tuple[str, ...]
    institution: str
    setup: Message
    """Sentence on devices, network and method of the study."""
    delay_s: tuple[PublishedMean, ...]
    """Mean delays in seconds."""
    cpu_points: tuple[PublishedMean, ...]
    """psutil's `cpu_percent` of the whole machine after the experiment minus before it, in percentage points."""
    delay_points: tuple[PublishedPoint, ...]

    def delay_at(self, transport: str, clients: int) -> PublishedMean | None:
        """Return the mean delay in seconds; `None` where the study has none for this transport and count of clients."""
        return _find(self.delay_s, transport, clients)

    def cpu_at(self, transport: str, clients: int) -> PublishedMean | None:
        """Return the mean CPU in percentage points; `None` where the study has none for this transport and count."""
        return _find(self.cpu_points, transport, clients)


@cache
def studies() -> tuple[dict[str, Any], ...]:
    """Return all studies of `published.json`, as JSON objects."""
    return tuple(json.loads(_FILE.read_text(encoding="utf-8"))["studies"])


def study_of(name: str) -> dict[str, Any]:
    """Return the study with this id as a JSON object. Raises `StopIteration` for an unknown id."""
    return next(each for each in studies() if each["id"] == name)


@cache
def repeated_study() -> PublishedStudy:
    """Return the study whose experiment the demo repeats."""
    study = study_of(REPEATED_STUDY)
    return PublishedStudy(
        title=study["title"],
        authors=tuple(study["authors"]),
        institution=study["institution"],
        setup=Message("study.sse.setup"),
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
    """Return (value, whether it is derived) of a figure in `published.json`.

    A derived value was computed from the study's text and is not printed in it.
    """
    if isinstance(figure, dict):
        return figure["value"], bool(figure.get("derived"))
    return figure, False


def _find(means: tuple[PublishedMean, ...], transport: str, clients: int) -> PublishedMean | None:
    return next((each for each in means if (each.transport, each.clients) == (transport, clients)), None)
