"""A real nginx of a test's own, with the configuration that `deploy/` recommends."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from app.experiment import processes
from tests.components import require_tool
from tests.support.server import ROOT, free_port

START_TIMEOUT_S = 20.0

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
"""What a distribution's nginx.conf has around it; compression on, as many have it."""


@contextlib.contextmanager
def nginx(
    folder: Path, backends: Sequence[int], *, certificate: Path, key: Path, affinity: str = "address"
) -> Iterator[int]:
    """The port of an nginx before servers on these ports of loopback."""
    program = require_tool("nginx", "nginx")
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    (folder / "siar.conf").write_text(
        adapted(backends, port=port, certificate=certificate, key=key, affinity=affinity)
    )
    (folder / "nginx.conf").write_text(AROUND.format(folder=folder))
    with (folder / "nginx.log").open("wb") as log:
        process = processes.spawn(
            [str(program), "-p", str(folder), "-c", str(folder / "nginx.conf")],
            env=processes.environment(),
            stdout=log,
            stderr=log,
        )
    try:
        deadline_s = time.monotonic() + START_TIMEOUT_S
        while not (folder / "nginx.pid").exists():
            assert process.poll() is None, (folder / "nginx.log").read_text()
            assert time.monotonic() < deadline_s
            time.sleep(0.02)
        yield port
    finally:
        processes.stop(process, patience_s=5)


def adapted(backends: Sequence[int], *, port: int, certificate: Path, key: Path, affinity: str) -> str:
    """`deploy/nginx-many.conf` with a test's own names; `affinity` is by `address`, by `cookie`, or `none` at all."""
    text = (ROOT / "deploy" / "nginx-many.conf").read_text()
    servers = "\n".join(f"    server 127.0.0.1:{each} max_fails=1 fail_timeout=5s;" for each in backends)
    text, count = re.subn(r"(?:    server siar-\d:8080.*\n)+", servers + "\n", text)
    assert count == 1
    for before, after in (
        ("listen 443 ", f"listen 127.0.0.1:{port} "),
        ("/etc/ssl/siar/fullchain.pem", str(certificate)),
        ("/etc/ssl/siar/privkey.pem", str(key)),
    ):
        assert before in text
        text = text.replace(before, after)
    if affinity != "address":
        text = text.replace("    hash $remote_addr", "    # hash $remote_addr")
    if affinity == "cookie":
        text = text.replace("    # hash $siar_client", "    hash $siar_client")
    return text
