"""What is looked at: a service that is to run, or runs, at an address."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.server.wsgi.addresses import bracketed, lan_addresses
from app.settings import Settings, is_loopback

EVERYWHERE = ("0.0.0.0", "::")
"""Hosts that stand for all addresses of a machine."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Where the service listens, and what it needs there."""

    host: str
    port: int
    clock_port: int
    """0: any free one."""
    is_secure: bool
    runs_dir: Path
    connections_max: int
    prefix: str = ""
    """Below it everything is; the service is found without it, too, but its pages refer to what is below."""

    @property
    def is_for_this_machine_only(self) -> bool:
        """Whether it listens on loopback alone."""
        return is_loopback(self.host)

    def lan(self) -> list[str]:
        """Addresses at which other machines reach it, the likeliest first; none without a network."""
        if self.is_for_this_machine_only:
            return []
        return lan_addresses() if self.host in EVERYWHERE else [self.host]

    def local(self) -> str:
        """The address at which this machine reaches it best."""
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)

    def url(self, address: str) -> str:
        """The service's URL under an address, without a slash at the end."""
        return f"{'https' if self.is_secure else 'http'}://{bracketed(address)}:{self.port}{self.prefix}"


def subject_of(settings: Settings) -> Subject:
    """The service that these settings describe."""
    return Subject(
        host=settings.host,
        port=settings.port,
        clock_port=settings.clock_port,
        is_secure=bool(settings.tls_cert),
        runs_dir=settings.runs_dir,
        connections_max=settings.connections_max,
        prefix=settings.prefix,
    )
