"""The components of one server process, wired once: settings, broker, fan-out, transports, source, devices."""

from __future__ import annotations

import itertools
import secrets
from dataclasses import dataclass, field
from typing import Any

from werkzeug.sansio.http import parse_cookie

from app import clock as system_clock
from app.clock import Clock
from app.core.rate import Rate, SharedRate
from app.core.units import ServerUs
from app.server.auth_throttle import AuthThrottle
from app.server.broker.base import Broker
from app.server.broker.history_cache import HistoryCache
from app.server.broker.make import make_broker, make_history_cache
from app.server.deliveries import COOKIE, Devices, Spool
from app.server.fanout.batch_sender import Sender
from app.server.fanout.fanout import Fanout
from app.server.fanout.flusher import Flusher
from app.server.operators import Operators
from app.server.practice import Practice
from app.server.receipts import Receipts
from app.server.room.invitation import Invitation
from app.server.room.room import Room
from app.server.runners import Runner, Runners
from app.server.source import Trials
from app.server.transports.base import Transport
from app.server.transports.socket_io.engine.server import Compresses
from app.server.wsgi.admission import Admission
from app.server.wsgi.descriptors import room_for
from app.server.wsgi.loop import Loop
from app.server.wsgi.takeover import can_take_over
from app.settings import Settings
from app.store.archive.run_index import RunIndex
from app.store.archive.trash import Trash

FORGET_PER_S = 0.5
FORGET_BURST = 30
"""Deletions of a device's records: sustained rate and burst of the server. The burst lets a whole class leave at once."""
FORGET_PER_S_OF_NETWORK = 0.25
FORGET_BURST_OF_NETWORK = 20
"""Rate and burst per client network, lower so that a single network can use at most half of the sustained rate. A class behind
one router shares it: the last of 200 phones has to retry for up to a quarter of an hour."""

SPOOL_SHARE_OF_NETWORK = 0.75
"""One network's share of a run's spool. Device ids are free, so a limit per device alone restrains nobody. A class behind one
router has one address: 200 phones post at most 140 MB to a preset's run (317 bytes per arrival, 80 per clock probe, all void
blocks repeated), which fits into three quarters of 256 MB. The rest holds 200,000 arrivals of others."""


class RequestCounter:
    """Counter of HTTP requests, including the transports'; a trial reports how many came during it."""

    def __init__(self) -> None:
        self._next = itertools.count(1)
        self._total = 0

    def count(self) -> None:
        """Count one request."""
        self._total = next(self._next)

    def answered(self) -> int:
        """Return the number of requests so far."""
        return self._total


@dataclass(slots=True)
class Services:
    """The components by name. Views get them from `flask.current_app.extensions["siar"]`."""

    settings: Settings
    clock: Clock
    """Clock of rate limits, throttles, operators' sessions, the room and runners."""
    broker: Broker
    history_cache: HistoryCache | None
    """Cache of history responses; `None` if each is built from this process's own memory."""
    fanout: Fanout
    compresses: Compresses
    """Decides per request whether to compress streams and messages."""
    trials: Trials
    devices: Devices
    spool: Spool
    run: str
    """Id of the live run."""
    started_us: ServerUs
    requests: RequestCounter
    admission: Admission
    publish_rate: Rate
    room: Room
    invitation: Invitation
    join_throttle: AuthThrottle
    """Throttle for wrong join codes."""
    practice: Practice
    receipts: Receipts
    forget_rate: SharedRate
    """Rate limit of deletions of a device's records, each of which searches all runs."""
    operators: Operators
    archive: RunIndex
    trash: Trash
    runners: Runners
    transports: dict[str, Transport[Any]] = field(default_factory=dict)
    """The registered transports by name; the factory adds them (`registry.py`)."""
    draining: bool = False

    def takes_over(self, environ: dict[str, Any]) -> bool:
        """Return whether a request's connection is to be detached: the settings say so and the server permits it."""
        loop = self.fanout.flusher.loop
        return self.settings.fanout == "direct" and loop.is_possible and can_take_over(environ)

    def drain(self) -> None:
        """Begin closing every connection, and stop being ready."""
        self.draining = True
        self.runners.end()
        self.fanout.drain()
        for transport in self.transports.values():
            transport.drain()
        self.broker.leave_rooms()

    def is_drained(self) -> bool:
        """Return whether the kernel has taken everything that was written to closing connections."""
        return not self.fanout.flusher.ending


def build(settings: Settings, *, broker: Broker | None = None, clock: Clock = system_clock) -> Services:
    """Create all components that `settings` ask for, except transports. `broker` replaces the one they name."""
    if broker is None:
        broker = make_broker(settings)
    flusher = Flusher(
        Loop(),
        frames_max=settings.queue_notifications_max,
        bytes_max=settings.queue_bytes_max,
        sender=Sender(at_once=settings.io_uring),
    )
    fanout = Fanout(broker, flusher)
    admission = Admission(
        count_max=room_for(settings.connections_max),
        per_address_max=settings.connections_per_address_max,
        loopback_is_exempt=not settings.trusted_proxies,
    )
    devices = Devices(settings.runs_dir)
    room = Room(now_us=clock.now_us, runner_silence_us=round(settings.runner_silence_s * 1e6))
    compresses = _compression(settings, room, devices)
    run = settings.run or live_run_id()
    requests = RequestCounter()
    trials = Trials(broker, fanout, requests_answered=requests.answered)
    return Services(
        settings=settings,
        clock=clock,
        broker=broker,
        history_cache=make_history_cache(settings, broker),
        fanout=fanout,
        compresses=compresses,
        trials=trials,
        devices=devices,
        spool=Spool(
            settings.runs_dir,
            bytes_max=settings.spool_bytes_max,
            device_bytes_max=settings.spool_device_bytes_max,
            network_bytes_max=int(SPOOL_SHARE_OF_NETWORK * settings.spool_bytes_max),
        ),
        run=run,
        started_us=clock.now_us(),
        requests=requests,
        admission=admission,
        publish_rate=Rate(per_s=settings.publish_per_s_max, burst=settings.publish_per_s_max),
        room=room,
        invitation=Invitation(settings.operator_key.encode() or secrets.token_bytes(32)),
        join_throttle=AuthThrottle(clock.now_us),
        practice=Practice(room, trials),
        receipts=Receipts(),
        forget_rate=SharedRate(
            per_s=FORGET_PER_S,
            burst=FORGET_BURST,
            network_per_s=FORGET_PER_S_OF_NETWORK,
            network_burst=FORGET_BURST_OF_NETWORK,
        ),
        operators=Operators(
            token=settings.admin_token,
            first_key=settings.operator_key if settings.first_link else "",
            now_us=clock.monotonic_us,
        ),
        archive=RunIndex(settings.runs_dir),
        trash=Trash(settings.runs_dir),
        runners=Runners(
            on_end=lambda runner: _release_after(runner, room, trials), now_us=clock.monotonic_us
        ),
    )


def _release_after(runner: Runner, room: Room, trials: Trials) -> None:
    """Release the room and the trial of an ended runner, in case it died without doing so itself."""
    room.abandon(runner.order.run)
    trials.abandon(runner.order.run)


def _compression(settings: Settings, room: Room, devices: Devices) -> Compresses:
    """Return the decision whether to compress: a trial's compression factor for its phones, else the setting.

    Clients cannot choose, because a client that gets compressed messages may also send them, and they may decompress to a
    thousand times their length.
    """

    def compresses(environ: dict[str, Any]) -> bool:
        # As in Flask. `werkzeug.http.parse_cookie` would raise for cookies that are not UTF-8.
        device = devices.from_cookie(parse_cookie(environ.get("HTTP_COOKIE")).get(COOKIE))
        asked = None if device is None else room.compresses(device)
        return settings.compression if asked is None else asked

    return compresses


def live_run_id() -> str:
    """Return the live run's id: the start time, so that ids sort by it, and part of the timebase."""
    return f"live-{system_clock.timestamp(system_clock.now_us())}-{system_clock.timebase()[:4]}"
