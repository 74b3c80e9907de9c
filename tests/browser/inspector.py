"""Looks at pages as the photographer's guests see them, and writes down what is wrong instead of taking pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.browser.axe import violations
from tests.browser.cdp import Page
from tests.browser.devices import SCHEMES, Screen, look_through, overflow_px, paint

TOUCH_PX_MIN = 48
"""The issue's own number: what a thumb hits."""

SMALL_TARGETS = f"""
[...document.querySelectorAll("button, summary, select, textarea, input, label:has(input[type=radio])")]
  .filter((each) => each.checkVisibility() && !["radio", "checkbox"].includes(each.type))
  .map((each) => [each, each.getBoundingClientRect()])
  .filter(([, {{height, width}}]) => height < {TOUCH_PX_MIN} || width < {TOUCH_PX_MIN})
  .map(([each, {{height, width}}]) => `${{each.tagName}}#${{each.id}} ${{each.innerText}}: ${{width}} x ${{height}}`)
"""


@dataclass(slots=True)
class Inspector:
    """Takes the place of a gallery."""

    axe: str
    """The source of axe-core."""
    wrong: list[str] = field(default_factory=list)
    """What was found, each with the scene."""
    scenes: set[str] = field(default_factory=set)

    def take(
        self,
        page: Page,
        scene: str,
        *,
        language: str,
        screens: Sequence[Screen],
        schemes: Sequence[str] = SCHEMES,
    ) -> None:
        """Look through every screen whether it fits, and in every scheme whether all can use it."""
        self.scenes.add(scene)
        for screen in screens:
            look_through(page, screen)
            found = []
            if too_wide_px := overflow_px(page):
                found.append(f"{too_wide_px} px wider than the screen")
            if screen.is_touch:
                found += page.evaluate(SMALL_TARGETS)
            self._note(found, f"{scene}.{language}.{screen.name}")
        for scheme in schemes:
            paint(page, scheme)
            self._note(violations(page, self.axe), f"{scene}.{language}.{scheme}")

    def _note(self, found: Sequence[str], where: str) -> None:
        self.wrong += [f"{where}: {each}" for each in found]
