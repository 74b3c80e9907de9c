"""`./siar serve`: the service for phones on the LAN, under gunicorn with our worker."""

from __future__ import annotations

import argparse
import errno
import os
import socket
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import psutil

from app import settings as settings_module
from app.broker.make import check_broker
from app.core.errors import SettingError, Unfit
from app.settings import Settings, environment_name, is_loopback

ROOT = Path(__file__).parents[2]

TOKEN_CHARS_MIN = 12
"""Shorter ones are taken, with a warning: a stranger on the LAN may try many."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `serve`; every other setting is a `SIAR_*` variable."""
    parser.add_argument(
        "--host", help="address to listen on (default: 0.0.0.0, every network of this machine)"
    )
    parser.add_argument("--port", type=int, help="TCP port (default: 8080)")
    parser.add_argument("--admin-token", metavar="T", help="the operator's token (default: random, printed)")
    parser.add_argument(
        "--broker",
        metavar="URL",
        help="where order and history live: memory:// (default), or sqlite:///FILE, which outlives the server",
    )
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="server processes (this version: 1)"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Check the port and the folder, say where everything is, become gunicorn."""
    if arguments.workers != 1:
        raise SettingError("This version serves with one process: several would need a shared broker.")
    host = arguments.host or os.environ.get("SIAR_HOST") or "0.0.0.0"
    settings = settings_module.read(
        os.environ, host=host, port=arguments.port, admin_token=arguments.admin_token, broker=arguments.broker
    )
    settings = replace(settings, port=check_port(settings.host, settings.port))
    check_runs_dir(settings.runs_dir)
    check_broker(settings)
    _announce(settings)
    sys.stdout.flush()
    environment = dict(os.environ)
    for name in ("host", "port", "admin_token", "broker"):
        environment[environment_name(name)] = str(getattr(settings, name))
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-P", "-m", "gunicorn", "-c", str(ROOT / "gunicorn.conf.py"), "wsgi:app"]
    os.execve(sys.executable, command, environment)


def check_port(host: str, port: int) -> int:
    """The port, or a free one for 0. Raises `Unfit` when something listens there already.

    Not left to the server: one that sets SO_REUSEPORT, as `eventlet.listen` does, would start without an error
    and take half of the other's clients.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, port))
            return int(sock.getsockname()[1])
        except (socket.gaierror, UnicodeError):
            raise Unfit(_not_an_address(host)) from None
        except PermissionError:
            raise Unfit(
                f"Port {port} may not be used by this user; choose one above 1023 with --port."
            ) from None
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                raise Unfit(_not_an_address(host)) from None
            raise Unfit(
                f"Cannot listen on {host} port {port}: {error.strerror}. "
                f"Another program (another Siar?) has it; end that one, or choose another with --port."
            ) from None


def check_runs_dir(folder: Path) -> None:
    """Raises `Unfit` when runs cannot be written into `folder`, which is made when it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"Siar was here.")
    except OSError as error:
        raise Unfit(
            f"Runs cannot be written into {folder}: {error.strerror}. "
            f"Give this user the right to, or name another folder with {environment_name('runs_dir')}."
        ) from None


def _not_an_address(host: str) -> str:
    return f'"{host}" does not name an address of this machine; --host 0.0.0.0 means all that it has.'


def _announce(settings: Settings) -> None:
    urls = [f"http://{_bracketed(address)}:{settings.port}/" for address in _addresses(settings.host)]
    print("Siar serves notifications over SSE and Socket.IO.")
    for url in urls:
        print(f"  phones open   {url}")
    print(f"  operator      token {settings.admin_token}")
    print("  publish       " + _curl(urls[-1], settings.admin_token))
    if is_loopback(settings.host):
        print("  Only this machine can reach it: --host 0.0.0.0 opens it to the LAN.")
    if len(settings.admin_token) < TOKEN_CHARS_MIN:
        print(
            f"  The operator's token is short; strangers could guess it. Use at least {TOKEN_CHARS_MIN} characters."
        )
    print("Ctrl-C ends it.")


def _curl(url: str, token: str) -> str:
    return (
        f"curl -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' "
        f'-d \'{{"title": "Hello", "body": "from Siar"}}\' {url}api/notifications'
    )


def _addresses(host: str) -> list[str]:
    """Where the service can be reached, the LAN's address first and loopback last."""
    if host not in ("0.0.0.0", "::"):
        return [host]
    found = [
        address.address
        for addresses in psutil.net_if_addrs().values()
        for address in addresses
        if address.family == socket.AF_INET and not is_loopback(address.address)
    ]
    return [*found, "127.0.0.1"]


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address
