"""Which kind of threads this process runs on; said by the worker that patched, never guessed.

Flask-SocketIO would guess from what is installed, and would then run eventlet's queues under real threads.
"""

THREADS = "threading"
EVENTLET = "eventlet"

_mode = THREADS


def use(mode: str) -> None:
    """Called by a worker that has patched the standard library, before the application is loaded."""
    global _mode
    assert mode in (THREADS, EVENTLET)
    _mode = mode


def current() -> str:
    """`"eventlet"` under our gunicorn worker, `"threading"` everywhere else."""
    return _mode
