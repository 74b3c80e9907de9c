"""README.md names only what there is; tests/integration/test_readme_commands.py and tests/nightly type what it says."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from app import cli, suite
from app.experiment.plans import load_plan
from tests.support import readme

ROOT = readme.ROOT

TYPED = ("./siar demo", "./siar test", "./siar serve", "./siar bench")
"""What commands in blocks begin with; each has a test that runs it. A new one needs a test first."""

NEEDS = {"", "redis", "many minutes"}
"""What a block may say that it takes, and the tests know how to give it."""


def test_every_block_is_of_a_kind_that_a_test_runs() -> None:
    assert readme.languages() == {"sh", "toml", "json", "text"}
    for command, needs in readme.commands():
        assert command.startswith(TYPED), f"no test runs `{command}`"
        assert needs in NEEDS, f"no test knows how to give {needs!r}"


def options_of(name: str) -> set[str]:
    parser = cli._parser([name])
    choices = next(a.choices for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return {option for action in choices[name]._actions for option in action.option_strings}


@pytest.mark.parametrize(
    "command", sorted({*readme.inline_commands(), *(command for command, _ in readme.commands())})
)
def test_no_command_or_flag_is_named_that_does_not_exist(command: str) -> None:
    words = command.split()
    if command == "python -m":
        return
    if "-m" in words[:2]:
        assert any((ROOT / words[2].replace(".", "/")).with_suffix(end).exists() for end in ("", ".py"))
        return
    if "./siar" not in words or command == "./siar":
        assert {word for word in words if word.endswith(".py")} <= {
            "gunicorn.conf.py",
            "loadtests/locustfile.py",
        }
        assert all((ROOT / word).is_file() for word in words if word.endswith(".py"))
        return
    name = words[words.index("./siar") + 1]
    flags = set(re.findall(r"--[a-z][a-z-]*", command.replace("--[no-]", "--no-")))

    assert name in cli.COMMANDS
    known = set(re.findall(r"--[a-z]+", suite.__doc__ or "")) if name == "test" else options_of(name)
    assert flags <= known | {"--help"}
    assert all((ROOT / word).is_file() for word in words if word.startswith("deploy/"))


@pytest.mark.parametrize("block", readme.blocks("toml"), ids=lambda block: f"line {block.line}")
def test_every_plan_can_be_read(block: readme.Block, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(block.text)

    assert len(load_plan(tmp_path / "plan.toml").arms) == 2


@pytest.mark.parametrize("link", sorted(set(readme.links())))
def test_every_link_leads_somewhere(link: str) -> None:
    path, _, name = link.partition("#")
    page = ROOT / path if path else readme.README

    assert page.exists()
    assert not name or name in readme.anchors(page)
