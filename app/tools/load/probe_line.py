"""Records of the probes sent during a trial: a JSON line of kind "probes" in `load.jsonl`.

All durations are recorded individually, in microseconds; counts have their denominators.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from app.core.errors import Malformed

KIND = "probes"


@dataclass(frozen=True, slots=True)
class Probed:
    """The probes of one window."""

    seconds: float
    """Length of the window."""
    asked: int
    """Number of requests for history that were due."""
    failures: Mapping[str, int]
    """Numbers of failed requests by reason: no connection, no complete answer in time, a status other than 200."""
    answers_us: Mapping[str, tuple[int, ...]]
    """Durations of the others, from due time to the last byte, by outcome in the cache; `"none"`: no cache was
    mentioned."""
    loop_us: tuple[int, ...]
    """Durations from requesting the time to the server's first stamp: its event loop's delay, and reading the
    request."""
    loop_failures: int
    ping_us: tuple[int, ...]
    """Round trip times of PING to Redis."""
    ping_failures: int
    in_server_s: Mapping[str, tuple[int, float]]
    """The server's own count and total time of answers through the cache, by outcome."""
    redis_cpu_s: float | None
    """CPU time of Redis in the window; `None` if its clock cannot be read."""

    @property
    def failed(self) -> int:
        """Number of failed requests for history."""
        return sum(self.failures.values())


@dataclass(frozen=True, slots=True)
class ProbeLine:
    """The probes sent during one trial."""

    trial: int
    block: int
    arm: str
    transport: str
    users: int
    probed: Probed

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        return {"kind": KIND, **asdict(self)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ProbeLine:
        """Return the value that `to_json` wrote. Raises `Malformed`."""
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
