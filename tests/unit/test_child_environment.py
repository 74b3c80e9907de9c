"""The environment of child processes, valid tokens, and quoting of printed command lines."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli.announcement import _curl
from app.core.errors import SettingError
from app.lab.run import processes
from app.settings import child_environment, read
from tests.support.server import ROOT, free_port


def test_settings_of_other_tools_do_not_reach_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = {
        "GUNICORN_CMD_ARGS": "--bind 127.0.0.1:1",
        "WEB_CONCURRENCY": "3",
        "FLASK_DEBUG": "1",
        "LOCUST_HOST": "http://127.0.0.1:1",
        "PYTHONOPTIMIZE": "2",
        "SIAR_PORT": "1",
    }
    for name, value in foreign.items():
        monkeypatch.setenv(name, value)

    assert not foreign.keys() & processes.environment().keys()
    assert child_environment({"PATH": "/bin", **foreign}) == {"PATH": "/bin"}


@pytest.mark.parametrize("token", ["sécret-token-long", "secret\r", "secret ", "secret\n"])
def test_a_token_that_no_header_carries_is_refused(token: str) -> None:
    with pytest.raises(SettingError, match="SIAR_ADMIN_TOKEN"):
        read({"SIAR_ADMIN_TOKEN": token})


def test_the_printed_command_survives_a_shell() -> None:
    token = "it's-a-$HOME`token`"

    printed = shlex.split(_curl("http://127.0.0.1:8080", token, None))

    assert f"Authorization: Bearer {token}" in printed


def test_a_socket_of_systemd_is_refused_as_what_it_is(tmp_path: Path) -> None:
    """systemd names the process that it starts; here the process does so itself, before `serve` begins."""
    port = free_port()
    script = (
        "import os, sys; os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()));"
        f"os.execv(sys.executable, [sys.executable, '-P', '-m', 'app', 'serve', '--port', '{port}'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "SIAR_RUNS_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 3
    assert "systemd" in done.stderr
