"""README.md names only what there is; tests/integration/test_readme_commands.py and tests/nightly type what it says."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from app.cli import main as cli
from app.store.plans import load_plan
from tests.support import readme
from tests.support.server import ROOT
from tests.tools import suite

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


def is_there(command: str) -> bool:
    """Tell whether the files, the command and the flags that `command` names exist."""
    words = command.split()
    if command == "python -m":
        return True
    if "-m" in words[:2]:
        return any((ROOT / words[2].replace(".", "/")).with_suffix(end).exists() for end in ("", ".py"))
    if "./siar" not in words or command == "./siar":
        scripts = {word for word in words if word.endswith(".py")}
        return scripts <= {"gunicorn.conf.py", "loadtests/locustfile.py"} and all(
            (ROOT / script).is_file() for script in scripts
        )
    name = words[words.index("./siar") + 1]
    if name not in cli.COMMANDS:
        return False
    flags = set(re.findall(r"--[a-z][a-z-]*", command.replace("--[no-]", "--no-")))
    known = set(re.findall(r"--[a-z]+", suite.__doc__ or "")) if name == "test" else options_of(name)
    files = [word for word in words if word.startswith("deploy/")]
    return flags <= known | {"--help"} and all((ROOT / file).is_file() for file in files)


def test_no_command_or_flag_is_named_that_does_not_exist() -> None:
    named = {*readme.inline_commands(), *(command for command, _ in readme.commands())}

    assert named
    assert [command for command in sorted(named) if not is_there(command)] == []


@pytest.mark.parametrize(
    "command", ["./siar dance", "./siar demo --dance", "python -m app.dance", "./siar serve deploy/dance"]
)
def test_a_command_of_nothing_is_found(command: str) -> None:
    assert not is_there(command)


def test_every_plan_can_be_read(tmp_path: Path) -> None:
    plans = readme.blocks("toml")

    assert plans
    for block in plans:
        (tmp_path / "plan.toml").write_text(block.text)
        assert len(load_plan(tmp_path / "plan.toml").arms) == 2, f"line {block.line}"


def leads_somewhere(link: str) -> bool:
    path, _, name = link.partition("#")
    page = ROOT / path if path else readme.README
    return page.exists() and (not name or name in readme.anchors(page))


def test_every_link_leads_somewhere() -> None:
    links = readme.links()

    assert links
    assert [link for link in links if not leads_somewhere(link)] == []
