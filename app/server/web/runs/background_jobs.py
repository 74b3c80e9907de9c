"""Run a job for the operator's page in a separate process: one at a time, bounded in time and memory."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from app import clock
from app.core.companion import COMPANION
from app.core.errors import Conflict, Malformed, SiarError, StoreError, Unknown
from app.i18n import from_json, refusal
from app.paths import ROOT
from app.server.room.phases import UNDER_WAY
from app.server.web.current import services
from app.server.web.runs import run_control
from app.server.wsgi.offload import blocking
from app.settings import child_environment
from app.store.archive.folders import folder_of
from app.store.archive.trash import WRITTEN_LATELY_S, age_s

MODULE = "app.lab.run.background_job"

LIMIT_S = 180.0
"""Time limit. A run of 1.8 million deliveries takes half a minute on two cores."""

MEMORY_BYTES_MAX = 4 * 1024**3
"""Limit of address space, of which libraries reserve more than they use."""

NICE = 10
"""Niceness of the job, below the server's priority."""

POLL_S = 0.05

ANSWER_BYTES_MAX = 64 * 1024
OUTPUT_CHARS_MAX = 300

ERROR_TYPES: dict[str, type[SiarError]] = {
    each.__name__: each for each in (Conflict, Malformed, StoreError, Unknown)
}
"""Errors of the job that are raised with their own type here."""

_busy = threading.Lock()


def export_run(run: str) -> tuple[IO[bytes], int]:
    """Pack a run as `./siar export` does; return the open file and its length. Raises `Unknown`, `Conflict`, `StoreError`."""
    folder = _finished_folder(run)
    with _job_output(["export", str(folder)], name="export.zip") as path:
        file = path.open("rb")  # The file is deleted, but its content remains until it is closed.
    size_bytes = file.seek(0, os.SEEK_END)
    file.seek(0)
    return file, size_bytes


def compare_runs(runs: list[str], language: str) -> bytes:
    """Compare runs with the first one; return the page. Raises as `export_run` does."""
    folders = [str(_finished_folder(run)) for run in runs]
    with _job_output(["compare", "--language", language], *folders, name="compared.html") as path:
        return path.read_bytes()


def is_busy() -> bool:
    """Return whether a job is running, which would distort a measurement."""
    return _busy.locked()


def _finished_folder(run: str) -> Path:
    """Return the folder of a run that is not being written."""
    folder = folder_of(services().settings.runs_dir, run).resolve()
    if run == services().run:
        raise Conflict(refusal("live_is_being_written"))
    if run_control.is_running(run):
        raise Conflict(refusal("run_under_way_wait"))
    if age_s(folder) < WRITTEN_LATELY_S and not (folder / "result.json").exists():
        raise Conflict(refusal("run_being_written"))
    return folder


@contextlib.contextmanager
def _job_output(command: list[str], *more: str, name: str) -> Iterator[Path]:
    """Run a job and provide the file that it made; the file is deleted afterwards."""
    if _is_measuring():
        raise Conflict(refusal("work_would_disturb"))
    if not _busy.acquire(blocking=False):
        raise Conflict(refusal("work_under_way"))
    try:
        folder = Path(tempfile.mkdtemp(prefix="siar-job-"))
        try:
            _run_job([*command, str(folder / name), *more])
            yield folder / name
        finally:
            blocking(shutil.rmtree, folder, ignore_errors=True)
    finally:
        _busy.release()


def _is_measuring() -> bool:
    """Return whether a trial or an experiment is under way; the pause between two trials counts, as a job would outlast it."""
    parts = services()
    runner = parts.runners.running()
    is_of_built_in_clients = runner is not None and runner.order.phones is None  # These use no room.
    return is_of_built_in_clients or parts.room.phase in UNDER_WAY or parts.trials.active() is not None


def _run_job(arguments: list[str]) -> None:
    """Run the process to its end. Raises the error that it reports, or `StoreError` with its last output."""
    with tempfile.TemporaryFile() as answer:
        process = _start(arguments, answer)
        until_us = clock.monotonic_us() + round(LIMIT_S * 1e6)
        try:
            while process.poll() is None:
                if clock.monotonic_us() > until_us:
                    raise Conflict(refusal("work_too_long", seconds=LIMIT_S))
                time.sleep(POLL_S)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if process.returncode:
            raise _error(os.pread(answer.fileno(), ANSWER_BYTES_MAX, 0).decode(errors="replace"))


def _start(arguments: list[str], answer: IO[bytes]) -> subprocess.Popen[bytes]:
    environment = child_environment(os.environ)
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    process = subprocess.Popen(
        [sys.executable, "-P", *COMPANION, "-m", MODULE, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=answer,
        stderr=answer,
        env={**environment, "PYTHONPATH": os.pathsep.join(paths)},
        start_new_session=True,
    )
    with contextlib.suppress(OSError):  # The process has ended already.
        os.setpriority(os.PRIO_PROCESS, process.pid, NICE)
        if hasattr(resource, "prlimit"):
            resource.prlimit(process.pid, resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    return process


def _error(output: str) -> SiarError:
    """Return the error that the process reported, with its own type."""
    line = output.strip().rpartition("\n")[2]
    try:
        report = json.loads(line)
        return ERROR_TYPES.get(report["kind"], StoreError)(from_json(report))
    except (ValueError, KeyError, TypeError):
        return StoreError(refusal("work_failed", words=line[:OUTPUT_CHARS_MAX] or "no word"))
