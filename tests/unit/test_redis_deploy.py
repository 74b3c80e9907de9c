"""What `deploy/` says about this program is so: files, settings and flags that it names are there."""

from __future__ import annotations

import argparse
import re
import shlex
from dataclasses import fields

import pytest

from app.cli import load
from app.cli import main as cli
from app.cli.load_order import order_of
from app.core.broker_url import parse_broker_url
from app.core.wire import TRANSPORTS
from app.settings import Settings, environment_name
from tests.support.server import ROOT

DEPLOY = ROOT / "deploy"

KNOWN = {environment_name(each.name) for each in fields(Settings)}


def test_the_container_gets_every_file_that_it_copies() -> None:
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    let_through = re.findall(r"^!(\S+)$", (DEPLOY / "Dockerfile.dockerignore").read_text(), re.MULTILINE)

    copied = [
        source
        for line in re.findall(r"^COPY (?!--from)(.+)$", dockerfile, re.MULTILINE)
        for source in line.split()[:-1]
    ]

    assert copied
    assert set(copied) == set(let_through)
    assert all((ROOT / source).exists() for source in copied)


def test_the_container_does_not_run_as_root() -> None:
    users = re.findall(r"^USER (\S+)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)

    assert users == ["10001"]


@pytest.mark.parametrize("name", sorted(path.name for path in DEPLOY.iterdir() if path.is_file()))
def test_every_setting_that_is_named_is_one(name: str) -> None:
    named = set(re.findall(r"\bSIAR_[A-Z_]+", (DEPLOY / name).read_text()))

    assert named <= KNOWN


def test_the_servers_of_the_composition_share_a_broker() -> None:
    url = re.search(r"SIAR_BROKER: (\S+)", (DEPLOY / "compose.yaml").read_text())

    assert url is not None
    assert parse_broker_url(url[1]).is_shared


def test_the_smoke_load_is_a_command_of_this_program(capsys: pytest.CaptureFixture[str]) -> None:
    text = (DEPLOY / "smoke-load.yml").read_text()
    flags = set(re.findall(r"(--[a-z-]+)", text.split("./siar load")[1].split("- uses")[0]))

    assert cli.main(["load", "--help"]) == 0

    assert flags <= set(re.findall(r"(--[a-z-]+)", capsys.readouterr().out))


def test_the_smoke_load_is_five_users_for_half_a_minute_and_gates_on_delay_and_errors() -> None:
    text = (DEPLOY / "smoke-load.yml").read_text()
    parser = argparse.ArgumentParser()
    load.add_arguments(parser)

    arguments = parser.parse_args(shlex.split(text.split("./siar load")[1].split("- uses")[0]))

    order = order_of(arguments)
    assert order.plan.client_counts == (5,)
    assert order.plan.notifications / order.plan.rate_hz == 30
    assert {arm.transport for arm in order.plan.arms} == set(TRANSPORTS)
    assert {"delay_ms_p95<100", "errors==0"} <= {str(gate) for gate in order.gates}
    uploaded = text.split("path: |")[1].split()
    assert uploaded == [str(arguments.json), str(arguments.junit)]


def directives(name: str) -> dict[str, list[str]]:
    """What a systemd unit says: values by name, as often as it is given."""
    found: dict[str, list[str]] = {}
    for line in (DEPLOY / name).read_text().splitlines():
        if "=" in line and not line.startswith(("#", "[")):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


UNIT = {
    "a user of its own": {"User": "siar"},
    "without capabilities": {"CapabilityBoundingSet": "", "NoNewPrivileges": "yes"},
    "writes to `/var/lib/siar` only": {
        "ProtectSystem": "strict",
        "ProtectHome": "yes",
        "PrivateTmp": "yes",
        "PrivateDevices": "yes",
        "StateDirectory": "siar",
        "StateDirectoryMode": "0700",
    },
    "`/etc/siar.env`": {"EnvironmentFile": "-/etc/siar.env"},
    "restarts on failure": {"Restart": "on-failure"},
    "the unit sets 32,768": {"LimitNOFILE": "32768"},
}
"""What `docs/operations.md` says of the unit, and the lines that make it so. No systemd is asked."""

GIVES_MORE = {"AmbientCapabilities", "ReadWritePaths", "ReadWriteDirectories", "BindPaths", "DynamicUser"}
"""What would take back some of it."""


@pytest.mark.parametrize("promise", UNIT)
def test_the_unit_keeps_what_the_operations_page_promises_of_it(promise: str) -> None:
    found = directives("siar.service")

    assert promise in (ROOT / "docs" / "operations.md").read_text()
    assert {name: found.get(name) for name in UNIT[promise]} == {
        name: [value] for name, value in UNIT[promise].items()
    }
    assert not GIVES_MORE & set(found)


def test_the_units_runs_folder_is_the_one_that_it_may_write_to() -> None:
    (told,) = (each for each in directives("siar.service")["Environment"] if "SIAR_RUNS_DIR" in each)

    assert "SIAR_RUNS_DIR=/var/lib/siar" in told.split()
