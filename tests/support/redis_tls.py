"""A real Redis with TLS only and a single user."""

from __future__ import annotations

import contextlib
import secrets
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

from app.server.tls import keep
from tests.components import without
from tests.support.redis_server import RedisServer

USER = "somebody"
PASSWORD = "hunter2"


class EncryptedRedis(RedisServer):
    """A Redis whose certificate is signed by a test's own authority, which no system trusts."""

    def __init__(self, folder: Path) -> None:
        self.files = keep.make(keep.CA, folder / "tls", ["127.0.0.1"])
        super().__init__(
            folder,
            *("--tls-cert-file", str(self.files.certificate), "--tls-key-file", str(self.files.key)),
            *("--tls-auth-clients", "no"),
            # Not "default off": Redis 7.0 then omits from its append-only file what scripts and transactions wrote when
            # it starts, because that is done in the default user's name (redis/redis#14541).
            *("--requirepass", secrets.token_hex(16)),
            *("--user", USER, "on", f">{PASSWORD}", "~*", "&*", "+@all"),
        )

    @property
    def url(self) -> str:
        """The broker URL."""
        return f"rediss://{USER}:{PASSWORD}@{self.host}:{self.port}"

    @property
    def ca_file(self) -> str:
        """The authority's certificate."""
        return str(self.files.authority)

    def start(self) -> None:
        """Start it; skips the test if Redis was built without TLS."""
        try:
            super().start()
        except AssertionError:
            if "tls-port" in self.log():
                without("needs a redis-server that was built with TLS, as Debian's is")
            raise

    def command_line(self) -> list[str]:
        """Return the command that starts it, without a plain port."""
        plain = super().command_line()
        place = plain.index("--port")
        return [*plain[:place], "--port", "0", "--tls-port", str(self.port), *plain[place + 2 :]]

    def _answers(self) -> bool:
        trust = ssl.create_default_context(cafile=self.ca_file)
        with (
            contextlib.suppress(OSError),
            socket.create_connection((self.host, self.port), timeout=5) as plain,
            trust.wrap_socket(plain, server_hostname=self.host) as encrypted,
        ):
            encrypted.sendall(b"PING\r\n")
            return encrypted.recv(99).startswith((b"+PONG", b"-NOAUTH"))
        return False


@contextlib.contextmanager
def encrypted_redis(folder: Path) -> Iterator[EncryptedRedis]:
    """Run an encrypted Redis for the block."""
    server = EncryptedRedis(folder)
    try:
        yield server
    finally:
        server.kill()
