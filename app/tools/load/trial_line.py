"""Records of each trial under load in addition to the store's rows: JSON lines in the run's folder.

A trial's line is written at its end. The store has every arrival; these lines have the generator's state, and the
delays as histograms. `load.jsonl` begins with a line about the whole run (`kind` "load", `schema` 1). Readers skip
kinds that they do not know.

    version 1   kind "load", "floor", "trial"; of a preset also "probes" (`probe_line.py`)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from app.core.errors import Malformed, StoreError
from app.core.trial import TrialWarning
from app.i18n import LANGUAGES, text
from app.lab.analysis.validity.trial_warnings import seen, void
from app.tools.load.delays import Delays

FILE_NAME = "load.jsonl"
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class TrialLine:
    """One trial, as used by gates and tables."""

    trial: int
    block: int
    arm: str
    transport: str
    generator: str
    """`"locust"` or `"built-in"`."""
    users: int
    connected: int
    attempts: int
    failures: Mapping[str, int]
    """Numbers of failed handshakes by reason."""
    connect_us: tuple[int, ...]
    published: int
    notifications: int
    """Planned number of measured notifications."""
    expected: int
    lost: int
    late: int
    replayed: int
    duplicates: int
    out_of_order: int
    disconnects: int
    """Number of connections that broke in the trial."""
    cpu_core_percent: float | None
    """CPU of the server, including what it uses when idle."""
    source_lag_ms_p99: float | None
    generator_cpu_share_max: float | None
    generator_cpu_s: float | None
    generator_lag_ms_p99: float | None
    shared: int
    """Number of first arrivals, without replays, that were read together with others."""
    is_believable: bool
    """True if nothing but the server can have impaired the delays."""
    void_codes: tuple[str, ...]
    delays: Delays
    broken_before: int = 0
    """Number of connections that broke before the trial began: while others connected, or while all were idle. Runs of
    older versions do not have it."""

    @property
    def errors(self) -> int:
        """Number of failed handshakes and of broken connections, at any time."""
        return sum(self.failures.values()) + self.disconnects + self.broken_before

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "delays"}
        return {"kind": "trial", **values, "lanes": self.delays.to_json()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> TrialLine:
        """Return the value that `to_json` wrote. Raises `Malformed`."""
        try:
            own_keys = {"delays", "broken_before"}
            values = {name: value[name] for name in cls.__dataclass_fields__ if name not in own_keys}
            lists = {name: tuple(values[name]) for name in ("connect_us", "void_codes")}
            delays = Delays.from_json(value["lanes"])
            return cls(
                **{**values, **lists, "delays": delays, "broken_before": value.get("broken_before", 0)}
            )
        except (KeyError, TypeError, ValueError) as error:
            raise Malformed(f"This is no trial of a load run: {error}.") from error


@dataclass(frozen=True, slots=True)
class FloorLine:
    """The floor: the generator against a minimal server of our own, with the same users and rate."""

    transport: str
    users: int
    rate_hz: float
    connected: int
    notifications: int
    lost: int
    delay_ms_p50: float | None
    delay_ms_p99: float | None
    self_ms_p50: float | None
    generator_cpu_share_max: float | None
    generator_lag_ms_p99: float | None
    warnings: tuple[TrialWarning, ...]
    """Reasons why the generator did not prove itself; empty if it did. JSON has their English sentences too, as
    `troubles`; lines of older versions have only these."""
    block: int | None = None
    """Block of the trials next to it; `None`: measured before all trials, as for a shape, or in a run of an older
    version."""

    def to_json(self) -> dict[str, Any]:
        """Return the fields and `troubles` as a JSON object."""
        values = asdict(self)
        block, warnings = values.pop("block"), values.pop("warnings")
        troubles = [text(seen(each), LANGUAGES[0]) for each in self.warnings]
        return {"kind": "floor", **values, "troubles": troubles, "block": block, "warnings": warnings}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> FloorLine:
        """Return the value that `to_json` wrote. Raises `Malformed`."""
        try:
            own_keys = {"warnings", "block"}
            values = {name: value[name] for name in cls.__dataclass_fields__ if name not in own_keys}
            return cls(**values, warnings=_warnings(value), block=value.get("block"))
        except (KeyError, TypeError, ValueError) as error:
            raise Malformed(f"This is no floor of a load run: {error}.") from error


def _warnings(floor: Mapping[str, Any]) -> tuple[TrialWarning, ...]:
    """Return the warnings of a floor's JSON object; sentences of an older version are shown as they are."""
    if "warnings" in floor:
        return msgspec.convert(floor["warnings"], tuple[TrialWarning, ...])
    return tuple(void("stored", text=each, advice="") for each in floor["troubles"])


def append(folder: Path, line: Mapping[str, Any]) -> None:
    """Append one line. Raises `StoreError`."""
    try:
        with (folder / FILE_NAME).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, separators=(",", ":"), allow_nan=False) + "\n")
    except OSError as error:
        raise StoreError(f"{folder / FILE_NAME} cannot be written: {error.strerror}.") from error


def read(folder: Path) -> list[dict[str, Any]]:
    """Return all complete lines. Raises `StoreError`."""
    try:
        raw = (folder / FILE_NAME).read_text(encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{folder} holds no load run: {error.strerror}.") from error
    lines = []
    for line in raw.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue  # The last line of a runner that died is incomplete.
        if isinstance(value, dict):
            lines.append(value)
    return lines
