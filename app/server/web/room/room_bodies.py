"""Request bodies that the operator and the runner send to the room."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from app.core.wire import OFFSET_MAX, TOPIC_PATTERN, Transport
from app.server.room.seats import PARTICIPANTS_MAX

ARMS_MAX = 16
COUNTS_MAX = 32
"""Upper bound of client counts in one run."""

_Name = Annotated[str, msgspec.Meta(max_length=64)]
_Text = Annotated[str, msgspec.Meta(max_length=500)]
_Device = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
_Whole = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
_Stamp = Annotated[int, msgspec.Meta(ge=0, le=OFFSET_MAX)]
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=86_400)]
_Figure = Annotated[float, msgspec.Meta(ge=-1e12, le=1e12)]

_Url = Annotated[str, msgspec.Meta(max_length=300, pattern=r"\A/[A-Za-z0-9._~%?=&-][A-Za-z0-9._~/%?=&-]*\Z")]
"""A path on this server; a link to anywhere else would be a mistake of the runner, or an attack."""


class Opening(msgspec.Struct, forbid_unknown_fields=True):
    """Parameters of the experiment that the room is opened for."""

    run: Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")]
    wanted_count: Annotated[int, msgspec.Meta(ge=1, le=PARTICIPANTS_MAX)]
    length_s: _Seconds
    plan: dict[_Name, Any] = {}
    practice: bool = False


class TrialForPhones(msgspec.Struct, forbid_unknown_fields=True):
    """The phones' next trial."""

    index: _Whole
    block: _Whole
    clients: Annotated[int, msgspec.Meta(ge=0, le=PARTICIPANTS_MAX)]
    transport: Transport
    expected_count: _Whole
    warmup_count: _Whole
    rate_hz: Annotated[float, msgspec.Meta(ge=0.01, le=1000)]
    drain_ms: Annotated[int, msgspec.Meta(ge=0, le=60_000)]
    topic: Annotated[str, msgspec.Meta(pattern=rf"\A{TOPIC_PATTERN.pattern}\Z")]
    state: Literal["connect", "running", "collect"]
    participants: Annotated[list[_Device], msgspec.Meta(max_length=PARTICIPANTS_MAX)]
    factors: Annotated[dict[_Name, bool | float | _Name | None], msgspec.Meta(max_length=32)] = {}
    first_due_us: _Stamp | None = None
    ends_us: _Stamp | None = None


class Cell(msgspec.Struct, forbid_unknown_fields=True):
    """Results so far of one arm with one number of phones."""

    delay_ms_p50: _Figure | None = None
    delay_ms_p25: _Figure | None = None
    delay_ms_p75: _Figure | None = None
    cpu_us_per_delivery: _Figure | None = None
    delivered: _Whole = 0
    late: _Whole = 0
    lost: _Whole = 0
    asleep: _Whole = 0
    blocks: _Whole = 0


_Results = Annotated[
    dict[_Name, Annotated[dict[_Name, Cell], msgspec.Meta(max_length=COUNTS_MAX)]],
    msgspec.Meta(max_length=ARMS_MAX),
]
"""Results by arm and number of phones."""


class Note(msgspec.Struct, forbid_unknown_fields=True):
    """A note by its code; a device's name is looked up when the note is read."""

    code: Annotated[str, msgspec.Meta(pattern=r"\A[a-z_]{1,40}\Z")]
    parameters: Annotated[dict[_Name, _Text | int | float], msgspec.Meta(max_length=8)] = {}
    device: _Device | None = None


class Progress(msgspec.Struct, forbid_unknown_fields=True):
    """Progress and results so far; omitted members stay as they were."""

    round: _Whole | None = None
    rounds: _Whole | None = None
    remaining_s: _Seconds | None = None
    phase: Literal["gathering", "countdown", "running"] | None = None
    countdown_to_us: _Stamp | None = None
    results: _Results | None = None
    notes: Annotated[list[Note], msgspec.Meta(max_length=50)] | None = None


class Verdict(msgspec.Struct, forbid_unknown_fields=True):
    """The verdict of a finished experiment, in both languages."""

    code: _Name
    sentence_en: Annotated[str, msgspec.Meta(max_length=2000)]
    sentence_id: Annotated[str, msgspec.Meta(max_length=2000)]


class Download(msgspec.Struct, forbid_unknown_fields=True):
    """A file of the run."""

    name: _Name
    url: _Url


class Finish(msgspec.Struct, forbid_unknown_fields=True):
    """The result of a finished experiment."""

    verdict: Verdict
    table: Any = None
    downloads: Annotated[list[Download], msgspec.Meta(max_length=32)] = []
    results: Annotated[dict[_Device, _Url], msgspec.Meta(max_length=PARTICIPANTS_MAX)] = {}
