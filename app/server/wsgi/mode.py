"""The kind of threads that this process runs on, set by the worker that patches and never guessed.

Flask-SocketIO would guess it from the installed packages, and then run eventlet's queues under native threads.
"""

THREADS = "threading"
EVENTLET = "eventlet"
GEVENT = "gevent"

_mode = THREADS


def use(mode: str) -> None:
    """Set the mode; called by a worker after patching, before the application is loaded."""
    global _mode
    assert mode in (THREADS, EVENTLET, GEVENT)
    _mode = mode


def current() -> str:
    """Return `"eventlet"` or `"gevent"` under our gunicorn workers, `"threading"` everywhere else."""
    return _mode
