"""The steps of `deploy/Dockerfile` that need no engine: what it copies, compiles, starts, and asks for its health.

What builds the image and what runs it, its base and its user, are not tested: no machine of ours has an engine.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from app.lab.run import processes
from tests.support.server import ROOT, free_port

pytestmark = pytest.mark.slow

PATIENCE_S = 120

DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
"""Each instruction on a line of its own."""


def instructions(name: str) -> list[str]:
    return re.findall(rf"^{name} +(.+)$", DOCKERFILE, re.MULTILINE)


def made(image: Path, env: Mapping[str, str]) -> None:
    """Copy and compile, as the second stage does."""
    for copied in instructions("COPY"):
        *sources, target = copied.split()
        for source in sources if not copied.startswith("--from") else ():
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, image / target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copyfile(ROOT / source, image / target / source)
    (compiles,) = (each for each in instructions("RUN") if "compileall" in each)
    subprocess.run([sys.executable, *compiles.split()[1:]], cwd=image, env=env, check=True)


def environment(image: Path, state: Path, port: int) -> dict[str, str]:
    """The image's own, on this machine's paths and ports; nothing of the test's."""
    (told,) = instructions("ENV")
    own = dict(each.split("=", 1) for each in shlex.split(told))
    own["PATH"] = os.environ["PATH"]
    moved = {
        name: value.replace("/opt/siar", str(image)).replace("/var/lib/siar", str(state))
        for name, value in own.items()
    }
    return {
        **moved,
        "HOME": str(state),
        "LANG": "C.UTF-8",
        "SIAR_PORT": str(port),
        "SIAR_CLOCK_PORT": "0",
        "http_proxy": "http://127.0.0.1:1",
    }


def ours(command: str) -> list[str]:
    """An instruction's command, by this interpreter."""
    program, *arguments = json.loads(command)
    assert program == "python"
    return [sys.executable, *arguments]


def is_healthy(check: Sequence[str], env: Mapping[str, str]) -> bool:
    return subprocess.run(check, env=env, capture_output=True, timeout=PATIENCE_S).returncode == 0


def got(url: str) -> str:
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
        assert answer.status == 200
        text: str = answer.read().decode()
        return text


def test_what_the_image_holds_is_enough_to_serve_and_its_health_check_passes(tmp_path: Path) -> None:
    image, state, port = tmp_path / "image", tmp_path / "state", free_port()
    image.mkdir()
    state.mkdir()
    env = environment(image, state, port)
    made(image, env)
    held = set(image.rglob("*"))
    check = ours(instructions("HEALTHCHECK")[0].split(" CMD ")[1])
    serve = [*ours(instructions("ENTRYPOINT")[0]), *json.loads(instructions("CMD")[0])]

    log_path = tmp_path / "log"
    with log_path.open("wb") as log:
        process = processes.spawn(["env", "-C", str(state), *serve], env=env, stdout=log, stderr=log)
    try:
        deadline_s = time.monotonic() + PATIENCE_S
        while not is_healthy(check, env):
            assert process.poll() is None, log_path.read_text()
            assert time.monotonic() < deadline_s, log_path.read_text()
            time.sleep(0.1)
        page = got(f"http://127.0.0.1:{port}/")
        asset = re.search(r'"(/static/[^"]+)"', page)
        assert asset is not None
        assert got(f"http://127.0.0.1:{port}{asset[1]}")
    finally:
        processes.stop(process, patience_s=20)

    assert set(image.rglob("*")) == held, "it writes to its volume only, since its user may not write here"
