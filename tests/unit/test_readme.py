"""README.md and docs/ name only what there is; tests/integration/test_readme_commands.py and tests/nightly type it."""

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

TYPED = ("./siar demo", "./siar test", "./siar serve", "./siar bench", "./siar doctor")
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
    if command in ("./siar COMMAND", "./siar --version"):
        return True
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
        assert len(load_plan(tmp_path / "plan.toml").arms) == 2, f"{block.page}, line {block.line}"


def leads_somewhere(page: Path, link: str) -> bool:
    path, _, name = link.partition("#")
    target = page.parent / path if path else page
    return target.exists() and (not name or name in readme.anchors(target))


@pytest.mark.parametrize("page", readme.PAGES, ids=lambda page: page.stem)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert [link for link in readme.links(page) if not leads_somewhere(page, link)] == []


def test_a_link_to_nowhere_is_found() -> None:
    assert leads_somewhere(readme.README, "docs/bench.md#parts")
    assert not leads_somewhere(readme.README, "docs/bench.md#part")
    assert not leads_somewhere(readme.README, "docs/dance.md")


def test_every_page_of_docs_is_reached_from_the_readme() -> None:
    reached = {link.partition("#")[0] for link in readme.links(readme.README)}

    assert {f"docs/{page.name}" for page in readme.PAGES[1:]} <= reached


def test_the_readme_is_short() -> None:
    assert len(readme.README.read_text(encoding="utf-8").splitlines()) <= 150
