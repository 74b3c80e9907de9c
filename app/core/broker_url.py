"""URL of a broker, which keeps the order and history of notifications.

memory://                                            in the process
sqlite:///relative.db  sqlite:////absolute.db        in a file of one server
redis://[USER:PASSWORD@]HOST[:PORT][/DB]             in Redis or Valkey, for several servers
redis+sentinel://[...@]HOST[:PORT],HOST.../SERVICE[/DB]   the same, found through sentinels
rediss://  rediss+sentinel://                        both over TLS, sentinels included; the certificate is always checked
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from app.core.errors import SettingError

SYNCHRONOUS = ("normal", "full")

REDIS_PORT = 6379
SENTINEL_PORT = 26379
"""Both are the servers' own defaults."""

DEFAULT_PREFIX = "siar"

FORMS = (
    'It must be "memory://", "sqlite:///FOLDER/FILE.db", "sqlite:////ABSOLUTE/FOLDER/FILE.db", '
    '"redis://HOST:PORT/DB" or "redis+sentinel://HOST:PORT,HOST:PORT/SERVICE" (over TLS: "rediss").'
)

_REDIS = ("redis", "redis+sentinel", "rediss", "rediss+sentinel")

_PREFIX = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SERVICE = re.compile(r"[A-Za-z0-9._-]{1,64}")
_CREDENTIALS = re.compile(r"://.*@")
"""Greedy, because a password that should have been percent-encoded may contain an @."""


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """Address of a Redis and of one of the histories in it."""

    hosts: tuple[tuple[str, int], ...]
    """Host and port of Redis itself (exactly one), or of its sentinels."""
    service: str | None = None
    """Name under which sentinels know the master; `None`: the host is Redis itself."""
    db: int = 0
    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    prefix: str = DEFAULT_PREFIX
    """Prefix of every key: servers with the same prefix share one order and one history."""
    tls: bool = False
    """True: the connection is encrypted, and the server's certificate is checked."""

    def __str__(self) -> str:
        """Describe the address for people and logs, without user and password."""
        hosts = ",".join(f"{host}:{port}" for host, port in self.hosts)
        return f"{self.service} of the sentinels {hosts}" if self.service else hosts


@dataclass(frozen=True, slots=True)
class BrokerUrl:
    """A parsed broker URL."""

    path: Path | None = None
    """File of the durable history; `None` for the other kinds of broker."""
    synchronous: str = "normal"
    """`"normal"`: flushed to the disk within about a second. `"full"`: flushed before a publish request is answered."""
    redis: RedisAddress | None = None
    """Redis in which several servers share order and history; `None` for the other kinds of broker."""

    @property
    def kind(self) -> str:
        """Describe the kind of broker for strangers and for a run's record, without path or address."""
        if self.redis is not None:
            return ", ".join(
                (
                    "redis",
                    *(["TLS"] if self.redis.tls else []),
                    *(["sentinels"] if self.redis.service else []),
                )
            )
        return "memory" if self.path is None else f"sqlite, synchronous={self.synchronous}"

    @property
    def is_shared(self) -> bool:
        """True if several processes may use it at the same time."""
        return self.redis is not None


def parse_broker_url(text: str) -> BrokerUrl:
    """Parse a broker URL without access to disk or network. Raises `SettingError` with a readable sentence."""
    if text == "memory://":
        return BrokerUrl()
    try:
        parts = urlsplit(text)
    except ValueError as error:
        raise _wrong(text, "which is no URL") from error
    if parts.scheme in _REDIS:
        return BrokerUrl(redis=_redis(text, parts))
    return _sqlite(text, parts)


def _sqlite(text: str, parts: SplitResult) -> BrokerUrl:
    name = unquote(parts.path)[1:]
    if parts.scheme != "sqlite" or parts.netloc or parts.fragment or not text.startswith("sqlite:///"):
        raise SettingError(f'SIAR_BROKER is "{without_password(text)}". {FORMS}')
    if not name or name.endswith("/") or name.startswith(":") or "\0" in name:
        raise _wrong(text, "which names no file")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    synchronous = options.pop("synchronous", "normal")
    if options or synchronous not in SYNCHRONOUS:
        raise SettingError(
            f'SIAR_BROKER is "{text}"; behind the file only ?synchronous=normal or ?synchronous=full may stand.'
        )
    return BrokerUrl(Path(name), synchronous)


def _redis(text: str, parts: SplitResult) -> RedisAddress:
    credentials, _, places = parts.netloc.rpartition("@")
    username, _, password = credentials.partition(":")
    kind, _, found_by = parts.scheme.partition("+")
    by_sentinels = found_by == "sentinel"
    default_port = SENTINEL_PORT if by_sentinels else REDIS_PORT
    hosts = tuple(_host(text, place, default_port) for place in places.split(","))
    if len(hosts) > 1 and not by_sentinels:
        raise _wrong(text, f"which names several hosts; those of sentinels are given as {kind}+sentinel://")
    steps = [step for step in unquote(parts.path).split("/") if step]
    service = None
    if by_sentinels:
        if not steps or not _SERVICE.fullmatch(steps[0]):
            raise _wrong(text, "which does not say under which name the sentinels know the service")
        service = steps.pop(0)
    if len(steps) > 1 or (steps and not (steps[0].isdecimal() and len(steps[0]) <= 4)):
        raise _wrong(text, "whose database is no number")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    prefix = options.pop("prefix", DEFAULT_PREFIX)
    if options or parts.fragment or not _PREFIX.fullmatch(prefix):
        raise SettingError(
            f'SIAR_BROKER is "{without_password(text)}"; behind it only ?prefix=NAME may stand, '
            "of letters, digits, dots and dashes."
        )
    return RedisAddress(
        hosts,
        service,
        db=int(steps[0]) if steps else 0,
        username=unquote(username) or None,
        password=unquote(password) or None,
        prefix=prefix,
        tls=kind == "rediss",
    )


def _host(text: str, place: str, default_port: int) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{place}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise _wrong(text, "whose port is no number up to 65535") from error
    if not host:
        raise _wrong(text, "which names no host")
    return host, default_port if port is None else port


def _wrong(text: str, what: str) -> SettingError:
    return SettingError(f'SIAR_BROKER is "{without_password(text)}", {what}. {FORMS}')


def without_password(text: str) -> str:
    """Mask user and password of a URL, so that it can be shown."""
    return _CREDENTIALS.sub("://...@", text)
