"""Lighthouse on one address, in a Chromium that it starts itself: what it scores, and what it found wanting."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.components import require_chromium, require_node, require_node_modules

TIMEOUT_S = 600

TRACE_LOST = "(NO_NAVSTART)"
"""Lighthouse's own failure, and not the page's: its recording of the browser lacks the beginning. It says: run it again."""

TRIES_MAX = 3

CHROME_FLAGS = "--headless=new --no-sandbox --disable-dev-shm-usage"


@dataclass(frozen=True, slots=True)
class Audit:
    """What Lighthouse says of a page."""

    scores: dict[str, int]
    """0 to 100, by category."""
    failed: list[str]
    """Audits of accessibility that found something, each in a line."""
    bytes_total: int
    """Of everything that was loaded, as it came over the wire."""


def audit(url: str, folder: Path) -> Audit:
    """Load the page as a phone does, with a phone's CPU and network, and judge it."""
    modules = require_node_modules()
    output = folder / "lighthouse.json"
    command: list[str | Path] = [
        require_node(),
        modules / "lighthouse" / "cli" / "index.js",
        url,
        "--quiet",
        "--only-categories=accessibility,performance",
        f"--chrome-flags={CHROME_FLAGS}",
        "--output=json",
        f"--output-path={output}",
    ]
    environment = os.environ | {"CHROME_PATH": str(require_chromium()), "CI": "1"}
    for _ in range(TRIES_MAX):
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, env=environment, cwd=folder
        )
        if TRACE_LOST not in done.stderr:
            assert done.returncode == 0, done.stderr[-2000:]
            return _audit(json.loads(output.read_text(encoding="utf-8")))
    raise AssertionError(f"{TRACE_LOST}: in each of {TRIES_MAX} tries")


def _audit(result: dict[str, Any]) -> Audit:
    wanted = [each["id"] for each in result["categories"]["accessibility"]["auditRefs"]]
    found = (result["audits"][name] for name in wanted)
    return Audit(
        scores={name: round(100 * each["score"]) for name, each in result["categories"].items()},
        failed=[f"{each['id']}: {each['title']}" for each in found if each["score"] == 0],
        bytes_total=result["audits"]["total-byte-weight"]["numericValue"],
    )
