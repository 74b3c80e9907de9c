"""The clients that others wrote, across a cut and across restarts: everything once and in order, or a gap that is seen.

All run at the same time against one server; what each said is then judged separately.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.tools.calibrate.tcp_proxy import TcpProxy
from tests.clients.installing import Missing, install_all
from tests.clients.programs import Line, Program, running, wait_for_all
from tests.clients.table import CLIENTS, Client
from tests.components import without
from tests.support.server import RunningServer, free_port, running_server

pytestmark = pytest.mark.nightly

START_S = 60.0
"""Twenty programs begin at once, two of them in a JVM."""

PROMPT_S = 1.0

BACK_S = 30.0
"""Some clients double their wait with each refused connection."""

LONGEST = {"body": "ខ" * 20_000, "data": {"x": "y" * 4_900}}
"""Close to all that a notification may have: readers of lines or events of 64 KB at most have to take it."""

EACH_CLIENT = [pytest.param(client, id=client.name) for client in CLIENTS]

Folders = Mapping[str, Path | Missing]
Programs = Mapping[str, Program]


@dataclass(frozen=True, slots=True)
class Phase:
    """Notifications that were published in one phase, and the clients that have to receive them."""

    offsets: tuple[int, ...]
    programs: Programs


@pytest.fixture(scope="module")
def folders() -> Folders:
    """Folders in which each language's programs are installed."""
    return install_all()


@pytest.fixture(scope="module")
def phases(folders: Folders, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Phase]:
    """Everything that happens, once for all tests."""
    return {
        **_through_a_cut(folders, tmp_path_factory.mktemp("cut")),
        **_through_restarts(folders, tmp_path_factory.mktemp("restarts")),
    }


def _through_a_cut(folders: Folders, tmp_path: Path) -> dict[str, Phase]:
    with (
        running_server(tmp_path) as server,
        TcpProxy("127.0.0.1", server.port) as proxy,
        running(CLIENTS, folders, proxy.url, tmp_path) as programs,
    ):
        wait_for_all(programs, START_S, "open")
        first = _published(server)
        wait_for_all(programs, PROMPT_S, "notification", offset=first)
        _stamp_all(programs, "prompt")
        wait_for_all(programs, BACK_S, "notification", offset=first)
        proxy.shut()
        missed = [_published(server, **LONGEST) for _ in range(5)]
        proxy.open()
        cut = _received((*missed, _published(server, **LONGEST)), programs)
    return {"prompt": Phase((first,), programs), "cut": cut}


def _through_restarts(folders: Folders, tmp_path: Path) -> dict[str, Phase]:
    port, broker = free_port(), f"sqlite:///{tmp_path}/history.db"
    with (
        running_server(tmp_path, port=port, broker=broker) as server,
        running(CLIENTS, folders, server.url, tmp_path) as programs,
    ):
        wait_for_all(programs, START_S, "open")
        wait_for_all(programs, BACK_S, "notification", offset=_published(server))
        before_end = _published(server)
        os.kill(server.process.pid, signal.SIGTERM)
        server.process.wait(60)
        with running_server(tmp_path, port=port, broker=broker) as second:
            end = _received((before_end, _published(second), _published(second)), programs)
            before_kill = _published(second)
            os.killpg(second.process.pid, signal.SIGKILL)
            second.process.wait()
        with running_server(tmp_path, port=port, broker=broker) as third:
            kill = _received((before_kill, _published(third), _published(third)), programs)
    return {"end": end, "kill": kill}


def _published(server: RunningServer, **members: Any) -> int:
    offset: int = server.publish(**members)["offset"]
    return offset


def _received(offsets: tuple[int, ...], programs: Programs) -> Phase:
    wait_for_all(programs, BACK_S, "notification", offset=offsets[-1])
    return Phase(offsets, programs)


def _stamp_all(programs: Programs, name: str) -> None:
    """A line of ours among theirs: what follows it came later."""
    for program in programs.values():
        program.lines.append(Line(time.monotonic(), {"kind": name}))


@pytest.mark.parametrize("client", EACH_CLIENT)
def test_a_notification_arrives_at_once(client: Client, folders: Folders, phases: dict[str, Phase]) -> None:
    program = _program(client, folders, phases["prompt"])
    kinds = [line.says["kind"] for line in program.lines]

    assert "notification" in kinds[: kinds.index("prompt")], program.account()


@pytest.mark.parametrize("client", EACH_CLIENT)
@pytest.mark.parametrize("happened", ["cut", "end", "kill"])
def test_everything_arrives_once_and_in_order(
    client: Client, happened: str, folders: Folders, phases: dict[str, Phase]
) -> None:
    program = _program(client, folders, phases[happened])

    wrong = _first_wrong(phases[happened].offsets, _handled(client, program))

    assert wrong is None, f"{wrong}\n{program.account()}"


def _program(client: Client, folders: Folders, phase: Phase) -> Program:
    folder = folders[client.language]
    if isinstance(folder, Missing):
        without(str(folder))
    return phase.programs[client.name]


def _handled(client: Client, program: Program) -> list[dict[str, Any]]:
    """Notifications and gaps as its handlers were called, sorted where the library does not keep their order."""
    says = [line.says for line in program.lines if line.says["kind"] in ("notification", "gap")]
    if client.has_handlers_in_threads:
        says.sort(key=lambda each: each["offset"] if each["kind"] == "notification" else each["from"])
    return says


def _first_wrong(offsets: tuple[int, ...], handled: list[dict[str, Any]]) -> str | None:
    """The first departure from once and in order; a gap stands for what it names."""
    expected = offsets[0]
    for says in handled:
        if says["kind"] == "gap" and says["from"] <= expected <= says["to"]:
            expected = says["to"] + 1
        if says["kind"] == "notification" and offsets[0] <= says["offset"] <= offsets[-1]:
            if says["offset"] != expected:
                return f"{says['offset']} came where {expected} was next"
            expected += 1
    return None if expected > offsets[-1] else f"{expected} did not come"
