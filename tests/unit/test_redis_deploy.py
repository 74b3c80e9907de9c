"""What `deploy/` says about this program is so: files, settings and flags that it names are there."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from app import cli
from app.core.broker_url import parse_broker_url
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


@pytest.mark.parametrize("name", ["Dockerfile", "compose.yaml", "siar.service", "nginx.conf"])
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
