"""Every knob: its unit, its default and the reason for it; read once at start from `SIAR_*`, then frozen."""

from __future__ import annotations

import ipaddress
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from app.core.broker_url import parse_broker_url
from app.core.errors import SettingError
from app.core.forwarded import parse_network
from app.core.our_host import is_localhost
from app.core.prefix import clean_prefix

PREFIX = "SIAR_"

NOT_SETTINGS = frozenset({"SIAR_TEST_STRICT", "SIAR_PYTHON"})
"""Names that the wrapper and the test suite read; the service passes them by."""

_OF_OTHER_TOOLS = (
    "GUNICORN_",
    "FLASK_",
    "WERKZEUG_",
    "LOCUST_",
    "WEB_CONCURRENCY",
    "EVENTLET_HUB",
    "PYTHONOPTIMIZE",
)
"""With which names begin that change what a child of ours does: workers, addresses, the loop, checks left out."""

_TOKEN = re.compile(r"(?:[!-~](?:[ -~]*[!-~])?)?")

PRACTICE_PREFIX = "practice-"
"""With which app/server/practice.py names its rounds; a test holds the two together, since settings stand below it."""

_LINK_URL = r"(tcp|udp|sctp)://.*"
_LINK_HOST = r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*"

_SERVICE_LINKS = tuple(
    (re.compile("SIAR(_[A-Z0-9_]+)?_" + name), re.compile(value))
    for name, value in (
        ("SERVICE_HOST", _LINK_HOST),
        ("SERVICE_PORT(_[A-Z0-9_]+)?", r"\d+"),
        ("PORT", _LINK_URL),
        (r"PORT_\d+_(TCP|UDP|SCTP)", _LINK_URL),
        (r"PORT_\d+_(TCP|UDP|SCTP)_ADDR", _LINK_HOST),
        (r"PORT_\d+_(TCP|UDP|SCTP)_PORT", r"\d+"),
        (r"PORT_\d+_(TCP|UDP|SCTP)_PROTO", "tcp|udp|sctp"),
    )
)
"""Names and values that Docker links and Kubernetes put into the environment of every container beside a service
called "siar", or "siar-" and more. The value counts too: `SIAR_CLOK_PORT=9000` is a misspelt setting, and
`SIAR_CLOCK_PORT=tcp://10.0.0.7:80` is the link of a service "siar-clock"."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The service's settings. The environment name of a field is `SIAR_` and the field's name in capitals."""

    host: str = "127.0.0.1"
    """Address to listen on. Loopback: nobody on the LAN reaches a service that was not asked to be reachable."""
    port: int = 8080
    """TCP port of the service."""
    admin_token: str = field(default="", repr=False)
    """The operator's token. Empty: a random one is made at start and printed by `serve`."""
    runs_dir: Path = Path("runs")
    """Folder of the runs; the live run of `serve` is one of them."""
    run: str = ""
    """Id of the live run, to which a phone's deliveries outside an experiment belong. Empty: made at start."""
    recorder: bool = True
    """Whether a recorder process puts posted deliveries into the live run's store. `demo` has its runner do it."""
    clock_port: int = 0
    """Port of the clock channel. 0: any free one."""
    anchor_us: int | None = None
    """What is added to the monotonic clock; handed down by the parent process, never set by hand."""
    timebase: str = ""
    """Name of that anchor; handed down likewise."""
    parent_pipe_fd: int | None = None
    """A pipe whose end of file means that the process which started this one is gone; handed down likewise."""
    broker: str = "memory://"
    """Where order and history live: `memory://`; a file that outlives the server, `sqlite:///history.db`; or what several
    servers share, `redis://127.0.0.1:6379`."""
    broker_ca: str = ""
    """PEM file with who vouches for a `rediss://` broker. Empty: whom the system trusts."""
    workers: int = 1
    """Server processes behind the one port. Several need a shared broker, and leave out what one process remembers."""
    history_count: int = 10_000
    """Notifications kept for resume; at 1/s nearly three hours."""
    history_bytes: int = 16 * 1024 * 1024
    """Their encoded size in all; bounds memory whatever the bodies."""
    history_age_s: int = 24 * 3600
    """Older ones are dropped: a phone that comes back after a day wants today's."""
    history_cache_ttl_s: float = 0
    """How long Redis may keep an answer to who asks for history, which the next publish ends anyway. 0: none is kept,
    since every server has the history in its memory."""
    heartbeat_s: float = 15.0
    """Pause after which an idle event stream gets a comment; below the 30-60 s after which proxies cut it."""
    retry_ms: int = 1000
    """What EventSource waits before it reconnects, on average: each is told another time, and a longer one at our own end."""
    ping_interval_s: float = 25
    """Engine.IO's ping; the protocol's default."""
    ping_timeout_s: float = 20
    """How long a pong may take; the protocol's default."""
    green_threads: str = "eventlet"
    """The library behind gunicorn's worker: `eventlet`, or `gevent` for the day on which eventlet is no more."""
    fanout: str = "direct"
    """How bytes reach the clients: `direct`, written by us on connections taken over from the WSGI server, or `stock`,
    a queue and a green thread for each client, as libraries do it: to see what that costs."""
    io_uring: bool = True
    """Whether a broadcast hands the kernel the writes to many connections by one call, where it has `io_uring` and lets us
    (Linux 5.18; most containers do not); else, and with `0`, each has a `send` of its own."""
    queue_notifications_max: int = 1000
    """Notifications that may wait for one slow connection; beyond it the connection is closed and resumes."""
    queue_bytes_max: int = 1024 * 1024
    """Bytes that may wait for it, beside what the kernel's send buffer holds."""
    send_buffer_bytes: int = 65_536
    """SO_SNDBUF of every subscriber's connection (Linux doubles it); unset, the kernel takes 4 MB for a slow one."""
    peer_timeout_s: float = 20.0
    """TCP_USER_TIMEOUT: a peer that acknowledges nothing for that long has gone. About a heartbeat's pause."""
    connections_max: int = 20_000
    """Open connections of this process, both transports together; beyond it 503. Fewer where the kernel allows fewer open files."""
    packet_bytes_max: int = 65_536
    """A packet from a Socket.IO client, who has little more to say than hello; beyond it the connection is closed."""
    packets_per_s_max: int = 200
    """From one Socket.IO client on average, ten times that at once; beyond it the connection is closed."""
    topics_per_client_max: int = 32
    """Topics that one client may name; beyond it 400, or a refused CONNECT."""
    publish_body_bytes_max: int = 262_144
    """The JSON of a notification; beyond it 413. A client that escapes all but ASCII sends three times what is kept."""
    publish_per_s_max: int = 2000
    """Notifications by HTTP on average, and as many at once; beyond it 429 with the time to wait."""
    header_bytes_max: int = 8190
    """One header line of a request; beyond it 400."""
    connections_per_address_max: int = 256
    """From one address, loopback excepted: a room behind one router, and no single phone that takes everybody's."""
    compression: bool = False
    """For everyone who offers it; else only for phones in a trial that is about it."""
    allowed_hosts: tuple[str, ...] = ()
    """Names accepted in `Host` beside IP literals, dotless names and `*.local` (DNS rebinding)."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks whose `X-Forwarded-*` and `Forwarded` are believed; with any, loopback is no exception."""
    prefix: str = ""
    """Path below which a proxy shows the service, as in `/siar`, whether it takes that away or not. Empty: at the root."""
    admin_over_http: bool = False
    """Whether an operator may sign in from another machine over plain HTTP, where the network can read the session."""
    operator_key: str = field(default="", repr=False)
    """Key of the first one-time link; made and printed by `serve`, never set by hand."""
    first_link: bool = True
    """Whether that link has not been open before; handed down by the server's master, never set by hand."""
    join_code: bool = False
    """Whether a phone needs the room's code to join, beside its address."""
    runner_silence_s: float = 60.0
    """After so long without a word of it a runner counts as gone and its room closes: between trials it asks twice a
    second, and a laptop that was shut does not come back within a minute."""
    retention_days: int = 30
    """After so many days live runs go into the trash and participants' names are deleted. 0: never."""
    tls_cert: str = ""
    """PEM file of a certificate: HTTPS. Empty: plain HTTP, since a LAN's address has no certificate that browsers know."""
    tls_key: str = ""
    """PEM file of the key to it."""
    tls_authority: str = ""
    """Certificate that phones may install and trust, offered at `/ca.crt`; `serve --https ca` makes it."""
    self_check: bool = False
    """Whether the server, once ready, looks at itself as a client would, and says what is wrong. `serve` asks for it."""
    language: str = ""
    """Of what is then said in the terminal: `en` or `id`. Empty: the locale's."""
    publish_age_max_s: float = 60.0
    """How far in the past a publisher's `due_us` may lie."""
    spool_bytes_max: int = 256 * 1024 * 1024
    """Size of a run's spool of posted deliveries; beyond it batches are refused with 507."""
    spool_device_bytes_max: int = 32 * 1024 * 1024
    """What one device may post to a run, about 100,000 arrivals; beyond it 413. One alone must not fill it for the others."""
    log_level: str = "warning"
    """Of the server's own log: debug, info, warning, error."""

    def __post_init__(self) -> None:
        for name, low, high in (
            ("port", 0, 65535),
            ("workers", 1, 64),
            ("clock_port", 0, 65535),
            ("history_count", 1, 10_000_000),
            ("history_bytes", 1024, 2**40),
            ("history_age_s", 1, 10**9),
            ("history_cache_ttl_s", 0, 3600),
            ("heartbeat_s", 0.05, 3600),
            ("retry_ms", 10, 600_000),
            ("ping_interval_s", 0.1, 3600),
            ("ping_timeout_s", 0.1, 3600),
            ("queue_notifications_max", 1, 10_000_000),
            ("queue_bytes_max", 1024, 2**30),
            ("send_buffer_bytes", 4096, 2**24),
            ("peer_timeout_s", 1, 3600),
            ("connections_max", 1, 10_000_000),
            ("packet_bytes_max", 1024, 2**24),
            ("packets_per_s_max", 1, 1_000_000),
            ("topics_per_client_max", 1, 10_000),
            ("publish_body_bytes_max", 1024, 2**24),
            ("publish_per_s_max", 1, 1_000_000),
            ("header_bytes_max", 256, 65_536),
            ("connections_per_address_max", 1, 10_000_000),
            ("publish_age_max_s", 0, 86_400),
            ("spool_bytes_max", 1024, 2**40),
            ("spool_device_bytes_max", 1024, 2**40),
            ("runner_silence_s", 1, 3600),
            ("retention_days", 0, 36_500),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise SettingError(f"{environment_name(name)} is {value}; it must be {low} to {high}.")
        if not parse_broker_url(self.broker).is_shared and self.workers > 1:
            raise SettingError(
                f"{self.workers} server processes need a shared broker: give --broker redis://HOST:PORT "
                "(SIAR_BROKER), or serve with one (--workers 1)."
            )
        if self.history_cache_ttl_s and not parse_broker_url(self.broker).is_shared:
            raise SettingError(
                "SIAR_HISTORY_CACHE_TTL_S keeps answers in Redis: give --broker redis://HOST:PORT (SIAR_BROKER)."
            )
        if bool(self.tls_cert) != bool(self.tls_key):
            raise SettingError("SIAR_TLS_CERT and SIAR_TLS_KEY belong together: set both, or neither.")
        if self.language not in ("", "en", "id"):
            raise SettingError(f'SIAR_LANGUAGE is "{self.language}"; it must be en or id.')
        self._check_token()
        self._check_proxies()
        if self.green_threads not in ("eventlet", "gevent"):
            raise SettingError(
                f'SIAR_GREEN_THREADS is "{self.green_threads}"; it must be eventlet or gevent.'
            )
        if self.fanout not in ("direct", "stock"):
            raise SettingError(f'SIAR_FANOUT is "{self.fanout}"; it must be direct or stock.')
        if self.log_level not in ("debug", "info", "warning", "error"):
            raise SettingError(
                f'SIAR_LOG_LEVEL is "{self.log_level}"; it must be debug, info, warning or error.'
            )
        # As `RUN_ID` in store/archive/folders.py: a run of another name would neither be listed, nor forgotten for a device.
        if self.run and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", self.run):
            raise SettingError(
                "SIAR_RUN may hold letters, digits, dot, dash and underscore only, at most 64, "
                "and begins with a letter or digit."
            )
        if self.run.startswith(PRACTICE_PREFIX):
            raise SettingError(
                f"SIAR_RUN may not begin with {PRACTICE_PREFIX}: of practice rounds nothing is stored."
            )

    def _check_token(self) -> None:
        if not _TOKEN.fullmatch(self.admin_token):
            raise SettingError(
                "SIAR_ADMIN_TOKEN (--admin-token) may hold ASCII characters only, and neither begins nor ends with a space or "
                "line end: an HTTP header cannot carry others. A file that was written on Windows ends its lines with CR."
            )

    def _check_proxies(self) -> None:
        for network in self.trusted_proxies:
            try:
                parse_network(network)
            except ValueError:
                raise SettingError(
                    f'SIAR_TRUSTED_PROXIES names "{network}", which is neither an address nor a network, '
                    'as in "10.0.0.7,192.168.1.0/24".'
                ) from None
        if clean_prefix(self.prefix) != self.prefix:
            raise SettingError(
                f'SIAR_PREFIX (or SCRIPT_NAME) is "{self.prefix}"; it must be a path of letters, digits and "._~-", as in '
                '"/siar", that begins with none of the service\'s own, such as /api.'
            )


def environment_name(field_name: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + field_name.upper()


def read(environment: Mapping[str, str], **given: Any) -> Settings:
    """Settings from `SIAR_*`, with `given` (flags) over them. Raises `SettingError` in words.

    An unknown `SIAR_*` name is an error, because a misspelt limit would otherwise be no limit. `SCRIPT_NAME`, by which
    gunicorn and others are told of a prefix, counts where `SIAR_PREFIX` is not set.
    """
    known = {environment_name(each.name): each for each in fields(Settings)}
    values: dict[str, Any] = {}
    for name, text in environment.items():
        if not name.startswith(PREFIX) or name in NOT_SETTINGS or _is_service_link(name, text):
            continue
        if name not in known:
            raise SettingError(f"{name} is not a setting. Settings are: {', '.join(sorted(known))}.")
        values[known[name].name] = _parsed(name, str(known[name].type), text)
    values.update({name: value for name, value in given.items() if value is not None})
    prefix = (values.get("prefix") or environment.get("SCRIPT_NAME", "")).strip("/")
    values["prefix"] = f"/{prefix}" if prefix else ""
    settings = Settings(**values)
    if settings.admin_token:
        return settings
    return Settings(**{**values, "admin_token": secrets.token_urlsafe(24)})


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Environment of a child process: without our settings, which it is given, and without other tools'."""
    return {
        name: value for name, value in environment.items() if not name.startswith((PREFIX, *_OF_OTHER_TOOLS))
    }


def is_loopback(host: str) -> bool:
    """Whether `host` names this machine only."""
    if is_localhost(host.lower().rstrip(".")):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_service_link(name: str, text: str) -> bool:
    return any(names.fullmatch(name) and values.fullmatch(text) for names, values in _SERVICE_LINKS)


def _parsed(name: str, kind: str, text: str) -> Any:
    try:
        if kind in ("int", "int | None"):
            return int(text)
        if kind == "float":
            return float(text)
        if kind == "bool":
            return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}[
                text.lower()
            ]
    except (ValueError, KeyError):
        expected = {"bool": "1 or 0", "float": "a number"}.get(kind, "a whole number")
        raise SettingError(f'{name} is "{text}"; it must be {expected}.') from None
    if kind == "Path":
        return Path(text)
    if kind.startswith("tuple"):
        return tuple(part.strip().lower() for part in text.split(",") if part.strip())
    return text
