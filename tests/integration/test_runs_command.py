"""`./siar runs` and `./siar link`: what an operator at a terminal does with runs and links."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from app.store.archive.sizes import folder_bytes
from app.store.archive.trash import DAY_S
from app.store.run_folder import MARK_FILE, make_folder
from tests.support.patience import PATIENCE_S
from tests.support.server import ROOT, RunningServer, free_port, running_server
from tests.support.stored_run import store_run

PROXY = "127.0.0.9"

OLD, NEW = "2025-01-01T00-00-00-0001", "2026-01-01T00-00-00-0002"


def siar(runs_dir: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """`./siar ...` with its runs in `runs_dir`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SIAR_")}
    return subprocess.run(
        [sys.executable, "-P", "-m", "app", *arguments],
        env={**kept, "PYTHONPATH": str(ROOT), "SIAR_RUNS_DIR": str(runs_dir), **settings},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture
def runs_dir(tmp_path: Path) -> Path:
    """An old run and a new one."""
    for run in (OLD, NEW):
        store_run(tmp_path / "runs", run)
    for path in [*(tmp_path / "runs" / OLD).rglob("*"), tmp_path / "runs" / OLD]:
        os.utime(path, (0, path.stat().st_mtime - 100 * DAY_S))
    return tmp_path / "runs"


def test_the_list_is_one_line_per_run_newest_first(runs_dir: Path) -> None:
    lines = siar(runs_dir, "runs").stdout.splitlines()

    assert [line.split()[0] for line in lines] == [NEW, OLD]
    assert "2 phones  complete" in lines[0]


def test_prune_names_old_runs_and_moves_them_only_when_told_to(runs_dir: Path) -> None:
    shown = siar(runs_dir, "runs", "prune")
    assert shown.stdout.startswith(f"{OLD}  100 days  ")
    assert "Older than 30 days: 1 of 2 runs, " in shown.stdout
    assert "--yes" in shown.stdout
    assert (runs_dir / OLD).exists()

    done = siar(runs_dir, "runs", "prune", "--yes")

    assert done.returncode == 0
    assert "1 moved into the trash" in done.stdout
    assert not (runs_dir / OLD).exists()
    assert (runs_dir / NEW).exists()
    assert siar(runs_dir, "runs", "restore", OLD).returncode == 0
    assert (runs_dir / OLD / "run.sqlite").exists()


def test_prune_by_size_takes_the_oldest_and_names_what_it_would_free(runs_dir: Path) -> None:
    size_bytes = folder_bytes(runs_dir / NEW)
    room = f"{round(1.5 * size_bytes)}"

    shown = siar(runs_dir, "runs", "prune", "--keep", room)
    done = siar(runs_dir, "runs", "prune", "--keep", room, "--yes")

    assert [line.split()[0] for line in shown.stdout.splitlines()[:-1]] == [OLD]
    assert " together: 1 of 2 runs, " in shown.stdout
    assert done.returncode == 0
    assert sorted(path.name for path in runs_dir.iterdir()) == [".trash", NEW]
    assert "The trash takes" in done.stdout


def test_prune_without_a_rule_takes_nothing_where_runs_are_kept_for_ever(runs_dir: Path) -> None:
    done = siar(runs_dir, "runs", "prune", "--yes", SIAR_RETENTION_DAYS="0")

    assert done.returncode == 2
    assert "SIAR_RETENTION_DAYS is 0" in done.stderr
    assert (runs_dir / OLD).exists()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("prune", "--older-than", "-1"), "--older-than"),
        (("prune", "--older-than", "nan"), "--older-than"),
        (("prune", "--keep", "much"), "2GB"),
        (("list", "--yes"), "prune"),
        (("restore",), "RUN"),
        (("restore", "../runs"), "trash"),
        (("list", NEW), "siar report"),
    ],
)
def test_a_mistake_gets_a_sentence(runs_dir: Path, arguments: tuple[str, ...], word: str) -> None:
    done = siar(runs_dir, "runs", *arguments)

    assert done.returncode == 2
    assert word in done.stderr


def test_without_a_server_there_is_no_link(tmp_path: Path) -> None:
    done = siar(tmp_path, "link")

    assert done.returncode == 3
    assert "siar serve" in done.stderr


def until(is_so: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline_s, "it did not come to that"
        time.sleep(0.05)


def device(server: RunningServer) -> dict[str, str]:
    """The proof of a new device."""
    made = server.request("POST", "/api/devices", {})[1]
    return {"Authorization": f"Bearer {made['device']}.{made['token']}"}


@pytest.mark.slow
def test_a_server_tidies_up_is_found_for_a_new_link_and_forgotten_at_its_end(tmp_path: Path) -> None:
    port = free_port()
    old = tmp_path / "runs" / "live-2025-01-01T00-00-00-0001"
    make_folder(old)
    os.utime(old / MARK_FILE, (0, 0))
    os.utime(old, (0, 0))
    flags = ("--host", "127.0.0.1", "--no-check", "--admin-over-http", "--join-code")
    command = ("-m", "app", "serve", *flags)
    with running_server(tmp_path, command=command, port=port, trusted_proxies=PROXY) as server:
        assert (
            server.request("GET", "/api/assignment", headers=device(server))[1]["join_code_required"] is True
        )
        place = server.runs_dir / ".server.json"
        assert place.stat().st_mode & 0o777 == 0o600

        until((server.runs_dir / ".trash" / old.name).exists)
        assert (server.runs_dir / server.run).exists()

        links = [siar(server.runs_dir, "link").stdout.strip() for _ in range(2)]

        pattern = rf"http://127\.0\.0\.1:{port}/admin\?key=[\w-]{{22}}"
        assert all(re.fullmatch(pattern, link) for link in links)
        assert links[0] != links[1]
        key = links[1].rpartition("=")[2]
        elsewhere = {"X-Forwarded-For": "192.168.1.7", "X-Forwarded-Proto": "http"}
        signed_in = server.request(
            "POST", "/api/sessions", {"key": key}, token="", source=PROXY, headers=elsewhere
        )
        assert signed_in[0] == 201, "--admin-over-http allows it from another machine"
    assert not place.exists()
