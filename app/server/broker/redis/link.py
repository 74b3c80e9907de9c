"""The connection to Redis: requests with a timeout, and the translation of its errors.

It uses redis-py on the sockets of whatever threads this process has. Under eventlet and gevent those are green: a
green thread that waits for Redis yields to the hub like one that waits for a client. A native thread with its own
socket would cost two thread switches per notification, several times the cost of the wait itself, and gain nothing.

The library retries nothing: after a timeout it is unknown whether a publish was executed. The publisher gets an
error, and repeats the request with its idempotency key.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError, Sentinel

from app.core.broker_url import RedisAddress
from app.core.errors import BrokerAway, NotKept, StoreError
from app.server.broker.redis import scripts

PATIENCE_S = 1.5
"""Timeout of a request: longer than any fork or fsync of a healthy Redis, and than most of a slow one's."""

WAKE_MS = 500
"""Longest wait for new entries, after which the reader checks for losses and a stop."""

VERSION_MIN = (6, 2)
"""The first version with exclusive ranges in XRANGE, which reading uses. Valkey began at 7.2."""

ADVICE = "Repeat it with its idempotency_key when Redis is back: then it is published once."

_GONE = (
    *(redis.ConnectionError, redis.TimeoutError, redis.InvalidResponse),
    *(redis.ReadOnlyError, MasterNotFoundError, OSError),
)
"""Errors that mean: no Redis, another program in its place, one that is still loading, or no longer the master."""


class RedisLink:
    """A connection pool for requests, and one connection for waiting."""

    def __init__(self, address: RedisAddress, *, ca_file: str = "") -> None:
        """`ca_file`: CA certificates (PEM) for a Redis with TLS; empty: those of the system."""
        self.address = address
        self._asking = _client(address, ca_file)
        self._waiting = _client(address, ca_file)
        self._keys = scripts.keys_of(address)
        self._scripts = {
            name: self._asking.register_script(getattr(scripts, name.upper()))
            for name in ("join", "renew", "read", "append", "keep", "claim", "leave")
        }

    def ask(self, script: str, *arguments: str | int) -> list[Any]:
        """Run a script and return its result. Raises `BrokerAway` (executed or not) and `NotKept` (refused)."""
        with self._translated():
            answer = self._scripts[script](keys=self._keys, args=arguments)
            return answer if isinstance(answer, list) else [answer]

    def wait(self, after: int) -> list[tuple[bytes, list[bytes]]]:
        """Return entries after an offset as soon as there are any, or none after `WAKE_MS`. Raises `BrokerAway`.

        A waiting XREAD returns the stream that ended the wait; entries of the other stream may be missing.
        """
        streams = {self._keys[1]: f"{after}-0", self._keys[2]: f"{after}-0"}
        with self._translated():
            answer: Any = self._waiting.xread(streams, block=WAKE_MS)  # type: ignore[arg-type]
        return [
            (id, [part for pair in fields.items() for part in pair])
            for _stream, entries in answer or ()
            for id, fields in entries
        ]

    def cached_response(self, question: str) -> bytes | None:
        """Return a cached response, or `None`. Raises `BrokerAway`, `NotKept` and `StoreError`."""
        with self._translated():
            found: Any = self._asking.hget(self._keys[5], question)
        return found if isinstance(found, bytes) else None

    def check(self) -> str:
        """Return how durable acknowledged writes are, in words. Raises `BrokerAway` and `StoreError` (too old)."""
        with self._translated():
            server: Any = self._asking.info("server")
            persistence: Any = self._asking.info("persistence")
            fsync = self._fsync()
        version = str(server["redis_version"])
        if tuple(int(part) for part in version.split(".")[:2]) < VERSION_MIN:
            raise StoreError(f"Redis {version} is too old: Siar needs 6.2 or newer, or Valkey.")
        if not persistence.get("aof_enabled"):
            return "no append-only file: a restart of Redis takes what its last snapshot does not hold"
        return f"append-only file, appendfsync={fsync}"

    def _fsync(self) -> str:
        try:
            found: Any = self._asking.config_get("appendfsync")
            return str(found["appendfsync"])
        except (redis.ResponseError, KeyError):  # Hosted Redis may forbid CONFIG GET.
            return "unknown"

    def forget(self) -> None:
        """Delete the whole history. Raises `BrokerAway`."""
        with self._translated():
            self._asking.delete(*self._keys)

    def hang_up(self) -> None:
        """Close the connections. No request may be in progress."""
        for client in (self._waiting, self._asking):
            with contextlib.suppress(redis.RedisError, OSError):
                client.connection_pool.disconnect()

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except redis.AuthenticationError as error:
            raise BrokerAway(f"Redis ({self.address}) does not let us in: {error}.") from error
        except _GONE as error:
            raise BrokerAway(f"Redis ({self.address}) does not answer. {ADVICE}") from error
        except redis.ResponseError as error:
            if "WRONGTYPE" in str(error):
                raise StoreError(
                    f"Redis ({self.address}) holds something else under this name; choose another with ?prefix=NAME."
                ) from error
            # Out of memory, a full disk, too few replicas: Redis answers but accepts no writes.
            raise NotKept(f"Not published: Redis ({self.address}) refused it ({error}).") from error


def _client(address: RedisAddress, ca_file: str) -> redis.Redis:
    # These are the library's defaults, stated explicitly.
    tls = {
        "ssl": True,
        "ssl_cert_reqs": "required",
        "ssl_check_hostname": True,
        "ssl_ca_certs": ca_file or None,
    }
    encrypted: dict[str, Any] = tls if address.tls else {}
    options: dict[str, Any] = {
        **encrypted,
        "db": address.db,
        "username": address.username,
        "password": address.password,
        "socket_timeout": PATIENCE_S,
        "socket_connect_timeout": PATIENCE_S,
        "socket_keepalive": True,
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,
        "decode_responses": False,
        "client_name": "siar",
    }
    if address.service is None:
        host, port = address.hosts[0]
        return redis.Redis(host=host, port=port, **options)
    hosts = list(address.hosts)
    patience = {"socket_timeout": PATIENCE_S, "socket_connect_timeout": PATIENCE_S}
    sentinel: Any = Sentinel(hosts, **encrypted, **patience)  # type: ignore[no-untyped-call]
    found: redis.Redis = sentinel.master_for(address.service, **options)
    return found
