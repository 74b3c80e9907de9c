"""Cost of a thousand abusive connections to a hundred good clients: `python -m tests.tools.abuse_cost`.

    abusers, 1,000 connections from 4 addresses (support/abusers.py) --.
    good clients, 100 of both transports, an address each ------------- server, with the limits of its settings
    publisher, 10 notifications a second ------------------------------'

Each repetition measures the delay once without and once with the abusers, in random order. The delay is the time from
the start of the publishing call to the read, as p99 over all good clients. The promise: in the median of five
repetitions, it is with abusers at most twice the value without them, or 10 ms more, whichever is larger; and no good
client is disconnected or misses anything. If there are two cores, the server has one and everything else the other,
with the lowest priority for abusers. The first seconds of abuse, in which the addresses use up their burst, are not
measured, but nothing may be lost.

With `--each`, each kind of abuser is measured by itself, at its largest: as many connections of one address as it may have
twice over. The promise: p99 beside it is under 50 ms, with the server and the rest on a core each, and a full history. A
kind that exceeds it, as a busy machine can make it, is measured three times, and the median counts.

Exit codes: 0 kept, 1 not kept, 3 this machine cannot.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from app.tools.bench.machine import Cores, choose_cores
from tests.fault.herd import room_for, server_cpu_s
from tests.support.abuse_scripts import ALONE, KINDS
from tests.support.server import ROOT, RunningServer, ServerSettings, running_server
from tests.support.swarm import Publisher, Subscriber, Swarm

GOOD = 100
ABUSERS = 1_000
SOURCES = [f"127.0.9.{number}" for number in range(1, 5)]
PAUSE_S = 0.1
SETTLE_S = 20.0
"""Time until the addresses have used up their burst (server/wsgi/connection_limiter.py), even on a slow machine."""

FACTOR_MAX = 2.0
MORE_MS_MAX = 10.0

EACH = 300
"""Connections of a kind that is measured by itself: more than one address may have of those that subscribe."""

EACH_MS_MAX = 50.0

ADDRESS = "127.0.9.1"
"""Address of all abusers of a kind that is measured by itself."""

CONNECT_S = 2.0
"""Time in which they connect."""

HISTORY = 10_000
"""Notifications in history while each kind is measured: as many as it holds by default."""


@dataclass(frozen=True, slots=True)
class Repetition:
    """Results of one repetition: p99 delay, utilisation of the server, and outcomes of the abusers."""

    alone_ms: float
    beside_ms: float
    alone_busy: float
    """Share of a core that the server used."""
    beside_busy: float
    abuse: dict[str, int]

    @property
    def is_kept(self) -> bool:
        """True if this repetition keeps the promise."""
        return self.beside_ms <= max(FACTOR_MAX * self.alone_ms, self.alone_ms + MORE_MS_MAX)


class Good:
    """The good clients, with measurement of the delay to them."""

    def __init__(self, swarm: Swarm, server: RunningServer, *, published: int = 0) -> None:
        """`published`: notifications before them."""
        self._swarm = swarm
        self._server = server
        self.clients = [
            Subscriber(swarm, server, transport, source=f"127.0.10.{number + 1}")
            for number, transport in enumerate(("sse", "socketio") * (GOOD // 2))
        ]
        self._sent_s: dict[int, float] = {}
        self._seen = dict.fromkeys(self.clients, published)
        self._delays_ms: list[float] = []
        for each in self.clients:
            each.connect()
            each.on_bytes = lambda each=each: self._note(each)  # type: ignore[misc]
        assert swarm.run(lambda: all(each.ledger.first is not None for each in self.clients), 30)
        self._offset = published

    def p99_ms(self, seconds: float) -> float:
        """Publish for a time and return the p99 delay; infinity if not everyone gets everything."""
        count = round(seconds / PAUSE_S)
        self._delays_ms.clear()
        last = self._offset + count
        Publisher(self._swarm, self._server, self._drafts(count), pause_s=PAUSE_S)
        done = self._swarm.run(
            lambda: all(each.ledger.through == last for each in self.clients), 10 * seconds + 60
        )
        if not done:
            return math.inf
        assert len(self._delays_ms) == count * GOOD
        return statistics.quantiles(self._delays_ms, n=100)[-1]

    def problems(self) -> list[str]:
        """Return the good clients that were disconnected, or missed something."""
        return [
            f"{each.transport}: {dict(each.counts)} {each.ledger.faults()}"
            for each in self.clients
            if each.counts != {"connect": 1} or each.ledger.faults() or each.ledger.gap_count
        ]

    def _drafts(self, count: int) -> Iterator[dict[str, Any]]:
        for _ in range(count):
            self._offset += 1
            self._sent_s[self._offset] = time.monotonic()
            yield {"title": str(self._offset), "body": "x" * 100}

    def _note(self, client: Subscriber) -> None:
        now_s, through = time.monotonic(), client.ledger.through
        for offset in range(self._seen[client] + 1, through + 1):
            self._delays_ms.append((now_s - self._sent_s[offset]) * 1000)
        self._seen[client] = max(self._seen[client], through)  # Before its first position it is 0.


@dataclass(frozen=True, slots=True)
class Abuse:
    """Amount and kinds of abuse, and the duration of publishing in each part."""

    count: int
    kinds: str
    seconds: float
    sources: tuple[str, ...] = tuple(SOURCES)


@contextlib.contextmanager
def abuse(port: int, wanted: Abuse, outcomes: dict[str, int]) -> Iterator[None]:
    """Run abusers for the block; afterwards, their outcomes are in `outcomes`."""
    options = {"port": port, "count": wanted.count, "only": wanted.kinds, "sources": ",".join(wanted.sources)}
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.support.abusers",
            *(f"--{name}={each}" for name, each in options.items()),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield
        process.stdin.close()
        outcomes.update(json.loads(process.stdout.readline()))


def repeat(good: Good, swarm: Swarm, server: RunningServer, wanted: Abuse, dice: random.Random) -> Repetition:
    """Measure without and with abusers, in random order."""
    found: dict[str, tuple[float, float]] = {}
    outcomes: dict[str, int] = {}
    for part in dice.sample(["alone", "beside"], 2):
        if part == "alone":
            found[part] = observed(good, server, wanted.seconds)
            continue
        with abuse(server.port, wanted, outcomes):
            swarm.run(lambda: False, SETTLE_S)
            found[part] = observed(good, server, wanted.seconds)
        swarm.run(lambda: False, 2.0)  # Closing their connections must not affect the next part.
    return Repetition(found["alone"][0], found["beside"][0], found["alone"][1], found["beside"][1], outcomes)


def observed(good: Good, server: RunningServer, seconds: float) -> tuple[float, float]:
    """Return the p99 delay in ms, and the server's share of a core meanwhile."""
    cpu_s, begun_s = server_cpu_s(server), time.monotonic()
    p99_ms = good.p99_ms(seconds)
    return round(p99_ms, 2), round((server_cpu_s(server) - cpu_s) / (time.monotonic() - begun_s), 3)


def measure(folder: Path, wanted: Abuse, *, repetitions: int) -> tuple[list[Repetition], list[str]]:
    """Return the repetitions, and problems of good clients."""
    cores = choose_cores()
    # With a trusted proxy, loopback is not exempt from the limits.
    settings: ServerSettings = {"trusted_proxies": "192.0.2.1", "recorder": 0, "publish_per_s_max": 2000}
    dice = random.Random(1)
    with contextlib.ExitStack() as stack:
        with cores.on_server_core():
            server = stack.enter_context(running_server(folder, **settings))
        cores.go_to_swarm_core()  # Applies to this process and to the abusers.
        swarm = stack.enter_context(Swarm())
        good = Good(swarm, server)
        good.p99_ms(2.0)  # Warm-up.
        found = []
        for number in range(repetitions):
            found.append(repeat(good, swarm, server, wanted, dice))
            print(
                f"{number + 1}:", *(f"{name} {value}" for name, value in asdict(found[-1]).items()), sep="  "
            )
        problems = good.problems()
        if "Traceback" in server.log():
            problems.append(server.log()[-2000:])
    return found, problems


def measure_each(
    folder: Path, kind: str, *, cores: Cores, count: int, seconds: float
) -> tuple[float, list[str]]:
    """Return the p99 in ms beside one kind from one address, the larger of burst and limit, and problems of good clients."""
    settings: ServerSettings = {"trusted_proxies": "192.0.2.1", "recorder": 0, "publish_per_s_max": 20_000}
    with contextlib.ExitStack() as stack:
        with cores.on_server_core():
            server = stack.enter_context(running_server(folder, **settings))
        fill_history(server)
        cores.go_to_swarm_core()
        swarm = stack.enter_context(Swarm())
        good = Good(swarm, server, published=HISTORY)
        alone_ms, _busy = observed(good, server, seconds)
        outcomes: dict[str, int] = {}
        with abuse(server.port, Abuse(count, kind, seconds, (ADDRESS,)), outcomes):
            swarm.run(lambda: False, CONNECT_S)
            early_ms, early_busy = observed(good, server, seconds)
            swarm.run(lambda: False, SETTLE_S)
            late_ms, late_busy = observed(good, server, seconds)
        print(
            f"{kind}: alone {alone_ms} ms, in its burst {early_ms} ms (busy {early_busy}), "
            f"at its limits {late_ms} ms (busy {late_busy})  {outcomes}",
            flush=True,
        )
        return max(early_ms, late_ms), good.problems()


def fill_history(server: RunningServer) -> None:
    """Publish as much as history holds."""
    for _ in range(HISTORY // 100):
        drafts = [{"title": "earlier", "body": "x" * 100} for _ in range(100)]
        status, answer = server.request("POST", "/api/notifications", drafts)
        assert status in (200, 201), answer


def main() -> int:
    """Run as a command. Returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--abusers", type=int, default=ABUSERS)
    parser.add_argument("--seconds", type=float, default=10.0, help="of publishing in each part")
    parser.add_argument("--each", action="store_true", help="measure each kind by itself, from one address")
    parser.add_argument("--only", help="kinds of abusers, with commas between")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if sys.platform != "linux" or not room_for(given.abusers + GOOD):
        print("This needs Linux and an open file for each connection (ulimit -n).", file=sys.stderr)
        return 3
    if given.each:
        kinds = given.only.split(",") if given.only else [*ALONE, *KINDS]
        not_kept = []
        cores = choose_cores()  # Once: from the first measurement on, this process has the swarm's core only.
        for kind in kinds:
            found_ms: list[float] = []
            while len(found_ms) < 3 and (not found_ms or max(found_ms) > EACH_MS_MAX):
                with tempfile.TemporaryDirectory() as folder:
                    p99_ms, problems = measure_each(
                        Path(folder), kind, cores=cores, count=min(given.abusers, EACH), seconds=given.seconds
                    )
                print(*problems, sep="\n", end="")
                found_ms.append(math.inf if problems else p99_ms)
            if statistics.median(found_ms) > EACH_MS_MAX:
                not_kept.append(kind)
        print(f"At most {EACH_MS_MAX:g} ms beside each: {f'NOT kept by {not_kept}' if not_kept else 'kept'}.")
        return 1 if not_kept else 0
    with tempfile.TemporaryDirectory() as folder:
        wanted = Abuse(given.abusers, given.only or ",".join(KINDS), given.seconds)
        found, problems = measure(Path(folder), wanted, repetitions=given.repetitions)
    alone_ms = statistics.median(each.alone_ms for each in found)
    beside_ms = statistics.median(each.beside_ms for each in found)
    is_kept = sum(each.is_kept for each in found) * 2 > len(found) and not problems
    print(
        f"p99 of {GOOD} good clients, median of {len(found)}: alone {alone_ms:.1f} ms, beside {beside_ms:.1f} ms."
    )
    print(
        f"At most max({FACTOR_MAX:g} x, +{MORE_MS_MAX:g} ms): {'kept' if is_kept else 'NOT kept'}.", *problems
    )
    if given.json:
        result = {"alone_ms": alone_ms, "beside_ms": beside_ms, "is_kept": is_kept, "problems": problems}
        given.json.write_text(
            json.dumps({**result, "repetitions": [asdict(each) for each in found]}, indent=2)
        )
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
