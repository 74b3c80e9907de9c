"""Can other machines reach the service at all: is it bound to more than loopback, and is there a network."""

from __future__ import annotations

from app.tools.doctor.finding import Finding, ok, warn
from app.tools.doctor.subject import Subject

NAME = "address"

SHOWN_MAX = 3
"""Machines with containers have a dozen."""


def look(subject: Subject) -> Finding:
    """Under which addresses it is to be reached."""
    if subject.is_for_this_machine_only:
        return warn(NAME, "loopback", host=subject.host)
    found = subject.lan()
    if not found:
        return warn(NAME, "no_network")
    return ok(NAME, "lan", addresses=", ".join(found[:SHOWN_MAX]))
