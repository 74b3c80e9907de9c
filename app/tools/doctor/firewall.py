"""Is there a firewall that may keep phones out. It is named, with the line that opens it, and never changed.

What a firewall lets through can be read by root only, so a warning here means "look", not "closed".
"""

from __future__ import annotations

from app.tools.doctor.finding import Finding, ok, warn
from app.tools.doctor.machine import Machine
from app.tools.doctor.subject import Subject

NAME = "firewall"

MACOS_TOOL = "/usr/libexec/ApplicationFirewall/socketfilterfw"

_NFTABLES_IS_STARTED = (
    "etc/systemd/system/sysinit.target.wants/nftables.service",
    "etc/systemd/system/multi-user.target.wants/nftables.service",
)


def look(subject: Subject, machine: Machine, *, macos_tool: str = MACOS_TOOL) -> Finding:
    """The first firewall that is found to be on."""
    if subject.is_for_this_machine_only:
        return ok(NAME, "not_asked")
    if machine.platform == "darwin":
        code = _on_macos(machine, macos_tool)
    elif machine.platform == "win32":
        code = _on_windows(machine)
    else:
        code = _on_linux(machine)
    if code is None:
        return ok(NAME, "none")
    ports = [subject.port, subject.clock_port or subject.port + 1]
    return warn(NAME, code, port=ports[0], clock_port=ports[1])


def _on_linux(machine: Machine) -> str | None:
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


def _on_macos(machine: Machine, tool: str) -> str | None:
    said = machine.said(tool, "--getglobalstate") or ""
    return "macos" if "enabled" in said.lower() else None


def _on_windows(machine: Machine) -> str | None:
    said = machine.said("netsh", "advfirewall", "show", "currentprofile", "state") or ""
    return "windows" if "ON" in said.split() else None
