"""Pictures of pages, each named after what it shows: `screen-lobby.id.dark.projector.png`."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.browser.cdp import Page
from tests.browser.devices import DESK, PIXEL, PROJECTOR, SCHEMES, Screen, look_through, paint

HEIGHT_PX_MAX = 8_000
"""A page that is longer is cut: nobody looks that far."""


@dataclass(slots=True)
class Gallery:
    """A folder of pictures."""

    folder: Path
    taken: list[Path] = field(default_factory=list)

    def take(
        self,
        page: Page,
        scene: str,
        *,
        language: str,
        screens: Sequence[Screen],
        schemes: Sequence[str] = SCHEMES,
    ) -> None:
        """The page as it is now, through every screen and in every scheme; left as it looks in the last of them."""
        for screen in screens:
            look_through(page, screen)
            for scheme in schemes:
                paint(page, scheme)
                path = self.folder / f"{scene}.{language}.{scheme}.{screen.name}.png"
                path.write_bytes(picture(page))
                self.taken.append(path)


README_SCENES: dict[str, tuple[str, Screen]] = {
    "screen-lobby": ("lobby", PROJECTOR),
    "phone-lobby": ("phone", PIXEL),
    "admin-lobby": ("admin", DESK),
    "screen-finished": ("result", PROJECTOR),
}
"""What README and docs show, under which name and through which screen: in English, in the light."""

README_WIDTH_PX_MAX = 960


class ReadmePictures(Gallery):
    """A few small ones of what is seen without scrolling, instead of all."""

    def take(
        self,
        page: Page,
        scene: str,
        *,
        language: str,
        screens: Sequence[Screen],
        schemes: Sequence[str] = SCHEMES,
    ) -> None:
        """The page as WebP, if README or docs show it."""
        if scene not in README_SCENES or language != "en":
            return
        name, screen = README_SCENES[scene]
        look_through(page, replace(screen, pixel_ratio=min(1.0, README_WIDTH_PX_MAX / screen.width_px)))
        paint(page, "light")
        path = self.folder / f"{name}.webp"
        shot = page.call("Page.captureScreenshot", format="webp", quality=README_QUALITY)
        path.write_bytes(base64.b64decode(shot["data"]))
        self.taken.append(path)


README_QUALITY = 80
"""Percent; text stays sharp."""


def picture(page: Page) -> bytes:
    """The whole page as PNG, with what one would have to scroll to."""
    size = page.call("Page.getLayoutMetrics")["cssContentSize"]
    height_px = min(size["height"], HEIGHT_PX_MAX)
    clip = {"x": 0, "y": 0, "width": size["width"], "height": height_px, "scale": 1}
    shot = page.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
    return base64.b64decode(shot["data"])


def contact_sheet(paths: Sequence[Path]) -> str:
    """A page that shows all pictures of a folder side by side, to look through."""
    figures = "\n".join(_figure(path) for path in sorted(paths))
    return f"""<!doctype html>
<meta charset="utf-8">
<title>Siar, every screen</title>
<style>
  body {{ display: flex; flex-wrap: wrap; gap: 1rem; background: #888; font: 14px sans-serif }}
  figure {{ margin: 0 }}
  img {{ width: 16rem; vertical-align: top }}
</style>
{figures}
"""


def _figure(path: Path) -> str:
    return (
        f'<figure><a href="{path.name}"><img src="{path.name}" alt="" loading="lazy"></a>'
        f"<figcaption>{path.stem}</figcaption></figure>"
    )
