"""Scripts and styles as they are served say the same in fewer bytes."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from app.web.assets import STATIC, strip
from tests.components import require_node, require_node_modules

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


def compared(folder: Path, scripts: dict[str, tuple[str, str]]) -> str:
    """What Node.js says of pairs of scripts, by name, that should be the same program; empty when they are."""
    require_node_modules()
    for name, (before, after) in scripts.items():
        (folder / f"{name}.js").write_text(before, encoding="utf-8")
        (folder / f"{name}.short.js").write_text(after, encoding="utf-8")
    done = subprocess.run(
        [require_node(), ROOT / "tests" / "js" / "same_program.mjs", folder],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode != 0) == bool(done.stderr)
    return done.stderr


def test_every_script_that_is_served_is_the_same_program_as_in_the_repository(tmp_path: Path) -> None:
    sources = {
        str(script.relative_to(STATIC)).replace("/", "_"): script.read_text(encoding="utf-8")
        for script in SCRIPTS
    }

    said = compared(tmp_path, {name: (text, strip(text, ".js")) for name, text in sources.items()})

    assert said == ""


OTHER_PROGRAMS = {
    "an_export_renamed": ("export const kept = 1;", "export const a = 1;"),
    "a_member_renamed": ("const kept = {one: 1}; kept.one;", "const a = {b: 1}; a.b;"),
    "a_global_renamed": ("document.title;", "a.title;"),
    "out_of_its_scope": ("{ const kept = 1; } kept;", "{ const a = 1; } a;"),
    "two_changed_places": ("const one = 1, two = 2; one - two;", "const a = 1, b = 2; b - a;"),
    "two_became_one": (
        "const one = 1; { const two = 2; one - two; }",
        "const a = 1; { const a = 2; a - a; }",
    ),
    "a_number_changed": ("class C { #one = 1; #two = 2; }", "class C { #a = 1; #b = 3; }"),
    "a_semicolon_lost": ("while (next()); last();", "while (next()) last();"),
}


def test_another_program_is_found_out(tmp_path: Path) -> None:
    said = compared(tmp_path, OTHER_PROGRAMS)

    assert sorted(line.split(".short.js: ")[0] for line in said.splitlines()) == sorted(OTHER_PROGRAMS)


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
