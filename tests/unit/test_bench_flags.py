"""What flags of `bench` cannot mean is a sentence, before anything starts."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli import main as cli
from app.cli.bench import EXTRA_FILES
from app.lab.run.processes import environment


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--subscribers", ","), "as in 100,1000"),
        (("--subscribers", "100,many"), '"many" is not a whole number'),
        (("--processes", ","), "as in 1,4"),
        (("--servers", "floor,ceiling"), '"ceiling" is no server'),
        (("--only", ","), "at least one part"),
        (("--hold-s", "5"), "add --hold"),
        (("--hold", "--processes", "1"), "name one"),
        (("--hold", "--quick"), "leave --quick"),
        (("--hold", "--repetitions", "3"), "leave --quick, --repetitions"),
        (("--hold", "--transports", "sse"), "--transports"),
        (("--hold", "--servers", "floor"), "--servers and --only out"),
        (("--hold", "--only", "memory"), "--servers and --only out"),
        (("--hold", "--subscribers", "18000", "--hold-s", "3600"), "may be held for 2,222 s"),
        (("--hold", "--subscribers", "60001"), "is not a whole number from 1 to 60000"),
        (("--subscribers", "100,20001"), "at most 20,000 connections"),
        (("--processes", "1", "--subscribers", "20001"), "at most 20,000 connections"),
    ],
)
def test_what_cannot_be_is_a_usage_error(
    flags: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", *flags]) == 2
    assert said in capsys.readouterr().err


def test_a_json_file_without_a_folder_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", "--json", str(tmp_path / "none" / "bench.json")]) == 2
    assert "there is no folder" in capsys.readouterr().err


def test_a_user_who_may_open_fewer_files_than_a_server_needs_can_hold_nothing() -> None:
    few = EXTRA_FILES // 2

    done = subprocess.run(
        [sys.executable, "-P", "-m", "app", "bench", "--hold"],
        env=environment(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (few, few)),
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (done.returncode, done.stdout) == (3, "")
    assert f"this user may have {few} (ulimit -Hn)" in done.stderr
