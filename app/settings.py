"""Every setting with its unit, its default and the reason for it; read once at start from `SIAR_*`, then frozen."""

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
from app.core.host_check import is_localhost
from app.core.prefix import clean_prefix

PREFIX = "SIAR_"

NOT_SETTINGS = frozenset({"SIAR_TEST_STRICT", "SIAR_PYTHON"})
"""Environment names that the wrapper and the test suite read; the service ignores them."""

_OTHER_TOOLS_PREFIXES = (
    "GUNICORN_",
    "FLASK_",
    "WERKZEUG_",
    "LOCUST_",
    "WEB_CONCURRENCY",
    "EVENTLET_HUB",
    "PYTHONOPTIMIZE",
)
"""Prefixes of other tools' variables that would change a child process: its workers, addresses, event loop or checks."""

_TOKEN = re.compile(r"(?:[!-~](?:[ -~]*[!-~])?)?")

PRACTICE_PREFIX = "practice-"
"""Prefix of the ids of practice rounds, as in app/server/practice.py, which settings may not import; a test compares them."""

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
"""Names and values of the variables that Docker links and Kubernetes set for a service called "siar" or "siar-...".

They appear in the environment of every container next to that service. The value is checked too:
`SIAR_CLOK_PORT=9000` is a misspelt setting, but `SIAR_CLOCK_PORT=tcp://10.0.0.7:80` is the link of "siar-clock"."""


RANGES: dict[str, tuple[float, float]] = {
    "port": (0, 65535),
    "workers": (1, 64),
    "clock_port": (0, 65535),
    "history_count": (1, 10_000_000),
    "history_bytes": (1024, 2**40),
    "history_age_s": (1, 10**9),
    "history_cache_ttl_s": (0, 3600),
    "heartbeat_s": (0.05, 3600),
    "retry_ms": (10, 600_000),
    "ping_interval_s": (0.1, 3600),
    "ping_timeout_s": (0.1, 3600),
    "queue_notifications_max": (1, 10_000_000),
    "queue_bytes_max": (1024, 2**30),
    "send_buffer_bytes": (4096, 2**24),
    "peer_timeout_s": (1, 3600),
    "connections_max": (1, 10_000_000),
    "packet_bytes_max": (1024, 2**24),
    "packets_per_s_max": (1, 1_000_000),
    "topics_per_client_max": (1, 10_000),
    "publish_body_bytes_max": (1024, 2**24),
    "publish_per_s_max": (1, 1_000_000),
    "header_bytes_max": (256, 65_536),
    "connections_per_address_max": (1, 10_000_000),
    "publish_age_max_s": (0, 86_400),
    "spool_bytes_max": (1024, 2**40),
    "spool_device_bytes_max": (1024, 2**40),
    "runner_silence_s": (1, 3600),
    "drain_delay_s": (0, 3600),
    "retention_days": (0, 36_500),
}
"""Lowest and highest value of each setting that is a number."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The service's settings. The environment name of a field is `SIAR_` and the field's name in capitals."""

    host: str = "127.0.0.1"
    """Address to listen on. The default is loopback: the LAN reaches the service only if the operator asks for it."""
    port: int = 8080
    """TCP port of the service."""
    admin_token: str = field(default="", repr=False)
    """The operator's token. Empty: a random one is generated at start and printed by `serve`."""
    runs_dir: Path = Path("runs")
    """Folder that holds the runs, the live run of `serve` included."""
    run: str = ""
    """Id of the live run, which takes phones' deliveries outside of experiments. Empty: generated at start."""
    recorder: bool = True
    """Run a recorder process that writes posted deliveries to the live run's store. In `demo` the runner does it."""
    clock_port: int = 0
    """Port of the clock channel. 0: any free port."""
    anchor_us: int | None = None
    """Offset that is added to the monotonic clock; set by the parent process, never by hand."""
    timebase: str = ""
    """Name of that anchor; set by the parent process."""
    parent_pipe_fd: int | None = None
    """A pipe whose end of file means that the parent process is gone; set by the parent process."""
    broker: str = "memory://"
    """URL of the order and history of notifications: `memory://`, a durable file (`sqlite:///history.db`), or a Redis
    that several servers share (`redis://127.0.0.1:6379`)."""
    broker_ca: str = ""
    """PEM file of the certificate authority for a `rediss://` broker. Empty: the system's trust store."""
    workers: int = 1
    """Server processes on the one port. Several need a shared broker, and lack features that need one process's memory."""
    history_count: int = 10_000
    """Notifications kept for resume; at 1/s this covers nearly three hours."""
    history_bytes: int = 16 * 1024 * 1024
    """Total encoded size of the kept notifications; bounds memory for any size of body."""
    history_age_s: int = 24 * 3600
    """Age at which a notification is dropped from history: a phone that returns after a day wants today's."""
    history_cache_ttl_s: float = 0
    """Time for which Redis may cache an answer to a request for history; the next publish invalidates it earlier.
    0: no cache, because every server holds the history in its memory."""
    heartbeat_s: float = 15.0
    """Interval after which an idle event stream gets a comment; below the 30-60 s after which proxies close it."""
    retry_ms: int = 1000
    """Mean time that EventSource waits before it reconnects. Each client gets a different value, and a longer one when
    the server itself shuts down."""
    ping_interval_s: float = 25
    """Interval between Engine.IO pings; the protocol's default."""
    ping_timeout_s: float = 20
    """Time limit for a pong; the protocol's default."""
    green_threads: str = "eventlet"
    """Green-thread library of gunicorn's worker: `eventlet`, or `gevent` in case eventlet is discontinued."""
    fanout: str = "direct"
    """Mode of fan-out. `direct`: our code writes to sockets that it detached from the WSGI server. `stock`: a queue and a
    green thread per client, as libraries do it, to measure what that costs."""
    io_uring: bool = True
    """Submit a broadcast's writes to many connections in one `io_uring` call where the kernel permits it (Linux 5.18; most
    containers do not). Otherwise, and with `0`, each connection gets its own `send`."""
    queue_notifications_max: int = 1000
    """Notifications queued for one slow consumer; beyond the limit its connection is closed, and the client resumes."""
    queue_bytes_max: int = 1024 * 1024
    """Bytes queued for one slow consumer, in addition to what the kernel's send buffer holds."""
    send_buffer_bytes: int = 65_536
    """SO_SNDBUF of every subscriber's connection (Linux doubles it). Unset, the kernel uses up to 4 MB for a slow one."""
    peer_timeout_s: float = 20.0
    """TCP_USER_TIMEOUT: a peer that acknowledges nothing for this long is gone. About one heartbeat interval."""
    connections_max: int = 20_000
    """Open connections of this process, both transports together; beyond it 503. The limit on open files can lower it."""
    packet_bytes_max: int = 65_536
    """Size of a packet from a Socket.IO client, which sends little after the handshake; beyond it it is disconnected."""
    packets_per_s_max: int = 200
    """Mean packet rate from one Socket.IO client, with bursts of ten times as many; beyond it the connection is closed."""
    topics_per_client_max: int = 32
    """Topics that one client may subscribe to; beyond it 400, or a refused CONNECT."""
    publish_body_bytes_max: int = 262_144
    """Size of a notification's JSON; beyond it 413. A client that escapes non-ASCII sends three times what is kept."""
    publish_per_s_max: int = 2000
    """Mean rate of notifications published by HTTP, with bursts of as many; beyond it 429 with the time to wait."""
    header_bytes_max: int = 8190
    """Length of one header line of a request; beyond it 400."""
    connections_per_address_max: int = 256
    """Connections from one address, except loopback: enough for a room behind one router, too few for one phone to take
    all of them."""
    compression: bool = False
    """Compress for every client that offers it; otherwise only for phones in a trial that compares compression."""
    allowed_hosts: tuple[str, ...] = ()
    """Names accepted in `Host` in addition to IP literals, dotless names and `*.local` (against DNS rebinding)."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks whose `X-Forwarded-*` and `Forwarded` are trusted; with any, loopback is not exempt from
    limits per address."""
    prefix: str = ""
    """Path under which a proxy publishes the service, as in `/siar`, whether or not the proxy strips it. Empty: the root."""
    admin_over_http: bool = False
    """Allow operators to sign in from another machine over plain HTTP, where the network can read the session."""
    operator_key: str = field(default="", repr=False)
    """Key of the first one-time link; generated and printed by `serve`, never set by hand."""
    first_link: bool = True
    """True if that link has not been opened before; set by the server's master, never by hand."""
    join_code: bool = False
    """Require the room's code, in addition to its address, from a phone that joins."""
    runner_silence_s: float = 60.0
    """Silence after which a runner counts as gone and its room closes. Between trials a runner polls twice a second, and a
    laptop that was closed does not return within a minute."""
    drain_delay_s: float = 0
    """Time at SIGTERM for which the service goes on while `/readyz` answers 503, so that a load balancer sends nobody there
    any more. 0: it stops listening at once."""
    retention_days: int = 30
    """Age at which live runs are moved to the trash and participants' names are deleted. 0: never."""
    tls_cert: str = ""
    """PEM file of a certificate, which enables HTTPS. Empty: plain HTTP, since no public authority certifies a LAN address."""
    tls_key: str = ""
    """PEM file of the certificate's key."""
    tls_authority: str = ""
    """Authority certificate that phones may install and trust, served at `/ca.crt`; `serve --https ca` creates it."""
    self_check: bool = False
    """Check the ready server from a client's point of view and report problems. `serve` enables it."""
    language: str = ""
    """Language of that report in the terminal: `en` or `id`. Empty: the locale's."""
    publish_age_max_s: float = 60.0
    """Greatest age of a publisher's `due_us`."""
    spool_bytes_max: int = 256 * 1024 * 1024
    """Size of a run's spool of posted deliveries; beyond it batches are refused with 507."""
    spool_device_bytes_max: int = 32 * 1024 * 1024
    """Size of one device's posts to a run, about 100,000 arrivals; beyond it 413, so that no device fills the spool alone."""
    log_level: str = "warning"
    """Level of the server's own log: debug, info, warning, error."""

    def __post_init__(self) -> None:
        for name, (low, high) in RANGES.items():
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
        # Same as `RUN_ID` in store/archive/folders.py: a run with another name is neither listed nor searched on deletion.
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
    """Return the environment variable of a setting."""
    return PREFIX + field_name.upper()


def read(environment: Mapping[str, str], **given: Any) -> Settings:
    """Build the settings from `SIAR_*`, overridden by `given` (flags). Raises `SettingError` with a readable sentence.

    An unknown `SIAR_*` name is an error, because a misspelt limit would otherwise have no effect. `SCRIPT_NAME`, the
    variable with which gunicorn and others configure a prefix, is used where `SIAR_PREFIX` is not set.
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
    """Return a child process's environment: without our settings, which are passed to it, and without other tools'."""
    return {
        name: value
        for name, value in environment.items()
        if not name.startswith((PREFIX, *_OTHER_TOOLS_PREFIXES))
    }


def is_loopback(host: str) -> bool:
    """Return True if `host` names only this machine."""
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
