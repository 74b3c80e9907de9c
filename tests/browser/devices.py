"""Screens that people look at: a Pixel, a small phone, a desk and a projector, in either colour scheme and language."""

from __future__ import annotations

from dataclasses import dataclass

from tests.browser.cdp import Browser, Page

CHROME_MAJOR = "148"
"""Any recent one: pages do not ask."""


@dataclass(frozen=True, slots=True)
class Screen:
    """What is told to Chromium about the glass in front of it."""

    name: str
    width_px: int
    """CSS pixels, as are all lengths here."""
    height_px: int
    pixel_ratio: float
    is_touch: bool
    model: str = ""
    """What an Android phone says about itself; empty for a computer."""


PIXEL = Screen("pixel", 412, 915, 2.625, is_touch=True, model="Pixel 7")
SMALL = Screen("small", 320, 568, 2.0, is_touch=True, model="SM-J100")
DESK = Screen("desk", 1280, 800, 1.0, is_touch=False)
PROJECTOR = Screen("projector", 1920, 1080, 1.0, is_touch=False)

SCHEMES = ("light", "dark")
LANGUAGES = ("en", "id")


def new_device(
    browser: Browser, screen: Screen, *, language: str = "en", scheme: str = "light", alone: bool = True
) -> Page:
    """A tab that looks through this screen; `alone` with cookies and storage of its own, as another person's phone."""
    page = browser.new_page(alone=alone)
    look_through(page, screen)
    speak(page, screen, language)
    paint(page, scheme)
    return page


def look_through(page: Page, screen: Screen) -> None:
    """Give the tab the size, the density and the fingers of a screen."""
    page.call(
        "Emulation.setDeviceMetricsOverride",
        width=screen.width_px,
        height=screen.height_px,
        deviceScaleFactor=screen.pixel_ratio,
        mobile=screen.is_touch,
    )
    page.call("Emulation.setTouchEmulationEnabled", enabled=screen.is_touch, maxTouchPoints=5)


def paint(page: Page, scheme: str) -> None:
    """Ask for `light` or `dark`, and for no motion: colours that are still on their way are nobody's colours."""
    wanted = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
    features = [{"name": name, "value": value} for name, value in wanted.items()]
    page.call("Emulation.setEmulatedMedia", features=features)


def speak(page: Page, screen: Screen, language: str) -> None:
    """Say what the browser says of itself: its model and its person's language."""
    is_phone = bool(screen.model)
    system = f"Linux; Android 10; {screen.model}" if is_phone else "X11; Linux x86_64"
    page.call(
        "Emulation.setUserAgentOverride",
        userAgent=f"Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) "
        f"Chrome/{CHROME_MAJOR}.0.0.0 {'Mobile ' if is_phone else ''}Safari/537.36",
        acceptLanguage=language,
        userAgentMetadata={
            "brands": [{"brand": "Chromium", "version": CHROME_MAJOR}],
            "platform": "Android" if is_phone else "Linux",
            "platformVersion": "14",
            "architecture": "",
            "model": screen.model,
            "mobile": is_phone,
        },
    )


def overflow_px(page: Page) -> int:
    """By how much the page is wider than what can be seen of it; 0 when one need not scroll sideways."""
    return int(
        page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") or 0
    )
