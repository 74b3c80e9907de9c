"""gunicorn's configuration: found by `gunicorn wsgi:app` in this folder, and named by `./siar serve`.

The master fixes the time base, starts and ends the clock channel and the recorder; the worker does everything else.
On SIGHUP the master executes this file again, so nothing here may have to survive that.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from ssl import SSLContext
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))

from app import clock, settings
from app.core import totals
from app.core.errors import SiarError
from app.server.broker.make import check_broker
from app.server.wsgi import (
    clock_port,
    descriptors,
    gunicorn_master,
    master,
    server_file,
    shared_counters,
    supervisor,
)
from app.store.archive import retention
from app.tools.doctor import subject

if TYPE_CHECKING:  # gunicorn ships no types; these names document the hooks' arguments.
    from gunicorn.arbiter import Arbiter
    from gunicorn.config import Config
    from gunicorn.workers.base import Worker

try:
    _settings = settings.read(os.environ)
except SiarError as error:
    sys.exit(f"siar: {error}")

# The application strips the prefix, whether or not a proxy has done so; gunicorn fails if a proxy has.
os.environ["SIAR_PREFIX"] = _settings.prefix
os.environ.pop("SCRIPT_NAME", None)

bind = [
    f"[{_settings.host}]:{_settings.port}" if ":" in _settings.host else f"{_settings.host}:{_settings.port}"
]
worker_class = {
    "eventlet": "app.server.wsgi.eventlet_worker.EventletWorker",
    "gevent": "app.server.wsgi.gevent_worker.GeventWorker",
}[_settings.green_threads]
workers = _settings.workers
"""Workers accept from one listening socket, which the master holds: connections in its backlog survive a killed worker.
With SO_REUSEPORT, each worker would have a queue of its own, whose connections are lost with it."""
worker_connections = _settings.connections_max + 1000
"""Green threads: one per subscription, and some for other requests."""
backlog = 4096
"""Large enough for a thousand phones that reconnect at once, which otherwise would have to retransmit their SYN."""
keepalive = 75
graceful_timeout = 10
timeout = 60
limit_request_line = 4094
limit_request_fields = 64
limit_request_field_size = _settings.header_bytes_max
loglevel = _settings.log_level
accesslog = None
control_socket_disable = True
"""No command socket in the user's home."""
forwarded_allow_ips = ""
"""The application evaluates proxies' headers (SIAR_TRUSTED_PROXIES); gunicorn trusts nobody, not even loopback."""
http_protocols = "h1"
"""Connections are detached from gunicorn, which requires HTTP/1; HTTP/2 ends at a proxy in front."""
proc_name = "siar"
certfile = _settings.tls_cert or None
keyfile = _settings.tls_key or None

_tls: SSLContext | None = None


def ssl_context(config: Config, make: Callable[[], SSLContext]) -> SSLContext:
    """Return one TLS context for all connections; gunicorn would read certificate and key again for each."""
    global _tls
    if _tls is None:
        _tls = make()
    return _tls


_counters = (shared_counters.current() or shared_counters.make(workers)) if workers > 1 else None
"""Counters shared between workers. One object for the master's lifetime, so that counters never decrease."""

_files = descriptors.raise_limit()


def on_starting(server: Arbiter) -> None:
    """Before the first worker: fix the time base and start the child processes."""
    if server.cfg.workers > workers:
        sys.exit(f"siar: {gunicorn_master.workers_sentence(server.cfg.workers, workers)}")
    master.adopt(server, _settings)
    try:
        check_broker(_settings)
    except SiarError as error:
        sys.exit(f"siar: {error}")
    if _settings.anchor_us is not None:
        clock.fix(anchor_us=_settings.anchor_us, timebase=_settings.timebase)
    os.environ["SIAR_ANCHOR_US"] = str(clock.anchor_us())
    os.environ["SIAR_TIMEBASE"] = clock.timebase()
    os.environ["SIAR_ADMIN_TOKEN"] = _settings.admin_token
    run = _settings.run or f"live-{clock.timestamp(clock.now_us())}-{clock.timebase()[:4]}"
    os.environ["SIAR_RUN"] = run
    server.siar_supervisor = supervisor.Supervisor(server.log.warning)
    _start_clock(server)
    if _settings.recorder:
        _start_recorder(server, _settings.runs_dir / run)
    if _settings.parent_pipe_fd is not None:
        supervisor.on_parent_gone(_settings.parent_pipe_fd, lambda: os.kill(os.getpid(), signal.SIGTERM))


def _start_clock(server: Arbiter) -> None:
    wanted = _settings.clock_port
    if wanted and wanted == _settings.port:
        server.log.warning("SIAR_CLOCK_PORT is the service's own port; the clock channel takes any free one.")
        wanted = 0
    # The servers of runs and measurements come and go, with pages of their own.
    remembers = not wanted and _settings.parent_pipe_fd is None
    kept = clock_port.last_used(_settings.runs_dir, _settings.port) if remembers else 0
    try:
        process, port = supervisor.start_clock(_settings, port=wanted, preferred=kept)
    except (SiarError, OSError) as error:
        # A missing clock channel must not prevent the start: clients fall back to GET /api/clock.
        server.log.warning("No clock channel (%s); clients read the time over HTTP.", error)
        os.environ["SIAR_CLOCK_PORT"] = "0"
        return
    if kept not in (0, port):
        server.log.warning(
            "The clock channel's port %d is taken: it listens on %d, and pages that are open read the time over HTTP "
            "until they are reloaded. SIAR_CLOCK_PORT sets a port.", kept, port,
        )  # fmt: skip
    if remembers:
        clock_port.remember(_settings.runs_dir, _settings.port, port)
    os.environ["SIAR_CLOCK_PORT"] = str(port)
    # A restarted clock process must listen on the same port, because pages know it.
    server.siar_supervisor.add(
        "clock channel", process, lambda: supervisor.start_clock(_settings, port=port)[0]
    )


def _start_recorder(server: Arbiter, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        server.siar_supervisor.add(
            "recorder", supervisor.start_recorder(folder), lambda: supervisor.start_recorder(folder)
        )
    except OSError as error:
        server.log.warning("No recorder (%s); what phones post is not stored.", error)


def when_ready(server: Arbiter) -> None:
    """Once it listens: watch the child processes.

    A terminating master closes its listeners first, so none is restarted then.
    """
    server.log.info(
        "Open files: %d; room for %d connections.", _files, descriptors.room_for(_settings.connections_max)
    )
    server.siar_supervisor.watch(lambda: not server.LISTENERS)
    if (
        _settings.operator_key
    ):  # Set by `serve` only: an experiment's own server must not be found in its place.
        _write_server_file()
    # A server of a test or a demo must not delete old runs.
    if _settings.retention_days and _settings.parent_pipe_fd is None:
        retention.every_day(
            lambda: supervisor.start_sweep(
                _settings.runs_dir, days=_settings.retention_days, keep=os.environ["SIAR_RUN"]
            ),
            warn=server.log.warning,
        )
    if _settings.self_check:
        _start_self_check()


def on_reload(server: Arbiter) -> None:
    """On SIGHUP, before new workers start: like any replaced worker (`child_exit`), they issue no first link."""
    os.environ["SIAR_FIRST_LINK"] = "0"


def pre_fork(server: Arbiter, worker: Worker) -> None:
    """Before a worker starts, in the master: give it a slot of the shared counters."""
    if _counters is not None:
        worker.siar_slot = _counters.free_slot(
            getattr(each, "siar_slot", 0) for each in list(server.WORKERS.values())
        )


def post_fork(server: Arbiter, worker: Worker) -> None:
    """In the new worker: let signals end it, and write to its own slot."""
    master.let_signals_end_it()
    if _counters is not None:
        _counters.mine = worker.siar_slot


def child_exit(server: Arbiter, worker: Worker) -> None:
    """After a worker has ended: add its counts to the totals.

    Its replacement cannot know whether the first link was used.
    """
    os.environ["SIAR_FIRST_LINK"] = "0"
    if _counters is not None:
        _counters.end(worker.siar_slot, lambda counted: totals.counters_only(totals.total(counted)))


def _write_server_file() -> None:
    here = subject.subject_of(_settings)
    trusted = _settings.tls_authority or _settings.tls_cert
    with contextlib.suppress(OSError):  # `serve` has checked that the folder can be written to.
        server_file.write(
            _settings.runs_dir,
            server_file.ServerFile(
                here.url(here.local()), _settings.admin_token, os.getpid(), trusted, os.environ["SIAR_RUN"]
            ),
        )


def _start_self_check() -> None:
    # In a process of its own: a thread here could hold a lock, such as one of OpenSSL's, while a worker is forked, and
    # that worker would wait for it forever. The process ends by itself, and gunicorn reaps it.
    supervisor.start_self_check()


def on_exit(server: Arbiter) -> None:
    """After the last worker: remove the server file and end the child processes."""
    if _settings.operator_key:
        server_file.remove(_settings.runs_dir, pid=os.getpid())
    supervising = getattr(server, "siar_supervisor", None)  # Missing if the start failed before.
    if supervising is not None:
        supervising.close()
