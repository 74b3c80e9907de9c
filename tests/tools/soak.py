"""Hours of use in short: `python -m tests.tools.soak --minutes 30`.

    1,000 clients of each transport --- leave and come back, 20 % of them a minute, each with its position ---.
                                                                                                             server
    a publisher, a notification a second --------------------------------------------------------------------'

First history is filled, and everybody comes once and leaves: what is there then is the baseline. Then they come again, and
after a warm-up the memory of the server's processes is read each second. At the end everybody must have had everything
once and in order, and when all have left, no more green threads, connections and open files may be there than before.
Each minute of that a line on standard error says how far it is.

    --minutes M         what is measured (default 10); the warm-up comes on top
    --warm-up-minutes W (default 2)
    --clients N         of each transport (default 1000)
    --json PATH         the figures as JSON

The limit on the growth of memory, 1 % in ten minutes at the upper 95 % bound of a line through 20 block means, is judged
from ten minutes on: in two, one page more is beyond it. Exit codes: 0 kept, 1 not kept, 3 this machine cannot.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests.fault.herd import room_for
from tests.support.churn import Churn, drafts_until
from tests.support.server import ROOT, RunningServer, running_server
from tests.support.steadiness import slope
from tests.support.swarm import Publisher, Swarm

COMMAND = ("-m", "gunicorn", "-c", str(ROOT / "gunicorn.conf.py"), "tests.support.census_app:app")

CLIENTS = 1_000
SHARE_PER_MINUTE = 0.2
PERIOD_S = 1.0

HISTORY_COUNT = 256
"""Full before it begins, so that its filling is not taken for a leak; it reaches back for four minutes."""

SLOPE_PERCENT_MAX = 1.0
JUDGED_FROM_MINUTES = 10.0

MINUTE_S = 60.0
SAMPLE_S = 1.0
GATHER_TIMEOUT_S = 300.0
LINGER_S = 60.0
"""A session that has ended is held until its ping would have been due (server/transports/socket_io/engine/timer.py: nothing is taken out early)."""

SETTLE_TIMEOUT_S = 180.0
"""Long beyond need: only what never comes is a failure."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What it came to."""

    minutes: float
    clients: int
    """Of each transport."""
    published: int
    left: dict[str, int]
    """Departures by how; those whom the server cut off came back like the others."""
    faults: list[str]
    """Clients that missed something, or had it twice or out of order. Must be empty."""
    memory_mb: float
    """Mean RSS of the server's processes together."""
    slope_percent: float
    slope_percent_upper: float
    """Per ten minutes."""
    before: dict[str, int]
    after: dict[str, int]
    grown: dict[str, int]
    """By class of ours: objects more than at the baseline."""
    log: str = field(repr=False)
    """What the server said of errors."""

    @property
    def missed(self) -> list[str]:
        """What was promised and not kept."""
        left = [f"{name}: {n} more than before" for name, n in more(self.after, self.before).items()]
        grows = self.minutes >= JUDGED_FROM_MINUTES and self.slope_percent_upper >= SLOPE_PERCENT_MAX
        return [
            *self.faults[:5],
            *left,
            *([f"memory grows by up to {self.slope_percent_upper:.2f} % in 10 minutes"] if grows else []),
            *([self.log] if self.log else []),
        ]


def soak(folder: Path, *, clients: int, minutes: float, warm_up_minutes: float) -> Figures:
    """Run it. Raises `AssertionError` when the crowd does not come in, or does not get everything."""
    settings: dict[str, Any] = {"history_count": HISTORY_COUNT, "publish_per_s_max": 100_000}
    with running_server(folder, command=COMMAND, **settings) as server, Swarm() as swarm:
        for number in range(HISTORY_COUNT):
            server.publish(f"before {number}")
        rehearse(swarm, server, clients)
        before, objects_before = is_idle(swarm, server)
        crowd = Churn(swarm, server, each=clients, share_per_minute=SHARE_PER_MINUTE)
        crowd.gather(timeout_s=GATHER_TIMEOUT_S)
        crowd.begin()
        samples = attend(crowd, swarm, server, warm_up_s=60 * warm_up_minutes, measured_s=60 * minutes)
        last = server.publish("last")["offset"]
        crowd.settle(last, timeout_s=SETTLE_TIMEOUT_S)
        crowd.leave()
        after, objects_after = gone(swarm, server, before, objects_before)
        growth = slope(samples)
        return Figures(
            minutes=minutes,
            clients=clients,
            published=last - HISTORY_COUNT,
            left=dict(crowd.counts),
            faults=crowd.faults(),
            memory_mb=round(sum(mb for _, mb in samples) / len(samples), 1),
            slope_percent=round(growth.percent, 3),
            slope_percent_upper=round(growth.percent_upper, 3),
            before=before,
            after=after,
            grown=more(objects_after, objects_before),
            log=server.log()[-2000:] if "Traceback" in server.log() else "",
        )


def rehearse(swarm: Swarm, server: RunningServer, clients: int) -> None:
    """Everybody comes, hears something and leaves: what is made once and kept is there from then on."""
    crowd = Churn(swarm, server, each=clients, share_per_minute=0)
    crowd.gather(timeout_s=GATHER_TIMEOUT_S)
    offset = server.publish("rehearsal")["offset"]
    crowd.settle(offset, timeout_s=SETTLE_TIMEOUT_S)
    crowd.leave()


def attend(
    crowd: Churn, swarm: Swarm, server: RunningServer, *, warm_up_s: float, measured_s: float
) -> list[tuple[float, float]]:
    """Publish until the time is over; second and MB of memory from the warm-up's end on."""
    family = [psutil.Process(server.process.pid)]
    family += family[0].children(recursive=True)
    drafts = Counted(drafts_until(time.monotonic() + warm_up_s + measured_s))
    publisher = Publisher(swarm, server, drafts, pause_s=PERIOD_S)
    tell_each_minute(
        swarm,
        lambda: (
            f"{drafts.count:,} sent, {len(crowd.faults()):,} of {len(crowd.clients):,} clients with a fault"
        ),
        until_s=warm_up_s + measured_s,
        is_over=lambda: publisher.finished,
    )
    samples = sampled(
        swarm,
        lambda: sum(each.memory_info().rss for each in family) / 1e6,
        from_s=warm_up_s,
        is_over=lambda: publisher.finished,
    )
    # Twice the time, for a machine that does other things as well: no end to wait for is without a limit.
    assert swarm.run(lambda: publisher.finished, 2 * (warm_up_s + measured_s) + 60), "publishing did not end"
    return samples


class Counted:
    """What a publisher has to say, and how much of it was taken."""

    def __init__(self, drafts: Iterator[dict[str, str]]) -> None:
        self.count = 0
        self._drafts = drafts

    def __iter__(self) -> Iterator[dict[str, str]]:
        return self

    def __next__(self) -> dict[str, str]:
        draft = next(self._drafts)
        self.count += 1
        return draft


def tell_each_minute(
    swarm: Swarm, say: Callable[[], str], *, until_s: float, is_over: Callable[[], bool]
) -> None:
    """On standard error, until it is over. It takes some milliseconds of this process, and nothing of the server's."""
    begun_s = time.monotonic()

    def tell() -> None:
        if is_over():
            return
        minutes = (time.monotonic() - begun_s) / MINUTE_S
        print(f"{minutes:.0f} of {until_s / MINUTE_S:g} min: {say()}", file=sys.stderr, flush=True)
        swarm.after(MINUTE_S, tell)

    swarm.after(MINUTE_S, tell)


def sampled(
    swarm: Swarm, read_mb: Callable[[], float], *, from_s: float, is_over: Callable[[], bool]
) -> list[tuple[float, float]]:
    """Grows by second and MB each second, from a second on and until it is over.

    The swarm runs on afterwards, until everybody has left: memory of that time would bend the line.
    """
    samples: list[tuple[float, float]] = []
    begun_s = time.monotonic()

    def sample() -> None:
        if is_over():
            return
        now_s = time.monotonic() - begun_s
        if now_s >= from_s:
            samples.append((now_s, read_mb()))
        swarm.after(SAMPLE_S, sample)

    sample()
    return samples


def is_idle(swarm: Swarm, server: RunningServer) -> tuple[dict[str, int], dict[str, int]]:
    """What lives in the server, and its objects by class, when nothing of it has become less for a while."""
    found, objects = census(server)
    least_s = time.monotonic()
    deadline_s = least_s + SETTLE_TIMEOUT_S
    while time.monotonic() < min(deadline_s, least_s + LINGER_S):
        swarm.run(lambda: False, 1.0)
        now, objects_now = census(server)
        if more(found, now) or more(objects, objects_now):
            least_s = time.monotonic()
        found, objects = now, objects_now
    return found, objects


def gone(
    swarm: Swarm, server: RunningServer, before: dict[str, int], objects_before: dict[str, int]
) -> tuple[dict[str, int], dict[str, int]]:
    """The same, once there is no more than before, or after a time in which all should have gone."""
    deadline_s = time.monotonic() + SETTLE_TIMEOUT_S
    found, objects = census(server)
    while time.monotonic() < deadline_s and (more(found, before) or more(objects, objects_before)):
        swarm.run(lambda: False, 1.0)
        found, objects = census(server)
    return found, objects


def more(counts: dict[str, int], than: dict[str, int]) -> dict[str, int]:
    """By how much each is more."""
    return {name: n - than.get(name, 0) for name, n in counts.items() if n > than.get(name, 0)}


def census(server: RunningServer) -> tuple[dict[str, int], dict[str, int]]:
    """What is counted and judged, and all objects of our own classes."""
    _status, counted = server.request("GET", "/census")
    objects: dict[str, int] = counted.pop("objects")
    return {**counted, "connections": connections(server)}, objects


def connections(server: RunningServer) -> int:
    """Subscriptions, as the service counts them itself."""
    _status, text = server.request("GET", "/metrics")
    lines = [line for line in text.splitlines() if line.startswith("siar_connections{")]
    assert lines, text
    return round(sum(float(line.rpartition(" ")[2]) for line in lines))


def main() -> int:
    """As a command."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--warm-up-minutes", type=float, default=2.0)
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if sys.platform != "linux" or not room_for(2 * given.clients):
        print("This needs Linux and an open file for each connection (ulimit -n).", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory(prefix="siar-soak-") as folder:
        figures = soak(
            Path(folder), clients=given.clients, minutes=given.minutes, warm_up_minutes=given.warm_up_minutes
        )
    found = {**asdict(figures), "missed": figures.missed}
    print(json.dumps(found, indent=2))
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return 1 if figures.missed else 0


if __name__ == "__main__":
    sys.exit(main())
