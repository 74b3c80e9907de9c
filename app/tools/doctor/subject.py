"""The service to be checked: where it listens, or will listen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.server.wsgi.addresses import bracketed, lan_addresses
from app.settings import Settings, is_loopback

EVERYWHERE = ("0.0.0.0", "::")
"""Hosts that mean all addresses of a machine."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Address and resources of the service to be checked."""

    host: str
    port: int
    clock_port: int
    """Port of the clock process; 0: any free port."""
    is_secure: bool
    runs_dir: Path
    connections_max: int
    prefix: str = ""
    """Path below which everything is. The service also answers without it, but its pages refer to URLs below it."""

    @property
    def is_for_this_machine_only(self) -> bool:
        """True if the service listens on loopback only."""
        return is_loopback(self.host)

    def lan(self) -> list[str]:
        """Return the addresses at which other machines reach it, the likeliest first; none without a network."""
        if self.is_for_this_machine_only:
            return []
        return lan_addresses() if self.host in EVERYWHERE else [self.host]

    def local(self) -> str:
        """Return the address at which this machine reaches it."""
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)

    def url(self, address: str) -> str:
        """Return the service's URL at an address, without a trailing slash."""
        return f"{'https' if self.is_secure else 'http'}://{bracketed(address)}:{self.port}{self.prefix}"


def subject_of(settings: Settings) -> Subject:
    """Return the service that these settings describe."""
    return Subject(
        host=settings.host,
        port=settings.port,
        clock_port=settings.clock_port,
        is_secure=bool(settings.tls_cert),
        runs_dir=settings.runs_dir,
        connections_max=settings.connections_max,
        prefix=settings.prefix,
    )
