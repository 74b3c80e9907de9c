"""What was asked beside a trial, and how it was answered: a JSON line of kind "probes" in `load.jsonl`.

Durations are raw, each one, in microseconds; counts have their denominators.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from app.core.errors import Malformed

KIND = "probes"


@dataclass(frozen=True, slots=True)
class Probed:
    """One window's questions."""

    seconds: float
    """Its length."""
    asked: int
    """Requests for history that were due."""
    failures: Mapping[str, int]
    """Of those, by reason: no connection, no whole answer in time, another status than 200."""
    answers_us: Mapping[str, tuple[int, ...]]
    """Of the others: from when a request was due to its last byte, by what the answer says of the cache; `"none"`: nothing."""
    loop_us: tuple[int, ...]
    """From asking for the time to the server's first stamp: its event loop's delay, and reading the request."""
    loop_failures: int
    ping_us: tuple[int, ...]
    """Round trips of PING to Redis."""
    ping_failures: int
    in_server_s: Mapping[str, tuple[int, float]]
    """The server's own count and time of answers through the cache, by outcome."""
    redis_cpu_s: float | None
    """What Redis used meanwhile; `None` where its clock cannot be read."""

    @property
    def failed(self) -> int:
        """Requests for history without a good answer."""
        return sum(self.failures.values())


@dataclass(frozen=True, slots=True)
class ProbeLine:
    """Beside one trial."""

    trial: int
    block: int
    arm: str
    transport: str
    users: int
    probed: Probed

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"kind": KIND, **asdict(self)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ProbeLine:
        """What `to_json` wrote. Raises `Malformed`."""
        try:
            own = {name: value[name] for name in cls.__dataclass_fields__ if name != "probed"}
            probed = {name: value["probed"][name] for name in Probed.__dataclass_fields__}
            probed["answers_us"] = {name: tuple(us) for name, us in probed["answers_us"].items()}
            probed["in_server_s"] = {name: (n, s) for name, (n, s) in probed["in_server_s"].items()}
            for name in ("loop_us", "ping_us"):
                probed[name] = tuple(probed[name])
            return cls(**own, probed=Probed(**probed))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise Malformed(f"These are no probes of a load run: {error}.") from error
