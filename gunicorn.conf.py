"""gunicorn's configuration: `gunicorn wsgi:app` in this folder picks it up, `./siar serve` names it.

The master fixes the time base, starts the clock channel and the recorder, and ends them; the worker does the rest.
"""

import os
import resource
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from app import clock, settings
from app.core.errors import SiarError
from app.serving import companions

try:
    _settings = settings.read(os.environ)
except SiarError as error:
    sys.exit(f"siar: {error}")

bind = [
    f"[{_settings.host}]:{_settings.port}" if ":" in _settings.host else f"{_settings.host}:{_settings.port}"
]
worker_class = "app.serving.eventlet_worker.EventletWorker"
workers = 1
"""One process orders and remembers (`memory://`); several need a shared broker."""
worker_connections = _settings.connections_max + 1000
"""Green threads: the subscriptions, and requests beside them."""
backlog = 4096
"""A thousand phones that come back at once must not wait for a SYN to be repeated."""
keepalive = 75
graceful_timeout = 10
timeout = 60
limit_request_line = 4094
limit_request_fields = 64
loglevel = _settings.log_level
accesslog = None
control_socket_disable = True
"""No command socket in the user's home."""
http_protocols = "h1"
"""Connections are taken over; HTTP/2 ends at a proxy in front."""
proc_name = "siar"

_companions = []

# Every connection is a descriptor: take as many as the system lets this user have.
_soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (_hard, _hard))


def on_starting(server):  # type: ignore[no-untyped-def]
    """Before the first worker: the time base and the companions."""
    if _settings.anchor_us is not None:
        clock.fix(anchor_us=_settings.anchor_us, timebase=_settings.timebase)
    os.environ["SIAR_ANCHOR_US"] = str(clock.anchor_us())
    os.environ["SIAR_TIMEBASE"] = clock.timebase()
    os.environ["SIAR_ADMIN_TOKEN"] = _settings.admin_token
    run = _settings.run or f"live-{clock.timestamp(clock.now_us())}-{clock.timebase()[:4]}"
    os.environ["SIAR_RUN"] = run
    try:
        process, port = companions.start_clock(host=_settings.host, port=_settings.clock_port)
        _companions.append(process)
        os.environ["SIAR_CLOCK_PORT"] = str(port)
    except (SiarError, OSError) as error:
        # Never a reason not to start: clients fall back to GET /api/clock.
        server.log.warning("No clock channel (%s); clients read the time over HTTP.", error)
        os.environ["SIAR_CLOCK_PORT"] = "0"
    if _settings.recorder:
        folder = _settings.runs_dir / run
        folder.mkdir(parents=True, exist_ok=True)
        _companions.append(companions.start_recorder(folder))
    if _settings.parent_pipe_fd is not None:
        companions.on_parent_gone(_settings.parent_pipe_fd, lambda: os.kill(os.getpid(), signal.SIGTERM))


def on_exit(server):  # type: ignore[no-untyped-def]
    """After the last worker."""
    for process in _companions:
        companions.stop(process)
