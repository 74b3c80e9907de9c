"""Servers of a load run: one that runs already, or one for each configuration of the VPS study's experiment."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from app import clock
from app.core.errors import Unfit
from app.lab.run import api, server_process
from app.lab.run.api import Server, ask
from app.lab.run.client_tls import address_of
from app.tools.bench.machine import Cores
from app.tools.bench.own_redis import RedisHere
from app.tools.load.vps import CACHE_TTL_S, CACHED, MEMORY, REDIS

TIMEOUT_S = 5.0

HISTORY_COUNT = 100
HISTORY_BODY_CHARS = 300
"""Default length of the list of `GET /api/notifications`, with half a kilobyte per notification, as in a trial."""


def find_server(url: str, *, admin_token: str) -> Server:
    """Return the server at `url`, with the clock channel reachable from here. Raises `Unfit`."""
    if urlsplit(url).scheme == "https":
        _check_certificate(url)
    server = api.find_server(url, admin_token=admin_token)
    if server.clock_port is not None and not _has_clock_channel(server.host, server.clock_port, base=url):
        # A proxy seldom forwards the clock channel's port; then `GET /api/clock` is used instead.
        return replace(server, clock_port=None)
    return server


def _check_certificate(url: str) -> None:
    host, port = address_of(url)
    with contextlib.suppress(OSError):  # A server that does not answer is reported by `find_server`.
        try:
            with (
                socket.create_connection((host, port), TIMEOUT_S) as plain,
                ssl.create_default_context().wrap_socket(plain, server_hostname=host),
            ):
                return
        except ssl.SSLCertVerificationError as error:
            raise Unfit(
                f"The certificate at {url} is not to be trusted ({error.verify_message.rstrip('.')}). "
                "Name the file of who vouches for it with --ca."
            ) from error
        except ssl.SSLError as error:
            raise Unfit(f"What answers at {url} does not speak TLS ({error.reason}).") from error


def _has_clock_channel(host: str, port: int, *, base: str) -> bool:
    """Return whether the clock channel answers at the port, encrypted if the service is."""
    with contextlib.suppress(OSError), socket.create_connection((host, port), TIMEOUT_S) as plain:
        if urlsplit(base).scheme == "https":
            ssl.create_default_context().wrap_socket(plain, server_hostname=host).close()
        return True
    return False


@contextlib.contextmanager
def preset_servers(
    redis: RedisHere, cores: Cores, *, runs_dir: Path, settings: Mapping[str, str]
) -> Iterator[dict[str, Server]]:
    """Start the servers and yield them by configuration, as arms name it; all share one clock. Raises `Unfit`."""
    shared = {
        **settings,
        # One anchor for all servers and the runner, so that their stamps are comparable.
        "SIAR_ANCHOR_US": str(clock.anchor_us()),
        "SIAR_TIMEBASE": clock.timebase(),
        "SIAR_RECORDER": "0",
        "SIAR_WORKERS": "1",
        "SIAR_HISTORY_CACHE_TTL_S": "0",
    }
    own = {
        MEMORY: {"SIAR_BROKER": "memory://"},
        REDIS: {"SIAR_BROKER": redis.url("c2")},
        CACHED: {"SIAR_BROKER": redis.url("c3"), "SIAR_HISTORY_CACHE_TTL_S": str(CACHE_TTL_S)},
    }
    with contextlib.ExitStack() as stack:
        servers = {}
        for name, its_own in own.items():
            with cores.on_server_core():
                started = server_process.start(runs_dir=runs_dir, settings={**shared, **its_own})
            servers[name] = stack.enter_context(started).server
            _fill_history(servers[name])
        yield servers


def _fill_history(server: Server) -> None:
    """Publish notifications to be listed: trials leave this history empty, and an empty list costs nothing."""
    for number in range(HISTORY_COUNT):
        body = {"title": f"Notification {number}", "body": "." * HISTORY_BODY_CHARS}
        try:
            status, _ = ask("POST", f"{server.url}/api/notifications", token=server.admin_token, body=body)
        except OSError as error:
            raise Unfit(f"The server at {server.url} no longer answers: {error}.") from error
        if status != 201:
            raise Unfit(f"The server at {server.url} refused a notification with {status}.")
