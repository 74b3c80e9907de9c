"""`<runs_dir>/.clock_ports.json`: which port the clock channel of a server had, by the service's port.

Where nobody sets a port, the next start takes the same one again: pages that are open keep asking there, and their policy lets
them ask nowhere else.
"""

from __future__ import annotations

import contextlib
import json
import secrets
from pathlib import Path

FILE_NAME = ".clock_ports.json"

KEPT_MAX = 16
"""Services that are remembered, the last ones to start."""

BYTES_MAX = 4096


def last_used(runs_dir: Path, service_port: int) -> int:
    """Return the port at the last start of this service; 0 if there was none."""
    port = _read(runs_dir).get(str(service_port), 0)
    return 0 if port == service_port else port


def remember(runs_dir: Path, service_port: int, port: int) -> None:
    """Store the port for the next start. Where the folder cannot be written, that one takes another."""
    ports = _read(runs_dir)
    if ports.pop(str(service_port), 0) == port:
        return
    kept = [*ports.items(), (str(service_port), port)][-KEPT_MAX:]
    draft = runs_dir / f"{FILE_NAME}.{secrets.token_hex(4)}"
    with contextlib.suppress(OSError):
        runs_dir.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(dict(kept)), encoding="ascii")
        draft.replace(runs_dir / FILE_NAME)


def _read(runs_dir: Path) -> dict[str, int]:
    try:
        with (runs_dir / FILE_NAME).open("rb") as file:
            found = json.loads(file.read(BYTES_MAX))
    except (OSError, ValueError, RecursionError):
        return {}
    ports = found.items() if isinstance(found, dict) else ()
    return {name: port for name, port in ports if type(port) is int and 0 < port < 65_536}
