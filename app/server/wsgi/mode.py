"""Which kind of threads this process runs on; said by the worker that patched, never guessed.

Flask-SocketIO would guess from what is installed, and would then run eventlet's queues under real threads.
"""

THREADS = "threading"
EVENTLET = "eventlet"
GEVENT = "gevent"

_mode = THREADS


def use(mode: str) -> None:
    """Called by a worker that has patched the standard library, before the application is loaded."""
    global _mode
    assert mode in (THREADS, EVENTLET, GEVENT)
    _mode = mode


def current() -> str:
    """`"eventlet"` or `"gevent"` under our gunicorn workers, `"threading"` everywhere else."""
    return _mode
