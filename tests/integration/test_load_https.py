"""`./siar load --url https://...`: users and built-in clients over TLS, straight and through a real nginx."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.cli import main as cli
from app.server.tls import keep
from tests.support.commands import siar
from tests.support.nginx import nginx
from tests.support.server import ADMIN_TOKEN, running_server

QUICK = ("--duration", "1s", "--rate", "10", "--blocks", "1", "--quick", "--users", "3", "--seed", "3")


@dataclass(frozen=True, slots=True)
class Front:
    """nginx with TLS before one server."""

    url: str
    authority: Path


@contextlib.contextmanager
def front(folder: Path) -> Iterator[Front]:
    files = keep.make(keep.CA, folder / "tls", ["127.0.0.1"])
    assert files.authority is not None
    with (
        running_server(folder, trusted_proxies="127.0.0.1", recorder=0) as server,
        nginx(folder / "nginx", [server.port], certificate=files.certificate, key=files.key) as port,
    ):
        yield Front(f"https://127.0.0.1:{port}", files.authority)


def load(folder: Path, before: Front, *flags: str) -> tuple[subprocess.CompletedProcess[str], Any]:
    done = siar(
        folder,
        *("load", *QUICK, "--url", before.url, "--token", ADMIN_TOKEN, "--json", "load.json", *flags),
        timeout_s=300,
    )
    result = json.loads((folder / "load.json").read_text()) if (folder / "load.json").is_file() else None
    return done, result


@pytest.mark.alone
@pytest.mark.nightly
def test_users_and_built_in_clients_lose_nothing_over_tls_through_nginx(tmp_path: Path) -> None:
    with front(tmp_path) as before:
        done, result = load(tmp_path, before, "--agreement", "--ca", str(before.authority))

    assert done.returncode in (0, 3, 99), (
        done.stderr
    )  # What the machine made of delays is not what is tested.
    levels = {each["arm"]: each for each in result["load"]["levels"]}
    assert set(levels) == {
        f"{transport}, {generator}"
        for transport in ("sse", "socketio")
        for generator in ("built-in", "locust")
    }
    for level in levels.values():
        assert (level["lost"], level["errors"], level["duplicates"]) == (0, 0, 0)
        assert level["expected"] == 3 * 10 * level["trials"]
    stamped, arrivals = stamps(tmp_path / "runs" / result["run"]["id"])
    assert stamped > 0
    assert stamped >= 0.9 * arrivals, "the kernel's stamps come through TLS"


def stamps(run: Path) -> tuple[int, int]:
    """Deliveries with a kernel stamp, and all."""
    with contextlib.closing(sqlite3.connect(run / "run.sqlite")) as store:
        return store.execute("SELECT count(kernel_received_us), count(*) FROM delivery").fetchone()


@pytest.mark.nightly
def test_a_certificate_that_nobody_vouches_for_ends_the_load_before_anybody_connects(tmp_path: Path) -> None:
    with front(tmp_path) as before:
        done, result = load(tmp_path, before)

    assert done.returncode == 3
    assert "--ca" in done.stderr
    assert "Traceback" not in done.stderr
    assert result is None


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--ca", "x.pem"), "https"),
        (("--url", "http://127.0.0.1:1", "--token", "t", "--ca", "x.pem"), "https"),
        (("--url", "https://127.0.0.1:1", "--token", "t", "--ca", "nowhere.pem"), "no such file"),
        (("--url", "ftp://127.0.0.1:1", "--token", "t"), "https://"),
    ],
)
def test_an_authority_without_tls_is_a_usage_error(
    flags: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["load", *flags]) == 2

    assert said in capsys.readouterr().err
