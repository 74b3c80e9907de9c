"""`<runs_dir>/.server.json`: where a server that runs here is reached, for `./siar link` and for who measures it.

It holds the operator's token, and so only this user may read it.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil

from app.core.errors import Unfit
from app.settings import Settings

FILE_NAME = ".server.json"

BYTES_MAX = 4096


@dataclass(frozen=True, slots=True)
class ServerFile:
    """What the file says."""

    url: str
    """Base URL on this machine, without a slash at the end."""
    token: str = field(repr=False)
    pid: int
    """Root of the server's processes."""
    authority: str = ""
    """Path of the certificate by which a client knows it, where it speaks TLS."""
    run: str = ""
    """The run into which it writes what phones post."""


def own_url(settings: Settings) -> str:
    """Where a process of this machine reaches the server with these settings."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)
    scheme = "https" if settings.tls_cert else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{settings.port}"


def write(runs_dir: Path, server: ServerFile) -> None:
    """Say where a server is; one that began before in the same folder is named again when this one ends. Raises `OSError`."""
    runs_dir.mkdir(parents=True, exist_ok=True)
    _forget_the_killed(runs_dir)
    for path in (_own(runs_dir, server.pid), runs_dir / FILE_NAME):
        draft = path.with_name(f"{FILE_NAME}.{secrets.token_hex(8)}.draft")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(asdict(server), file)
        draft.replace(path)


def read(runs_dir: Path) -> ServerFile:
    """The server that runs here. Raises `Unfit` in a sentence when there is none."""
    return _living(runs_dir / FILE_NAME, runs_dir)


def _parsed(path: Path) -> ServerFile:
    """Content of one server's file. Raises `OSError`, `ValueError`, `TypeError`."""
    with path.open("rb") as file:
        return ServerFile(**json.loads(file.read(BYTES_MAX)))


def _living(path: Path, runs_dir: Path) -> ServerFile:
    try:
        server = _parsed(path)
        os.kill(server.pid, 0)
    except PermissionError:  # Of the file, or of the process: somebody else's.
        raise Unfit(f"The server of {runs_dir} belongs to another user; ask that one.") from None
    except (OSError, ValueError, TypeError):
        raise Unfit(f"No server runs with its runs in {runs_dir}; `./siar serve` starts one.") from None
    return server


def remove(runs_dir: Path, *, pid: int) -> None:
    """Forget the server with this process id; another one's file is left alone."""
    with contextlib.suppress(OSError, Unfit):
        _own(runs_dir, pid).unlink(missing_ok=True)
        if read(runs_dir).pid == pid:
            (runs_dir / FILE_NAME).unlink()
            _say_another(runs_dir)


def _own(runs_dir: Path, pid: int) -> Path:
    """Path of one server's file; `FILE_NAME` describes the server that started last."""
    return runs_dir / f"{FILE_NAME}.{pid}"


def _forget_the_killed(runs_dir: Path) -> None:
    """Delete the files of servers that were killed: each holds a token. A file that is not ours stays."""
    for path in runs_dir.glob(f"{FILE_NAME}.[0-9]*"):
        with contextlib.suppress(OSError, ValueError, TypeError):
            pid = _parsed(path).pid
            if path == _own(runs_dir, pid) and not psutil.pid_exists(pid):
                path.unlink()


def _say_another(runs_dir: Path) -> None:
    """Name a server that began before in the same folder and still runs. Raises `OSError`."""
    for path in runs_dir.glob(f"{FILE_NAME}.[0-9]*"):
        with contextlib.suppress(Unfit):
            write(runs_dir, _living(path, runs_dir))
            return
