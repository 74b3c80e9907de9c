"""Texts from people who try: markup, directions that turn a line around, emoji, words without end."""

from __future__ import annotations

from tests.browser.cdp import Browser, Page

MARK = "ranHostileScript"
"""A global that any of these texts sets if it is taken for anything but text."""

TEXTS = {
    "script": f"<script>globalThis.{MARK}=1</script>",
    "image": f"\"'><img src=x onerror=globalThis.{MARK}=1>",
    "svg": f"<svg/onload=globalThis.{MARK}=1>",
    "template": f"${{globalThis.{MARK}=1}}{{{{ 7*7 }}}}{{name}}",
    "link": f'<a href="javascript:globalThis.{MARK}=1" autofocus onfocus=globalThis.{MARK}=1>x</a>',
    "right_to_left_override": "safe \u202egnp.exe\u202c",
    "right_to_left_isolate": "left \u2067\u05d0\u05d1\u05d2 (1)",
    "unclosed": "\u202e\u202e\u2067unclosed",
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈" * 60,
    "piled_up": "Z" + "\u0335\u0321\u0489" * 200,
    "long_word": "W" * 10_240,
    "long_wide_word": "あ" * 3_000,
    "address": "https://example.org/" + "x" * 2_000,
    "lines": "\n" * 200 + "end",
}
"""By what is wrong with each."""


def ran(page: Page) -> bool:
    """Whether any of the texts was run in this tab."""
    return bool(page.evaluate(f"'{MARK}' in globalThis"))


def made_elements(page: Page) -> list[str]:
    """Elements with what only such a text would have brought."""
    found: list[str] = page.evaluate(
        '[...document.querySelectorAll(\'[onerror],[onload],[onfocus],[href^="javascript:"],img[src=x],'
        "body script:not([src]):not([type])')].map((each) => each.outerHTML)"
    )
    return found


def policy_violations(browser: Browser) -> list[str]:
    """What the browser refused to run or load."""
    return [
        each
        for each in browser.complaints()
        if "Content Security Policy" in each or "ContentSecurity" in each
    ]
