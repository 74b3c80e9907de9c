"""gunicorn's configuration: `gunicorn wsgi:app` in this folder picks it up, `./siar serve` names it.

The master fixes the time base, starts the clock channel and the recorder, and ends them; the worker does the rest.
At SIGHUP the master reads this file anew: what has to outlive that is not kept here.
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
from app.server.wsgi import descriptors, gunicorn_master, server_file, shared_counters, supervisor
from app.store.archive import retention
from app.tools.doctor import subject

if TYPE_CHECKING:  # gunicorn ships no types: the names say what a hook is given.
    from gunicorn.arbiter import Arbiter
    from gunicorn.config import Config
    from gunicorn.workers.base import Worker

try:
    _settings = settings.read(os.environ)
except SiarError as error:
    sys.exit(f"siar: {error}")

# The application takes the prefix off, for a proxy that has done it as for one that has not: gunicorn fails at the former.
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
"""They accept from one listening socket, which the master holds: what waits there when a worker is killed is taken by
the others. With SO_REUSEPORT each would have a queue of its own, whose connections die with it."""
worker_connections = _settings.connections_max + 1000
"""Green threads: the subscriptions, and requests beside them."""
backlog = 4096
"""A thousand phones that come back at once must not wait for a SYN to be repeated."""
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
"""What proxies say is weighed by the application (SIAR_TRUSTED_PROXIES), and believed of nobody else: not of loopback."""
http_protocols = "h1"
"""Connections are taken over; HTTP/2 ends at a proxy in front."""
proc_name = "siar"
certfile = _settings.tls_cert or None
keyfile = _settings.tls_key or None

_tls: SSLContext | None = None


def ssl_context(config: Config, make: Callable[[], SSLContext]) -> SSLContext:
    """One for all connections: gunicorn would read certificate and key anew for each."""
    global _tls
    if _tls is None:
        _tls = make()
    return _tls


_counters = (shared_counters.current() or shared_counters.make(workers)) if workers > 1 else None
"""The shared counters of all workers, one object for the master's whole life, because counters must never go back."""

_files = descriptors.raise_limit()


def on_starting(server: Arbiter) -> None:
    """Before the first worker: set the time base and start the child processes."""
    if server.cfg.workers > workers:
        sys.exit(f"siar: {gunicorn_master.workers_sentence(server.cfg.workers, workers)}")
    gunicorn_master.hold_number(server, _settings)
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
    try:
        process, port = supervisor.start_clock(_settings, port=wanted)
    except (SiarError, OSError) as error:
        # Never a reason not to start: clients fall back to GET /api/clock.
        server.log.warning("No clock channel (%s); clients read the time over HTTP.", error)
        os.environ["SIAR_CLOCK_PORT"] = "0"
        return
    os.environ["SIAR_CLOCK_PORT"] = str(port)
    # On the port that pages have been told.
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
    """Once it listens. A master that ends closes its listeners first, so none are left from then on."""
    server.log.info(
        "Open files: %d; room for %d connections.", _files, descriptors.room_for(_settings.connections_max)
    )
    server.siar_supervisor.watch(lambda: not server.LISTENERS)
    if _settings.operator_key:  # By `serve`: an experiment's own server is not to be found in its place.
        _say_where()
    # The server of a test or a demo leaves old runs alone.
    if _settings.retention_days and _settings.parent_pipe_fd is None:
        retention.every_day(
            lambda: supervisor.start_sweep(
                _settings.runs_dir, days=_settings.retention_days, keep=os.environ["SIAR_RUN"]
            ),
            warn=server.log.warning,
        )
    if _settings.self_check:
        _look_at_itself()


def on_reload(server: Arbiter) -> None:
    """SIGHUP, before the next workers begin and the old ones end: like any that take another's place (`child_exit`)."""
    os.environ["SIAR_FIRST_LINK"] = "0"


def pre_fork(server: Arbiter, worker: Worker) -> None:
    """Before a worker is forked, in the master: assign its slot of the shared counters."""
    if _counters is not None:
        worker.siar_slot = _counters.free_slot(
            getattr(each, "siar_slot", 0) for each in list(server.WORKERS.values())
        )


def post_fork(server: Arbiter, worker: Worker) -> None:
    """In the worker."""
    if _counters is not None:
        _counters.mine = worker.siar_slot


def child_exit(server: Arbiter, worker: Worker) -> None:
    """After a worker has ended: the one that takes its place cannot know whether the first link was used."""
    os.environ["SIAR_FIRST_LINK"] = "0"
    if _counters is not None:
        _counters.end(worker.siar_slot, lambda counted: totals.counters_only(totals.total(counted)))


def _say_where() -> None:
    here = subject.subject_of(_settings)
    trusted = _settings.tls_authority or _settings.tls_cert
    with contextlib.suppress(OSError):  # `serve` has looked whether the folder can be written to.
        server_file.write(
            _settings.runs_dir,
            server_file.ServerFile(
                here.url(here.local()), _settings.admin_token, os.getpid(), trusted, os.environ["SIAR_RUN"]
            ),
        )


def _look_at_itself() -> None:
    # A process of its own: a thread here could hold a lock, such as one of OpenSSL's, in the moment a worker is forked,
    # and that worker would wait for it for ever. It ends by itself; gunicorn reaps it.
    supervisor.start_self_check()


def on_exit(server: Arbiter) -> None:
    """After the last worker."""
    if _settings.operator_key:
        server_file.remove(_settings.runs_dir, pid=os.getpid())
    supervising = getattr(server, "siar_supervisor", None)  # None yet where it could not start.
    if supervising is not None:
        supervising.close()
