"""What one server process is made of, wired once: settings, broker, fan-out, transports, source, devices."""

from __future__ import annotations

import itertools
import secrets
from dataclasses import dataclass
from typing import Any

import flask
from werkzeug.sansio.http import parse_cookie

from app import clock
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
from app.server.transports.socket_io.engine.limits import IncomingLimits
from app.server.transports.socket_io.engine.server import Compresses
from app.server.transports.socket_io.transport import SocketIoTransport
from app.server.transports.sse import SseTransport
from app.server.wsgi.admission import Admission
from app.server.wsgi.descriptors import room_for
from app.server.wsgi.loop import Loop
from app.server.wsgi.takeover import SocketOptions, can_take_over
from app.settings import Settings
from app.store.archive.run_index import RunIndex
from app.store.archive.trash import Trash

FORGET_PER_S = 0.5
FORGET_AT_ONCE = 30
"""A class that leaves, each deleting its own."""
FORGET_PER_S_OF_NETWORK = 0.25
FORGET_AT_ONCE_OF_NETWORK = 20
"""Below the others', so that a stranger who asks steadily leaves them half. A class behind one router shares this: of 200
phones the last waits a quarter of an hour at most, and is told to ask again."""

SPOOL_SHARE_OF_NETWORK = 0.75
"""Of a run's spool: devices are free, so that a bound by device alone holds nobody up. Three quarters of 256 MB, because
a class behind one router has one address: 200 phones post at most 140 MB to a preset's run (317 bytes for an arrival, 80
for a probe of the clock, every repeat of a void block made). What is left to all others holds 200,000 arrivals."""


class Requests:
    """HTTP requests so far, the transports' own included; a trial counts those that came in between."""

    def __init__(self) -> None:
        self._next = itertools.count(1)
        self._answered = 0

    def count(self) -> None:
        """One more."""
        self._answered = next(self._next)

    def answered(self) -> int:
        """How many there were."""
        return self._answered


@dataclass(slots=True)
class Services:
    """The parts, by name; views get them from `flask.current_app.extensions["siar"]`."""

    settings: Settings
    broker: Broker
    history_cache: HistoryCache | None
    """`None`: every answer is made from this process's own memory."""
    fanout: Fanout
    compresses: Compresses
    """Of streams and channels."""
    sse: SseTransport
    socketio: SocketIoTransport
    trials: Trials
    devices: Devices
    spool: Spool
    run: str
    """Id of the live run."""
    started_us: ServerUs
    requests: Requests
    admission: Admission
    publish_rate: Rate
    room: Room
    invitation: Invitation
    join_guesses: AuthThrottle
    """Wrong codes, by address."""
    practice: Practice
    receipts: Receipts
    forget_rate: SharedRate
    """Of requests to delete what was recorded: each looks through all runs."""
    operators: Operators
    archive: RunIndex
    trash: Trash
    runners: Runners
    draining: bool = False

    def takes_over(self, environ: dict[str, Any]) -> bool:
        """Whether a request's connection becomes ours: if the settings say so and it can be."""
        loop = self.fanout.flusher.loop
        return self.settings.fanout == "direct" and loop.is_possible and can_take_over(environ)

    def drain(self) -> None:
        """Say goodbye to every client; not ready any more."""
        self.draining = True
        self.runners.end()
        self.fanout.drain()
        self.socketio.end_all()
        self.broker.leave_rooms()

    def is_drained(self) -> bool:
        """Whether the kernel has taken everything that was written to connections which end."""
        return not self.fanout.flusher.ending


def build(app: flask.Flask, settings: Settings) -> Services:
    """Everything that `settings` ask for, on `app`."""
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
    room = Room(runner_silence_us=round(settings.runner_silence_s * 1e6))
    compresses = _compression(settings, room, devices)
    sse, socketio = _transports(app, settings, fanout, broker, admission, devices, compresses)
    run = settings.run or live_run_id()
    requests = Requests()
    trials = Trials(broker, fanout, requests_answered=requests.answered)
    return Services(
        settings=settings,
        broker=broker,
        history_cache=make_history_cache(settings, broker),
        fanout=fanout,
        compresses=compresses,
        sse=sse,
        socketio=socketio,
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
        join_guesses=AuthThrottle(clock.now_us),
        practice=Practice(room, trials),
        receipts=Receipts(),
        forget_rate=SharedRate(
            per_s=FORGET_PER_S,
            burst=FORGET_AT_ONCE,
            network_per_s=FORGET_PER_S_OF_NETWORK,
            network_burst=FORGET_AT_ONCE_OF_NETWORK,
        ),
        operators=Operators(
            token=settings.admin_token, first_key=settings.operator_key if settings.first_link else ""
        ),
        archive=RunIndex(settings.runs_dir),
        trash=Trash(settings.runs_dir),
        runners=Runners(on_end=lambda runner: _tidy_up_behind(runner, room, trials)),
    )


def _tidy_up_behind(runner: Runner, room: Room, trials: Trials) -> None:
    """A runner has ended: if it died without a word, its phones and the next experiment must not wait for it."""
    room.give_up(runner.order.run)
    trials.give_up(runner.order.run)


def _compression(settings: Settings, room: Room, devices: Devices) -> Compresses:
    """As the arm says for phones in a trial which is about it; else everyone's or nobody's, as the settings say.

    Whoever is sent compressed messages may send some, and what unpacks to a thousand times its length: no stranger chooses.
    """

    def compresses(environ: dict[str, Any]) -> bool:
        # Read as Flask reads it: `werkzeug.http` has one of the same name, which raises for cookies that are no UTF-8.
        device = devices.from_cookie(parse_cookie(environ.get("HTTP_COOKIE")).get(COOKIE))
        asked = None if device is None else room.compresses(device)
        return settings.compression if asked is None else asked

    return compresses


def _transports(
    app: flask.Flask,
    settings: Settings,
    fanout: Fanout,
    broker: Broker,
    admission: Admission,
    devices: Devices,
    compresses: Compresses,
) -> tuple[SseTransport, SocketIoTransport]:
    socket_options = SocketOptions(settings.send_buffer_bytes, round(settings.peer_timeout_s * 1000))
    sse = SseTransport(
        fanout,
        broker,
        admission,
        socket_options=socket_options,
        retry_ms=settings.retry_ms,
        heartbeat_s=settings.heartbeat_s,
        queue_max=settings.queue_notifications_max,
    )
    socketio = SocketIoTransport(
        app,
        fanout,
        broker,
        ping_interval_s=settings.ping_interval_s,
        ping_timeout_s=settings.ping_timeout_s,
        queue_max=settings.queue_notifications_max,
        compresses=compresses,
        # Polls of one session must reach the process that has it, and these share a port.
        polling=settings.workers == 1,
        direct=settings.fanout == "direct" and fanout.flusher.loop.is_possible,
        socket_options=socket_options,
        admission=admission,
        limits=IncomingLimits(
            packet_bytes_max=settings.packet_bytes_max,
            packets_per_s=settings.packets_per_s_max,
            packets_burst_max=10 * settings.packets_per_s_max,
        ),
        topics_max=settings.topics_per_client_max,
        identify=lambda: devices.from_cookie(flask.request.cookies.get(COOKIE)),
    )
    return sse, socketio


def live_run_id() -> str:
    """The live run's id: when this server started, sortable, and who it is."""
    return f"live-{clock.timestamp(clock.now_us())}-{clock.timebase()[:4]}"
