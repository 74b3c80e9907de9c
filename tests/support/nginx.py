"""A real nginx for a test, with the configurations that `deploy/` recommends."""

from __future__ import annotations

import contextlib
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.lab.run import processes
from tests.components import require_tool
from tests.support.patience import PATIENCE_S
from tests.support.server import ROOT, free_port

HTTP2_ON_SINCE = (1, 25, 1)
"""Older versions require `http2` in `listen`, as both configurations say."""

AROUND = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    gzip on;
    gzip_types *;
    include {folder}/siar.conf;
}}
"""
"""The enclosing part of a distribution's nginx.conf; with compression, as it is often configured."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Ports that nginx listens on."""

    service: int
    clock: int


@contextlib.contextmanager
def nginx(
    folder: Path, backends: Sequence[int], *, certificate: Path, key: Path, affinity: str = "address"
) -> Iterator[int]:
    """Run an nginx before servers on these ports of loopback (`nginx-many.conf`). Yields its port."""
    port = free_port()
    text = adapted(backends, port=port, certificate=certificate, key=key, affinity=affinity)
    with _running(folder, text):
        yield port


@contextlib.contextmanager
def nginx_before_one(
    folder: Path, backend: int, clock: int, *, certificate: Path, key: Path
) -> Iterator[Ports]:
    """Run an nginx before one server and its clock channel (`nginx.conf`). Yields its ports."""
    ports = Ports(free_port(), free_port())
    text = _replaced(
        (ROOT / "deploy" / "nginx.conf").read_text(),
        ("    server 127.0.0.1:8080;", f"    server 127.0.0.1:{backend};"),
        ("proxy_pass http://127.0.0.1:8081;", f"proxy_pass http://127.0.0.1:{clock};"),
        ("listen 443 ssl;", f"listen 127.0.0.1:{ports.service} ssl;"),
        ("listen 192.168.1.10:8081 ssl;", f"listen 127.0.0.1:{ports.clock} ssl;"),
        ("/etc/ssl/siar/fullchain.pem", str(certificate)),
        ("/etc/ssl/siar/privkey.pem", str(key)),
    )
    if _version() < HTTP2_ON_SINCE:
        text, count = re.subn(r" ssl;\n    http2 on;.*\n", " ssl http2;\n", text)
        assert count == 1
    with _running(folder, text):
        yield ports


BARE = """
server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://127.0.0.1:{backend}; }}
}}
"""
"""A minimal configuration: HTTP/1.0, no upgrade, Host is the server's own address, everything else unchanged."""

PREFIX = (ROOT / "docs" / "operations.md", "```nginx below a prefix\n")
"""The documented location, which keeps the prefix in the path; and the line that strips it instead."""


PLAIN = """
map $http_upgrade $siar_connection {{ default upgrade; '' ''; }}
server {{
    listen {address}:{port};
    proxy_http_version 1.1;
    proxy_set_header Host $http_host;
    proxy_set_header Upgrade $http_upgrade;
    proxy_set_header Connection $siar_connection;
    {lines}
    location / {{ proxy_pass http://127.0.0.1:{backend}; {inner} }}
}}
"""
"""All that Siar needs where it is at the root, and lines of a test's own: of the server, and of its location."""


@contextlib.contextmanager
def plain_nginx(
    folder: Path, backend: int, *, address: str = "127.0.0.1", lines: str = "", inner: str = ""
) -> Iterator[str]:
    """Run an nginx that has all that Siar needs but for what the lines change. Yields its base URL."""
    port = free_port()
    text = PLAIN.format(address=address, port=port, backend=backend, lines=lines, inner=inner)
    with _running(folder, text):
        yield f"http://{address}:{port}"


@contextlib.contextmanager
def bare_nginx(folder: Path, backend: int) -> Iterator[int]:
    """Run an nginx with the minimal configuration. Yields its port."""
    port = free_port()
    with _running(folder, BARE.format(port=port, backend=backend)):
        yield port


@contextlib.contextmanager
def nginx_below_a_prefix(folder: Path, backend: int, *, strips: bool) -> Iterator[int]:
    """Run an nginx that serves below `/siar/`, as in docs/operations.md. Yields its port."""
    port = free_port()
    page, begin = PREFIX
    lines = page.read_text().split(begin)[1].split("```")[0]
    to = f"proxy_pass http://127.0.0.1:{backend}"
    lines = _replaced(lines, ("proxy_pass http://siar;", f"{to}/;" if strips else f"{to};"))
    server = f"server {{\n    listen 127.0.0.1:{port};\n{lines}\n}}\n"
    connection = "map $http_upgrade $siar_connection { default upgrade; '' ''; }\n"
    with _running(folder, connection + server):
        yield port


def adapted(backends: Sequence[int], *, port: int, certificate: Path, key: Path, affinity: str) -> str:
    """Return `deploy/nginx-many.conf` with a test's own names; `affinity`: `address`, `cookie`, or `none`."""
    text = (ROOT / "deploy" / "nginx-many.conf").read_text()
    servers = "\n".join(f"    server 127.0.0.1:{each} max_fails=1 fail_timeout=5s;" for each in backends)
    text, count = re.subn(r"(?:    server siar-\d:8080.*\n)+", servers + "\n", text)
    assert count == 1
    text = _replaced(
        text,
        ("listen 443 ", f"listen 127.0.0.1:{port} "),
        ("/etc/ssl/siar/fullchain.pem", str(certificate)),
        ("/etc/ssl/siar/privkey.pem", str(key)),
    )
    if affinity != "address":
        text = text.replace("    hash $remote_addr", "    # hash $remote_addr")
    if affinity == "cookie":
        text = text.replace("    # hash $siar_client", "    hash $siar_client")
    return text


def _replaced(text: str, *pairs: tuple[str, str]) -> str:
    for before, after in pairs:
        assert before in text
        text = text.replace(before, after)
    return text


def _version() -> tuple[int, ...]:
    """Return the version, parsed from output like `nginx version: nginx/1.22.1`."""
    program = str(require_tool("nginx", "nginx"))
    output = subprocess.run([program, "-v"], capture_output=True, text=True, check=True, timeout=60).stderr
    found = re.search(r"nginx/(\d+)\.(\d+)\.(\d+)", output)
    assert found is not None, output
    return tuple(map(int, found.groups()))


@contextlib.contextmanager
def _running(folder: Path, text: str) -> Iterator[None]:
    """Run an nginx with this configuration until the block ends; it listens when the block begins."""
    program = require_tool("nginx", "nginx")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "siar.conf").write_text(text)
    (folder / "nginx.conf").write_text(AROUND.format(folder=folder))
    with (folder / "nginx.log").open("wb") as log:
        process = processes.spawn(
            [str(program), "-p", str(folder), "-c", str(folder / "nginx.conf")],
            env=processes.environment(),
            stdout=log,
            stderr=log,
        )
    try:
        deadline_s = time.monotonic() + PATIENCE_S
        while not (folder / "nginx.pid").exists():
            assert process.poll() is None, (folder / "nginx.log").read_text()
            assert time.monotonic() < deadline_s
            time.sleep(0.02)
        yield
    finally:
        processes.stop(process, patience_s=5)
