"""The way to Redis: what is asked of it, how long an answer may take, and what its refusals mean here.

redis-py on the sockets of whatever threads this process runs on. Under eventlet and gevent those are green: a green
thread that waits for Redis is asleep in the hub, as one that waits for a client is, and everybody else goes on. A
native thread with a socket of its own would cost two changes between threads for each notification, several times what
the wait itself does, and would buy nothing.

Nothing is tried twice by the library: whether a publish that got no answer was carried out, nobody knows here. Its
publisher is told, and repeats it with its idempotency key.
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
"""How long an answer may take. Longer than any fork or fsync of a healthy Redis, and than most of a sick one's."""

WAKE_MS = 500
"""A reader waits so long for something new before it looks whether all is as it was."""

VERSION_MIN = (6, 2)
"""Ranges that leave out their beginning, on which reading stands, came with it. Valkey began at 7.2."""

ADVICE = "Repeat it with its idempotency_key when Redis is back: then it is published once."

_GONE = (
    *(redis.ConnectionError, redis.TimeoutError, redis.InvalidResponse),
    *(redis.ReadOnlyError, MasterNotFoundError, OSError),
)
"""No Redis, something else in its place, one that is still loading, or one that is no master any more."""


class RedisLink:
    """A pool of connections for asking, and one connection for waiting."""

    def __init__(self, address: RedisAddress, *, ca_file: str = "") -> None:
        """`ca_file`: who vouches for a Redis that speaks TLS (PEM); empty: whom the system trusts."""
        self.address = address
        self._asking = _client(address, ca_file)
        self._waiting = _client(address, ca_file)
        self._keys = scripts.keys_of(address)
        self._scripts = {
            name: self._asking.register_script(getattr(scripts, name.upper()))
            for name in ("join", "renew", "read", "append", "keep", "claim", "leave")
        }

    def ask(self, script: str, *arguments: str | int) -> list[Any]:
        """What a script answers. Raises `BrokerAway` (no answer: carried out or not) and `NotKept` (refused)."""
        with self._translated():
            answer = self._scripts[script](keys=self._keys, args=arguments)
            return answer if isinstance(answer, list) else [answer]

    def wait(self, after: int) -> list[tuple[bytes, list[bytes]]]:
        """Entries behind an offset: as soon as there are any, or none after a while. Raises `BrokerAway`.

        Woken out of its sleep, Redis answers with the stream that woke it, so that the other's may be missing.
        """
        streams = {self._keys[1]: f"{after}-0", self._keys[2]: f"{after}-0"}
        with self._translated():
            answer: Any = self._waiting.xread(streams, block=WAKE_MS)  # type: ignore[arg-type]
        return [
            (id, [part for pair in fields.items() for part in pair])
            for _stream, entries in answer or ()
            for id, fields in entries
        ]

    def kept_answer(self, question: str) -> bytes | None:
        """What is kept of an answer; `None`: nothing. Raises `BrokerAway`, `NotKept` and `StoreError`."""
        with self._translated():
            found: Any = self._asking.hget(self._keys[5], question)
        return found if isinstance(found, bytes) else None

    def check(self) -> str:
        """How safe is what Redis has acknowledged, in words. Raises `BrokerAway` and `StoreError` (too old)."""
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
        except (redis.ResponseError, KeyError):  # Who offers Redis as a service may not let anybody ask.
            return "unknown"

    def forget(self) -> None:
        """Delete the whole history. Raises `BrokerAway`."""
        with self._translated():
            self._asking.delete(*self._keys)

    def hang_up(self) -> None:
        """Close the connections. Nothing may be under way on them."""
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
            # Out of memory, a full disk, too few replicas: it answers, and takes nothing.
            raise NotKept(f"Not published: Redis ({self.address}) refused it ({error}).") from error


def _client(address: RedisAddress, ca_file: str) -> redis.Redis:
    # The library checks certificate and name unless it is told not to; here that is written down.
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
