"""Is the processor as it should be for measuring: at full speed, and with little else to do."""

from __future__ import annotations

import os

import psutil

from app.tools.doctor.finding import Finding, ok, warn
from app.tools.doctor.machine import Machine

NAME = "processor"

LOAD_PER_CORE_MAX = 0.5
"""Above it, somebody else has the core whenever a notification is due."""

_GOVERNOR = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"

SLOW_GOVERNORS = ("powersave", "ondemand", "conservative")
"""They start slowly from rest, which is where a server that sends once a second always is."""


def look(machine: Machine) -> Finding:
    """The first thing that would show in figures."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    return judge(
        load=load,
        cores=psutil.cpu_count() or 1,
        governor=(machine.text(_GOVERNOR) or "").strip(),
        is_on_battery=battery is not None and battery.power_plugged is False,
    )


def judge(*, load: float, cores: int, governor: str, is_on_battery: bool) -> Finding:
    """`load`: runnable processes over the last minute."""
    if load > cores * LOAD_PER_CORE_MAX:
        return warn(NAME, "busy", load=f"{load:.1f}", cores=cores)
    if is_on_battery:
        return warn(NAME, "battery")
    if governor in SLOW_GOVERNORS:
        return warn(NAME, "saving", governor=governor)
    return ok(NAME, "idle", load=f"{load:.1f}", cores=cores)
