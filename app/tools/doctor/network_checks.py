"""Checks of the network: port, address, firewall and other devices.

All are made on this machine alone. What a firewall or the Wi-Fi does to others cannot be seen from here, so these
checks warn about known causes.
"""

from __future__ import annotations

import contextlib
import errno
import socket

import psutil

from app.settings import is_loopback
from app.tools.doctor.finding import Finding, fail, ok, warn
from app.tools.doctor.machine import Machine
from app.tools.doctor.subject import Subject

CONNECT_TIMEOUT_S = 0.3
"""Connection timeout to this machine's own addresses, which answer at once or never."""

ADDRESSES_SHOWN_MAX = 3
"""A machine with containers has a dozen addresses."""

MACOS_TOOL = "/usr/libexec/ApplicationFirewall/socketfilterfw"

ATF_COM = 0x2
"""Flag of a complete entry in the kernel's ARP table: the device has answered (linux/if_arp.h)."""

_NFTABLES_IS_STARTED = (
    "etc/systemd/system/sysinit.target.wants/nftables.service",
    "etc/systemd/system/multi-user.target.wants/nftables.service",
)


def check_port(host: str, port: int) -> tuple[int, Finding]:
    """Check that the port is free on the address to be used. Returns the port (a free one for 0) and the finding.

    This is not left to the server: one that sets SO_REUSEPORT, as `eventlet.listen` does, starts without an error and
    takes half of the other server's clients.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, port))
            port = int(sock.getsockname()[1])
        except (socket.gaierror, UnicodeError):
            return port, fail("port", "no_address", host=host)
        except PermissionError:
            return port, fail("port", "no_right", port=port)
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                return port, fail("port", "no_address", host=host)
            return port, _port_taken(host, port)
        other = _other_listener(host, port)
    if other is not None:
        return port, warn("port", "shared", port=port, address=other)
    return port, ok("port", "free", port=port)


def _port_taken(host: str, port: int) -> Finding:
    owner = _port_owner(port)
    if owner is None:
        return fail("port", "taken", host=host, port=port)
    program, pid = owner
    return fail("port", "taken_by", host=host, port=port, program=program, pid=pid)


def _port_owner(port: int) -> tuple[str, int] | None:
    """Return name and id of the process that listens on the port; `None` if it has ended, or this user may not know."""
    with contextlib.suppress(psutil.Error, OSError):  # macOS lists connections for root only.
        for each in psutil.net_connections(kind="tcp"):
            if each.status == psutil.CONN_LISTEN and each.laddr[1:2] == (port,) and each.pid:
                return psutil.Process(each.pid).name(), each.pid
    return None


def _other_listener(host: str, port: int) -> str | None:
    """Return a loopback address with another listener on the same port, although the port could be bound.

    `localhost` may lead there. It may be another program on IPv6 while ours is on IPv4, and BSDs let one program bind a
    single address and another one all addresses.
    """
    loopback = ("127.0.0.1", "::1")
    for address in loopback if host in ("0.0.0.0", "::") or is_loopback(host) else ():
        if address == host:
            continue
        with contextlib.suppress(OSError), socket.create_connection((address, port), CONNECT_TIMEOUT_S):
            return address
    return None


def check_address(subject: Subject) -> Finding:
    """Check that other machines can reach the service: it is bound to more than loopback, and there is a network."""
    if subject.is_for_this_machine_only:
        return warn("address", "loopback", host=subject.host)
    found = subject.lan()
    if not found:
        return warn("address", "no_network")
    return ok("address", "lan", addresses=", ".join(found[:ADDRESSES_SHOWN_MAX]))


def check_firewall(subject: Subject, machine: Machine, *, macos_tool: str = MACOS_TOOL) -> Finding:
    """Name the first active firewall that may keep phones out, with the command that opens the ports.

    Only root may read a firewall's rules, so a warning means "check it", not "closed".
    """
    if subject.is_for_this_machine_only:
        return ok("firewall", "not_asked")
    if machine.platform == "darwin":
        code = _firewall_on_macos(machine, macos_tool)
    elif machine.platform == "win32":
        code = _firewall_on_windows(machine)
    else:
        code = _firewall_on_linux(machine)
    if code is None:
        return ok("firewall", "none")
    ports = [subject.port, subject.clock_port or subject.port + 1]
    return warn("firewall", code, port=ports[0], clock_port=ports[1])


def _firewall_on_linux(machine: Machine) -> str | None:
    if "microsoft" in (machine.text("proc/version") or "").lower():
        return "wsl"
    if "\nENABLED=yes" in "\n" + (machine.text("etc/ufw/ufw.conf") or ""):
        return "ufw"
    if machine.has("run/firewalld.pid") or machine.has("var/run/firewalld.pid"):
        return "firewalld"
    if any(machine.has(path) for path in _NFTABLES_IS_STARTED):
        return "nftables"
    if ":INPUT DROP" in (machine.text("etc/iptables/rules.v4") or ""):
        return "iptables"
    return None


def _firewall_on_macos(machine: Machine, tool: str) -> str | None:
    output = machine.output(tool, "--getglobalstate") or ""
    return "macos" if "enabled" in output.lower() else None


def _firewall_on_windows(machine: Machine) -> str | None:
    output = machine.output("netsh", "advfirewall", "show", "currentprofile", "state") or ""
    return "windows" if "ON" in output.split() else None


def check_neighbours(subject: Subject, machine: Machine) -> Finding:
    """Check whether any device except the router appears in the ARP table.

    Guest networks often isolate their devices ("AP isolation", "client isolation"). One machine alone cannot prove
    that, but an empty table on Wi-Fi is a sign of it.
    """
    table = machine.text("proc/net/arp")
    if subject.is_for_this_machine_only or table is None:
        return ok("neighbours", "unknown")
    routers = _routers(machine.text("proc/net/route") or "")
    others = [address for address, interface in _devices(table) if address not in routers.get(interface, ())]
    if others:
        return ok("neighbours", "seen", count=len(others))
    if any(machine.has(f"sys/class/net/{interface}/wireless") for interface in routers):
        return warn("neighbours", "alone_on_wifi")
    return ok("neighbours", "alone")


def _devices(arp_table: str) -> list[tuple[str, str]]:
    """Return address and interface of each device that has answered, from /proc/net/arp."""
    rows = [line.split() for line in arp_table.splitlines()[1:]]
    return [(row[0], row[5]) for row in rows if len(row) == 6 and int(row[2], 16) & ATF_COM]


def _routers(route_table: str) -> dict[str, set[str]]:
    """Return routers by interface, from /proc/net/route, whose addresses are hexadecimal with the last byte first."""
    found: dict[str, set[str]] = {}
    for line in route_table.splitlines()[1:]:
        row = line.split()
        if len(row) >= 3 and row[1] == "00000000" and row[2] != "00000000":
            found.setdefault(row[0], set()).add(".".join(str(byte) for byte in bytes.fromhex(row[2])[::-1]))
    return found
