"""Scripts and styles as they are served say the same in fewer bytes."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from app.web.assets import STATIC, strip
from tests.components import require_node

ROOT = STATIC.parent

SCRIPTS = sorted((STATIC / "js").rglob("*.js"))


def test_what_a_script_says_in_texts_stays_as_it_is() -> None:
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
        "`Hello,   ${",
        "} // not a comment`",
        '/\\/\\*[^"]*/g',
        '"  /* neither */  "',
        "greet",
        "get kept()",
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


def parses(folder: Path, text: str) -> bool:
    """Whether Node.js takes it for a module."""
    script = folder / "script.mjs"
    script.write_text(text, encoding="utf-8")
    return (
        subprocess.run([require_node(), "--check", script], capture_output=True, check=False).returncode == 0
    )


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_what_a_script_gives_to_others_keeps_its_name(script: Path) -> None:
    source = script.read_text(encoding="utf-8")
    exported = re.compile(r"\bexport (?:async )?(?:const|let|class|function\*?) (\w+)")

    stripped = strip(source, ".js")

    for name in exported.findall(source):
        assert re.search(rf"\bexport\b[^;]*\b{name}\b", stripped), name


def test_the_longest_script_is_still_one(tmp_path: Path) -> None:
    longest = max(SCRIPTS, key=lambda script: len(script.read_bytes())).read_text(encoding="utf-8")

    assert parses(tmp_path, strip(longest, ".js"))
    assert not parses(tmp_path, strip(longest, ".js")[:-1] + "(")


def test_scripts_get_less_than_half_as_heavy() -> None:
    before = sum(len(script.read_bytes()) for script in SCRIPTS)
    after = sum(len(strip(script.read_text(encoding="utf-8"), ".js").encode()) for script in SCRIPTS)

    assert after < before / 2


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_the_modules_that_a_script_names_are_the_same(script: Path) -> None:
    source = script.read_text(encoding="utf-8")
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", source, flags=re.DOTALL)
    named = re.compile(r"""(?:from|import)\s*\(?\s*["']([^"']+)["']""")

    assert named.findall(strip(source, ".js")) == named.findall(code)
