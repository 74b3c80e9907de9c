"""`<runs_dir>/.server.json`: the address of a server on this machine, for `./siar link` and for measuring programs.

It holds the operator's token, so only this user may read it.
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
    """The content of the file."""

    url: str
    """Base URL on this machine, without a trailing slash."""
    token: str = field(repr=False)
    pid: int
    """Root of the server's process tree."""
    authority: str = ""
    """Path of the certificate that a client has to trust, if the server uses TLS."""
    run: str = ""
    """The run into which the server writes what phones post."""


def own_url(settings: Settings) -> str:
    """Return the URL at which a process on this machine reaches a server with these settings."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)
    scheme = "https" if settings.tls_cert else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{settings.port}"


def write(runs_dir: Path, server: ServerFile) -> None:
    """Describe a server; when it ends, an earlier one in the same folder is described again. Raises `OSError`."""
    runs_dir.mkdir(parents=True, exist_ok=True)
    _delete_stale(runs_dir)
    for path in (_own(runs_dir, server.pid), runs_dir / FILE_NAME):
        draft = path.with_name(f"{FILE_NAME}.{secrets.token_hex(8)}.draft")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(asdict(server), file)
        draft.replace(path)


def read(runs_dir: Path) -> ServerFile:
    """Return the running server. Raises `Unfit` with a message for people if there is none."""
    return _living(runs_dir / FILE_NAME, runs_dir)


def _parsed(path: Path) -> ServerFile:
    """Parse one server's file. Raises `OSError`, `ValueError`, `TypeError`."""
    with path.open("rb") as file:
        return ServerFile(**json.loads(file.read(BYTES_MAX)))


def _living(path: Path, runs_dir: Path) -> ServerFile:
    try:
        server = _parsed(path)
        os.kill(server.pid, 0)
    except PermissionError:  # The file or the process belongs to another user.
        raise Unfit(f"The server of {runs_dir} belongs to another user; ask that one.") from None
    except (OSError, ValueError, TypeError):
        raise Unfit(f"No server runs with its runs in {runs_dir}; `./siar serve` starts one.") from None
    return server


def remove(runs_dir: Path, *, pid: int) -> None:
    """Delete the file of the server with this process id; others are left alone."""
    with contextlib.suppress(OSError, Unfit):
        _own(runs_dir, pid).unlink(missing_ok=True)
        if read(runs_dir).pid == pid:
            (runs_dir / FILE_NAME).unlink()
            _describe_another(runs_dir)


def _own(runs_dir: Path, pid: int) -> Path:
    """Return the path of one server's own file; `FILE_NAME` describes the server that started last."""
    return runs_dir / f"{FILE_NAME}.{pid}"


def _delete_stale(runs_dir: Path) -> None:
    """Delete the files of servers that were killed, since each holds a token. Files of other programs stay."""
    for path in runs_dir.glob(f"{FILE_NAME}.[0-9]*"):
        with contextlib.suppress(OSError, ValueError, TypeError):
            pid = _parsed(path).pid
            if path == _own(runs_dir, pid) and not psutil.pid_exists(pid):
                path.unlink()


def _describe_another(runs_dir: Path) -> None:
    """Describe an earlier server in the same folder that still runs. Raises `OSError`."""
    for path in runs_dir.glob(f"{FILE_NAME}.[0-9]*"):
        with contextlib.suppress(Unfit):
            write(runs_dir, _living(path, runs_dir))
            return
