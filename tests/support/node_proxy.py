"""A front-end development server's proxy: express, `compression`, http-proxy-middleware with `changeOrigin`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.components import require_node, require_node_modules
from tests.support.haproxy import started
from tests.support.server import ROOT, free_port


@contextlib.contextmanager
def node_proxy(folder: Path, backend: int, *, says_host: bool) -> Iterator[int]:
    """Run one before a server; yields its port. `says_host`: with `xfwd`, as create-react-app sets it, else without."""
    node, port = require_node(), free_port()
    require_node_modules()
    folder.mkdir(parents=True, exist_ok=True)
    program = ROOT / "tests" / "js" / "compressing_proxy.mjs"
    command = [str(node), str(program), str(port), str(backend), "xfwd" if says_host else ""]
    with started(command, folder / "node.log", port):
        yield port
