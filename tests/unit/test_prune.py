"""What `./siar runs prune` would take, and what stays because a server writes into it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.cli.prune import prune
from app.server.wsgi import server_file
from app.store.archive.run_index import LISTED_MAX
from app.store.run_folder import make_folder

LIVE = "live-2025-01-01T00-00-00-0001"


def serve(runs_dir: Path, run: str) -> None:
    """As a server of this process would say that it writes this run."""
    said = server_file.ServerFile("http://127.0.0.1:1", "t", os.getpid(), run=run)
    server_file.write(runs_dir, said)


def named(runs_dir: Path, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """The runs that would go, however young."""
    prune(runs_dir, older_than=0, keep=None, retention_days=30, wanted=False)
    return {line.split()[0] for line in capsys.readouterr().out.splitlines()[:-1]}


def test_the_run_of_a_server_that_runs_here_stays_though_more_runs_than_are_listed_came_after_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (LIVE, *(f"2026-01-01T00-00-00-{number:04}" for number in range(LISTED_MAX))):
        make_folder(tmp_path / name)
    without_a_server = named(tmp_path, capsys)

    serve(tmp_path, LIVE)

    assert LIVE in without_a_server
    assert without_a_server - named(tmp_path, capsys) == {LIVE}


def test_of_two_live_runs_the_older_one_is_nobodys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    older = "live-2024-12-31T00-00-00-0009"
    for name in (LIVE, older):
        make_folder(tmp_path / name)
    serve(tmp_path, LIVE)

    assert named(tmp_path, capsys) == {older}


def test_a_run_that_was_named_by_hand_stays_and_not_the_newest_live_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (LIVE, "lecture-3"):
        make_folder(tmp_path / name)
    serve(tmp_path, "lecture-3")

    assert named(tmp_path, capsys) == {LIVE}
