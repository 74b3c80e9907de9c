"""Use of Locust by itself: delays for its pages, gaps and duplicates, and an optional publisher.

Each notification fires a `request` event, which costs more than receiving it, so a process can handle some hundreds of
users. `./siar load` records columns instead and fires no events.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import gevent
from gevent import Greenlet
from locust import events, stats
from locust.env import Environment
from locust.runners import MasterRunner, WorkerRunner

from app.core.errors import MalformedPosition
from app.core.exit_codes import EXIT_USAGE
from app.core.histogram import bucket_us
from loadtests.publisher import publish
from loadtests.server_clock import ServerClock
from loadtests.session import Member, Session
from loadtests.stamps import keep_stamping, kernel_offset_ns
from loadtests.users import PushUser

KERNEL_CLOCK_PERIOD_S = 1.0

_log = logging.getLogger(__name__)


class GapSeen(Exception):
    """Some notifications are missing."""


class DuplicateSeen(Exception):
    """A notification arrived a second time."""


def set_up() -> None:
    """Register all listeners with Locust, in a master, in a worker and in a single process."""
    # Locust provides this hook; only its annotation demands whole milliseconds.
    stats.bucket_response_time = bucket_ms  # type: ignore[assignment]
    for event, listener in (
        (events.init_command_line_parser, _add_arguments),
        (events.test_start, _start),
        (events.test_stop, _stop),
    ):
        event.add_listener(listener)  # type: ignore[no-untyped-call]


def bucket_ms(response_time_ms: float) -> float:
    """Round a time for Locust's statistics to three significant digits; its own rounding keeps two."""
    return bucket_us(round(response_time_ms * 1000)) / 1000


class _PlainTest:
    """A running test in this process."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._stamping = keep_stamping()
        self._greenlets: list[Greenlet] = []
        self._clock: ServerClock | None = None
        self._session = Session(on_notification=self._report)
        self._session.begin(environment.host or "http://127.0.0.1:8080", [])

    def start(self) -> None:
        """Prepare the session and the server's clock, and start a publisher if one was requested."""
        host = self._session.url
        self._clock = ServerClock.ask(*self._session.address, is_encrypted=self._session.is_encrypted)
        if self._clock is None:
            _log.warning("%s does not tell its time: no delays are shown.", host)
        if not isinstance(self._environment.runner, MasterRunner):
            PushUser.session = self._session
            self._greenlets.append(gevent.spawn(self._read_kernel_clock))
        options = vars(self._environment.parsed_options or object)
        rate_hz, token = float(options.get("publish_rate") or 0), str(options.get("operator_token") or "")
        if rate_hz > 0 and not isinstance(self._environment.runner, WorkerRunner):
            self._greenlets.append(gevent.spawn(publish, host, token, rate_hz, self._clock, self._give_up))

    def stop(self) -> None:
        """End the test's greenlets."""
        gevent.killall(self._greenlets, block=False)
        self._stamping.close()

    def _give_up(self) -> None:
        """Set the exit code for a refused token, and end a headless run, which has nothing to measure without a publisher."""
        self._environment.process_exit_code = EXIT_USAGE
        options, runner = self._environment.parsed_options, self._environment.runner
        if runner is not None and options is not None and options.headless:
            gevent.spawn(runner.quit)

    def _report(
        self,
        member: Member,
        transport: str,
        read_ns: int,
        notification: Mapping[str, Any],
        kernel_ns: int | None,
    ) -> None:
        self._report_gap(member, transport, notification)
        offset = notification.get("offset")
        if isinstance(offset, int) and offset <= member.replay_until:
            return  # A replay waited for the user's reconnect, which is no delivery delay.
        due_us = notification.get("due_us")
        if self._clock is None or not isinstance(due_us, int):
            return
        if kernel_ns is not None:
            received_us = (kernel_ns + self._session.kernel_offset_ns) / 1000
            self._fire(transport, "delay, kernel", (self._clock.server_us(received_us) - due_us) / 1000)
        self._fire(transport, "delay, handler", (self._clock.server_us(read_ns / 1000) - due_us) / 1000)

    def _report_gap(self, member: Member, transport: str, notification: Mapping[str, Any]) -> None:
        """Report gaps and duplicates. These users subscribe to all topics, so offsets must be consecutive."""
        try:
            missing = member.gaps.missing(str(notification.get("id")))
        except MalformedPosition:
            return
        if missing is None:
            self._fire(transport, "duplicate", 0.0, DuplicateSeen("a notification came again"))
        elif missing:
            self._fire(transport, "gap", 0.0, GapSeen(f"{missing} missing"))

    def _fire(self, transport: str, name: str, duration_ms: float, error: Exception | None = None) -> None:
        self._environment.events.request.fire(  # type: ignore[no-untyped-call]
            request_type=transport,
            name=name,
            response_time=max(0.0, duration_ms),
            response_length=0,
            exception=error,
            context={},
        )

    def _read_kernel_clock(self) -> None:
        while True:
            self._session.kernel_offset_ns = kernel_offset_ns()
            gevent.sleep(KERNEL_CLOCK_PERIOD_S)


_running: _PlainTest | None = None


def _start(environment: Environment, **_more: object) -> None:
    global _running
    _running = _PlainTest(environment)
    _running.start()


def _stop(environment: Environment, **_more: object) -> None:
    del environment
    if _running is not None:
        _running.stop()


def _add_arguments(parser: Any) -> None:
    parser.add_argument(
        "--publish-rate",
        type=float,
        default=0.0,
        help="notifications per second that Locust publishes itself (default: none)",
    )
    parser.add_argument(
        "--operator-token",
        default="",
        env_var="SIAR_ADMIN_TOKEN",
        is_secret=True,
        help="the server's operator token, to publish with",
    )
