"""Scripts and styles as they are served say the same in fewer bytes."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from app.paths import STATIC
from app.server.web.service.assets import strip
from tests.components import require_node

ROOT = STATIC.parent


def scripts() -> list[Path]:
    found = sorted((STATIC / "js").rglob("*.js"))
    assert found
    return found


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


def test_what_a_script_gives_to_others_keeps_its_name() -> None:
    exported = re.compile(r"\bexport (?:async )?(?:const|let|class|function\*?) (\w+)")
    lost = []
    for script in scripts():
        source = script.read_text(encoding="utf-8")
        stripped = strip(source, ".js")
        lost += [
            f"{script.name}: {name}"
            for name in exported.findall(source)
            if not re.search(rf"\bexport\b[^;]*\b{name}\b", stripped)
        ]

    assert lost == []


def test_the_longest_script_is_still_one(tmp_path: Path) -> None:
    longest = max(scripts(), key=lambda script: len(script.read_bytes())).read_text(encoding="utf-8")

    assert parses(tmp_path, strip(longest, ".js"))
    assert not parses(tmp_path, strip(longest, ".js")[:-1] + "(")


def test_scripts_get_less_than_half_as_heavy() -> None:
    before = sum(len(script.read_bytes()) for script in scripts())
    after = sum(len(strip(script.read_text(encoding="utf-8"), ".js").encode()) for script in scripts())

    assert after < before / 2


def test_the_modules_that_a_script_names_are_the_same() -> None:
    named = re.compile(r"""(?:from|import)\s*\(?\s*["']([^"']+)["']""")
    changed = []
    for script in scripts():
        source = script.read_text(encoding="utf-8")
        code = re.sub(r"/\*.*?\*/|//[^\n]*", "", source, flags=re.DOTALL)
        if named.findall(strip(source, ".js")) != named.findall(code):
            changed.append(script.name)

    assert changed == []
