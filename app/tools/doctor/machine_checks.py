"""Checks of the machine: processor, disk, open files and clocks.

`check_*` reads the machine; `judge_*` is the pure decision from the values read.
"""

from __future__ import annotations

import os
import resource
import shutil
import tempfile
from pathlib import Path

import psutil

from app.clock import Readings
from app.server.wsgi.descriptors import SPARE
from app.settings import environment_name
from app.tools.doctor.finding import Finding, fail, ok, warn
from app.tools.doctor.machine import Machine
from app.tools.doctor.subject import Subject

LOAD_PER_CORE_MAX = 0.5
"""Load average per core. Above it, another process often has the core when a notification is due."""

SLOW_GOVERNORS = ("powersave", "ondemand", "conservative")
"""CPU frequency governors that start slowly from idle, which is the usual state of a server that sends once a
second."""

FREE_BYTES_MIN = 100_000_000
"""Below it, even the spool of one run may not fit."""

FREE_BYTES_GOOD = 1_000_000_000
"""Room for a hundred runs of a classroom, at about 10 MB each."""

ROOM_FOR_PHONES = 300
"""Connections of a room of 200 phones: a stream each, and a request now and then."""

ROOM_FOR_LOAD = 3_000
"""Connections that a load test needs at its larger levels."""

STEP_MS_MAX = 5.0
"""Larger steps of the wall clock show in the figures of other programs; Siar does not read the wall clock."""

SLEW_PPM_MAX = 100.0
"""Half of what the phones' clock procedure allows for both clocks together."""

WINDOW_US_MIN = 900_000
"""Minimum time between two readings of the clocks: with less, the readings' own error of some 10 us exceeds 10 ppm."""

SLOW_SOURCES = ("hpet", "acpi_pm", "jiffies")
"""Clock sources that are coarse, or take microseconds to read."""

_GOVERNOR = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
_CLOCK_SOURCE = "sys/devices/system/clocksource/clocksource0/current_clocksource"


def check_processor(machine: Machine) -> Finding:
    """Check that the processor runs at full speed and has little else to do. Returns the first problem."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    return judge_processor(
        load=load,
        cores=psutil.cpu_count() or 1,
        governor=(machine.text(_GOVERNOR) or "").strip(),
        is_on_battery=battery is not None and battery.power_plugged is False,
    )


def judge_processor(*, load: float, cores: int, governor: str, is_on_battery: bool) -> Finding:
    """Judge the processor. `load`: runnable processes, averaged over the last minute."""
    if load > cores * LOAD_PER_CORE_MAX:
        return warn("processor", "busy", load=f"{load:.1f}", cores=cores)
    if is_on_battery:
        return warn("processor", "battery")
    if governor in SLOW_GOVERNORS:
        return warn("processor", "saving", governor=governor)
    return ok("processor", "idle", load=f"{load:.1f}", cores=cores)


def check_disk(folder: Path) -> Finding:
    """Check that runs can be written and have room. The folder of runs is created if it is missing."""
    setting = environment_name("runs_dir")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"Siar was here.")
        free_bytes = shutil.disk_usage(folder).free
    except OSError as error:
        return fail("disk", "no_writing", folder=folder, reason=error.strerror, setting=setting)
    return judge_disk(folder, free_bytes)


def judge_disk(folder: Path, free_bytes: int) -> Finding:
    """Judge the free space by the number of runs that it can hold."""
    places = {
        "folder": folder,
        "free_mb": f"{free_bytes // 1_000_000:,}",
        "setting": environment_name("runs_dir"),
    }
    if free_bytes < FREE_BYTES_MIN:
        return fail("disk", "full", **places)
    if free_bytes < FREE_BYTES_GOOD:
        return warn("disk", "short", **places)
    return ok("disk", "room", **places)


def check_open_files(subject: Subject) -> Finding:
    """Check the hard limit of open files, to which a server raises its own limit: each connection is a file."""
    return judge_open_files(resource.getrlimit(resource.RLIMIT_NOFILE)[1], subject.connections_max)


def judge_open_files(limit: int, wanted: int) -> Finding:
    """Judge the limit of open files by the number of connections it leaves room for."""
    room = wanted if limit == resource.RLIM_INFINITY else min(wanted, max(0, limit - SPARE))
    places = {"room": f"{room:,}", "limit": f"{limit:,}"}
    if room < min(ROOM_FOR_PHONES, wanted):
        return fail("files", "few", **places)
    if room < min(ROOM_FOR_LOAD, wanted):
        return warn("files", "no_load", **places)
    return ok("files", "enough", **places)


def check_clock(before: Readings, after: Readings, machine: Machine) -> Finding:
    """Check the clocks' source, and their steps and rate between two readings, at least `WINDOW_US_MIN` apart.

    Siar stamps with CLOCK_MONOTONIC, which setting the wall clock does not move. But time synchronisation slews its
    rate, at first by up to 500 ppm; the phones' clock procedure allows 200 ppm (measurement.md, section 1).
    """
    finding = judge_clock(before, after)
    source = (machine.text(_CLOCK_SOURCE) or "").strip()
    if source in SLOW_SOURCES:
        return warn("clock", "slow_source", source=source)
    return finding


def judge_clock(before: Readings, after: Readings) -> Finding:
    """Judge steps of the wall clock and the slew of the monotonic clock between two readings."""
    elapsed_us = after.monotonic_us - before.monotonic_us
    step_ms = ((after.wall_us - before.wall_us) - elapsed_us) / 1000
    if abs(step_ms) > STEP_MS_MAX:
        return warn("clock", "stepped", step_ms=f"{step_ms:+.0f}")
    if before.raw_us is not None and after.raw_us is not None:
        slew_ppm = (elapsed_us - (after.raw_us - before.raw_us)) / elapsed_us * 1e6
        if abs(slew_ppm) > SLEW_PPM_MAX:
            return warn("clock", "bent", slew_ppm=f"{slew_ppm:+.0f}")
    return ok("clock", "steady", seconds=f"{elapsed_us / 1e6:.1f}")
