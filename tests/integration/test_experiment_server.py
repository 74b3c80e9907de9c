"""The server as a child: ready when handed out, explained when it cannot start."""

from __future__ import annotations

import socket
from pathlib import Path

import psutil
import pytest

from app.core.errors import Unfit
from app.lab.measure.cpu import CpuSampler
from app.lab.run import api, server_process
from tests.support import lab


def test_a_server_is_ready_when_handed_out_and_gone_afterwards(tmp_path: Path) -> None:
    with server_process.start(runs_dir=tmp_path, admin_token="t0ken") as started:
        server = started.server
        tree = [psutil.Process(started.process.pid), *lab.descendants(started.process.pid)]

        assert api.ask("GET", f"{server.url}/readyz")[0] == 200
        assert (server.admin_token, server.pid) == ("t0ken", started.process.pid)
        assert server.clock_port
        assert "t0ken" not in repr(server)

    assert lab.wait_until_gone(tree, timeout_s=15) == []


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(Unfit, match="SIAR_BROKER") as caught:
        server_process.start(runs_dir=tmp_path, settings={"SIAR_BROKER": "pigeon://"})

    assert "The end of its log" in str(caught.value)


@pytest.mark.slow
def test_a_port_that_somebody_took_meanwhile_is_given_up_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = [taken.getsockname()[1]]
        free_port = server_process._free_port
        monkeypatch.setattr(
            server_process, "_free_port", lambda host: ports.pop() if ports else free_port(host)
        )

        with server_process.start(runs_dir=tmp_path) as started:
            assert not ports
            assert started.server.url != f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_what_is_no_siar_server_is_refused() -> None:
    with pytest.raises(Unfit, match="No server answers"):
        api.find_server("http://127.0.0.1:9", admin_token="x")


@pytest.mark.slow
def test_the_server_s_companions_are_not_in_its_cpu(tmp_path: Path) -> None:
    with server_process.start(runs_dir=tmp_path, settings={"SIAR_RECORDER": "1"}) as started:
        tree = {each.pid: each.cmdline() for each in lab.descendants(started.process.pid)}
        sampled = {pid for pid, _ in CpuSampler(started.process.pid).snapshot().processes}

    left_out = [command[command.index("-m") + 1] for pid, command in tree.items() if pid not in sampled]
    assert set(left_out) == {"app.server.clock_process", "app.lab.run.recorder"}
    assert started.process.pid in sampled
    assert len(sampled) >= 2, "gunicorn's master and its worker"


@pytest.mark.slow
def test_a_trial_that_the_server_does_not_know_any_more_was_lost_by_it(tmp_path: Path) -> None:
    with server_process.start(runs_dir=tmp_path, settings={"SIAR_RECORDER": "0"}) as started:
        operator = api.Operator(started.server)

        with pytest.raises(Unfit, match="lost the trial"):
            operator.trial("a-run", 0)
        with pytest.raises(Unfit, match="lost the trial"):
            operator.close_trial("a-run", 0)
