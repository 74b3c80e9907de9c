"""Scripts and styles as they are served say the same in fewer bytes."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from app.web.assets import STATIC, strip
from tests.components import require_node

SCRIPTS = sorted((STATIC / "js").rglob("*.js"))


def test_nothing_but_comments_and_space_is_taken_from_a_script() -> None:
    script = """
    /** What it is for. */
    export const greet = (name) => `Hello,   ${name} // not a comment`; // said once
    const pattern = /\\/\\*[^"]*/g;
    class Secret { #kept = "  /* neither */  "; get kept() { return this.#kept; } }
    """

    stripped = strip(script, ".js")

    assert "What it is for" not in stripped
    assert "said once" not in stripped
    for kept in (
        "`Hello,   ${name} // not a comment`",
        '/\\/\\*[^"]*/g',
        '"  /* neither */  "',
        "#kept",
    ):
        assert kept in stripped


def test_a_style_keeps_what_its_space_means() -> None:
    stripped = strip("/* Why. */ .a > .b { width: calc(1px + 2px); content: '  '; }\n", ".css")

    assert "Why" not in stripped
    assert "calc(1px + 2px)" in stripped
    assert "'  '" in stripped


def test_a_catalogue_keeps_its_texts() -> None:
    texts = {"a.b": "± {bound} ms", "c": "two  spaces"}

    assert json.loads(strip(json.dumps(texts, indent=2), ".json")) == texts


def test_every_script_that_is_served_still_parses(tmp_path: Path) -> None:
    node = require_node()
    (tmp_path / "package.json").write_text('{"type": "module"}')
    for number, script in enumerate(SCRIPTS):
        place = tmp_path / f"{number}.js"
        place.write_text(strip(script.read_text(encoding="utf-8"), ".js"), encoding="utf-8")
    # Imported by nobody: they are parsed one by one, as modules, in one process.
    check = (
        "import { SourceTextModule } from 'node:vm'; import { readFileSync } from 'node:fs';"
        f"for (let n = 0; n < {len(SCRIPTS)}; n += 1)"
        " new SourceTextModule(readFileSync(`${n}.js`, 'utf8'), { identifier: `${n}` });"
    )

    done = subprocess.run(
        [node, "--experimental-vm-modules", "--no-warnings", "--input-type=module", "--eval", check],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_scripts_get_a_third_lighter() -> None:
    before = sum(len(script.read_bytes()) for script in SCRIPTS)
    after = sum(len(strip(script.read_text(encoding="utf-8"), ".js").encode()) for script in SCRIPTS)

    assert after < before * 2 / 3


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_the_modules_that_a_script_names_are_the_same(script: Path) -> None:
    source = script.read_text(encoding="utf-8")
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", source, flags=re.DOTALL)
    named = re.compile(r"""(?:from|import)\s*\(?\s*["']([^"']+)["']""")

    assert named.findall(strip(source, ".js")) == named.findall(code)
