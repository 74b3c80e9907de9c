"""Hours of use in short: `python -m tests.tools.soak --minutes 30`.

    1,000 clients of each transport --- leave and come back, 20 % of them a minute, each with its position ---.
                                                                                                               server
    a publisher, a notification a second --------------------------------------------------------------------'

First, history is filled, and all clients connect once and leave: the state then is the baseline. Then they connect
again, and after a warm-up the memory of the server's processes is read each second. At the end, every client must have
received everything once and in order. When all have left, there must be no more green threads, connections and open
files than before. A line on standard error reports the progress each minute.

    --minutes M         what is measured (default 10); the warm-up comes on top
    --warm-up-minutes W (default 2)
    --clients N         of each transport (default 1000)
    --json PATH         the figures as JSON

The limit of memory growth is 1 % in ten minutes at the upper 95 % bound of a line through 20 block means. It is judged
from ten minutes on, because in two minutes a single page exceeds it. Exit codes: 0 kept, 1 not kept, 3 this machine
cannot.
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
"""Filled before the measurement, so that filling is not taken for a leak; it covers four minutes."""

SLOPE_PERCENT_MAX = 1.0
JUDGED_FROM_MINUTES = 10.0

MINUTE_S = 60.0
SAMPLE_S = 1.0
GATHER_TIMEOUT_S = 300.0
LINGER_S = 60.0
"""Ended sessions are kept until their next ping would have been due (server/transports/socket_io/engine/timer.py:
nothing is removed early)."""

SETTLE_TIMEOUT_S = 180.0
"""Much longer than needed, so that only what never arrives is a failure."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Results of a soak test."""

    minutes: float
    clients: int
    """Number of clients of each transport."""
    published: int
    left: dict[str, int]
    """Numbers of departures by kind; clients that the server disconnected came back like the others."""
    faults: list[str]
    """Clients with losses, duplicates or disorder; must be empty."""
    memory_mb: float
    """Mean RSS of all the server's processes together."""
    slope_percent: float
    slope_percent_upper: float
    """Upper bound of the slope per ten minutes."""
    before: dict[str, int]
    after: dict[str, int]
    grown: dict[str, int]
    """Objects of our own classes in excess of the baseline, by class."""
    log: str = field(repr=False)
    """Errors in the server's log."""

    @property
    def missed(self) -> list[str]:
        """The promises that were not kept."""
        left = [f"{name}: {n} more than before" for name, n in excess(self.after, self.before).items()]
        grows = self.minutes >= JUDGED_FROM_MINUTES and self.slope_percent_upper >= SLOPE_PERCENT_MAX
        return [
            *self.faults[:5],
            *left,
            *([f"memory grows by up to {self.slope_percent_upper:.2f} % in 10 minutes"] if grows else []),
            *([self.log] if self.log else []),
        ]


def soak(folder: Path, *, clients: int, minutes: float, warm_up_minutes: float) -> Figures:
    """Run the soak test. Raises `AssertionError` when clients cannot connect, or do not receive everything."""
    settings: dict[str, Any] = {"history_count": HISTORY_COUNT, "publish_per_s_max": 100_000}
    with running_server(folder, command=COMMAND, **settings) as server, Swarm() as swarm:
        for number in range(HISTORY_COUNT):
            server.publish(f"before {number}")
        connect_once(swarm, server, clients)
        before, objects_before = idle_counts(swarm, server)
        churn = Churn(swarm, server, each=clients, share_per_minute=SHARE_PER_MINUTE)
        churn.gather(timeout_s=GATHER_TIMEOUT_S)
        churn.begin()
        samples = publish_and_sample(
            churn, swarm, server, warm_up_s=60 * warm_up_minutes, measured_s=60 * minutes
        )
        last = server.publish("last")["offset"]
        churn.settle(last, timeout_s=SETTLE_TIMEOUT_S)
        churn.leave()
        after, objects_after = settled_counts(swarm, server, before, objects_before)
        growth = slope(samples)
        return Figures(
            minutes=minutes,
            clients=clients,
            published=last - HISTORY_COUNT,
            left=dict(churn.counts),
            faults=churn.faults(),
            memory_mb=round(sum(mb for _, mb in samples) / len(samples), 1),
            slope_percent=round(growth.percent, 3),
            slope_percent_upper=round(growth.percent_upper, 3),
            before=before,
            after=after,
            grown=excess(objects_after, objects_before),
            log=server.log()[-2000:] if "Traceback" in server.log() else "",
        )


def connect_once(swarm: Swarm, server: RunningServer, clients: int) -> None:
    """Connect all clients once, publish, and disconnect them, so that objects created once exist already."""
    churn = Churn(swarm, server, each=clients, share_per_minute=0)
    churn.gather(timeout_s=GATHER_TIMEOUT_S)
    offset = server.publish("rehearsal")["offset"]
    churn.settle(offset, timeout_s=SETTLE_TIMEOUT_S)
    churn.leave()


def publish_and_sample(
    churn: Churn, swarm: Swarm, server: RunningServer, *, warm_up_s: float, measured_s: float
) -> list[tuple[float, float]]:
    """Publish until the time is over. Returns (second, MB of memory) from the end of the warm-up on."""
    family = [psutil.Process(server.process.pid)]
    family += family[0].children(recursive=True)
    drafts = Counted(drafts_until(time.monotonic() + warm_up_s + measured_s))
    publisher = Publisher(swarm, server, drafts, pause_s=PERIOD_S)
    report_each_minute(
        swarm,
        lambda: (
            f"{drafts.count:,} sent, {len(churn.faults()):,} of {len(churn.clients):,} clients with a fault"
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
    # Twice the time, for a busy machine: every wait must have a limit.
    assert swarm.run(lambda: publisher.finished, 2 * (warm_up_s + measured_s) + 60), "publishing did not end"
    return samples


class Counted:
    """Notifications for a publisher, with a count of those taken."""

    def __init__(self, drafts: Iterator[dict[str, str]]) -> None:
        self.count = 0
        self._drafts = drafts

    def __iter__(self) -> Iterator[dict[str, str]]:
        return self

    def __next__(self) -> dict[str, str]:
        draft = next(self._drafts)
        self.count += 1
        return draft


def report_each_minute(
    swarm: Swarm, say: Callable[[], str], *, until_s: float, is_over: Callable[[], bool]
) -> None:
    """Print a line on standard error each minute until the end; this takes no time of the server's."""
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
    """Return a list that gets (second, MB) each second, from `from_s` until the end.

    The swarm runs on until all clients have left, but memory of that time would distort the line.
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


def idle_counts(swarm: Swarm, server: RunningServer) -> tuple[dict[str, int], dict[str, int]]:
    """Return the server's counts, and its objects by class, when they have not decreased for a while."""
    found, objects = census(server)
    least_s = time.monotonic()
    deadline_s = least_s + SETTLE_TIMEOUT_S
    while time.monotonic() < min(deadline_s, least_s + LINGER_S):
        swarm.run(lambda: False, 1.0)
        now, objects_now = census(server)
        if excess(found, now) or excess(objects, objects_now):
            least_s = time.monotonic()
        found, objects = now, objects_now
    return found, objects


def settled_counts(
    swarm: Swarm, server: RunningServer, before: dict[str, int], objects_before: dict[str, int]
) -> tuple[dict[str, int], dict[str, int]]:
    """Return the same once nothing exceeds the counts before, or after a timeout."""
    deadline_s = time.monotonic() + SETTLE_TIMEOUT_S
    found, objects = census(server)
    while time.monotonic() < deadline_s and (excess(found, before) or excess(objects, objects_before)):
        swarm.run(lambda: False, 1.0)
        found, objects = census(server)
    return found, objects


def excess(counts: dict[str, int], than: dict[str, int]) -> dict[str, int]:
    """Return the excess of each count over the other's."""
    return {name: n - than.get(name, 0) for name, n in counts.items() if n > than.get(name, 0)}


def census(server: RunningServer) -> tuple[dict[str, int], dict[str, int]]:
    """Return the counts that are judged, and all objects of our own classes."""
    _status, counted = server.request("GET", "/census")
    objects: dict[str, int] = counted.pop("objects")
    return {**counted, "connections": connections(server)}, objects


def connections(server: RunningServer) -> int:
    """Return the number of subscriptions by the service's own count."""
    _status, text = server.request("GET", "/metrics")
    lines = [line for line in text.splitlines() if line.startswith("siar_connections{")]
    assert lines, text
    return round(sum(float(line.rpartition(" ")[2]) for line in lines))


def main() -> int:
    """Run as a command. Returns the exit code."""
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
