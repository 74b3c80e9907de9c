"""Does this network let devices see each other. Guest networks often do not ("AP isolation", "client isolation").

It cannot be known from one machine. What can be seen: whether any other device but the router has been heard of here.
"""

from __future__ import annotations

from app.tools.doctor.finding import Finding, ok, warn
from app.tools.doctor.machine import Machine
from app.tools.doctor.subject import Subject

NAME = "neighbours"

COMPLETE = 0x2
"""ATF_COM in the kernel's table: the device answered (linux/if_arp.h)."""


def look(subject: Subject, machine: Machine) -> Finding:
    """Whether others have been heard of."""
    table = machine.text("proc/net/arp")
    if subject.is_for_this_machine_only or table is None:
        return ok(NAME, "unknown")
    routers = _routers(machine.text("proc/net/route") or "")
    heard = [address for address, interface in _heard(table) if address not in routers.get(interface, ())]
    if heard:
        return ok(NAME, "seen", count=len(heard))
    if any(machine.has(f"sys/class/net/{interface}/wireless") for interface in routers):
        return warn(NAME, "alone_on_wifi")
    return ok(NAME, "alone")


def _heard(table: str) -> list[tuple[str, str]]:
    """Address and interface of each device that answered, from /proc/net/arp."""
    rows = [line.split() for line in table.splitlines()[1:]]
    return [(row[0], row[5]) for row in rows if len(row) == 6 and int(row[2], 16) & COMPLETE]


def _routers(table: str) -> dict[str, set[str]]:
    """Routers by interface, from /proc/net/route, whose addresses are hexadecimal with the last byte first."""
    found: dict[str, set[str]] = {}
    for line in table.splitlines()[1:]:
        row = line.split()
        if len(row) >= 3 and row[1] == "00000000" and row[2] != "00000000":
            found.setdefault(row[0], set()).add(".".join(str(byte) for byte in bytes.fromhex(row[2])[::-1]))
    return found
