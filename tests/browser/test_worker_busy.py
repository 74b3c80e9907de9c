"""The worker's stamps do not wait for the page: with its thread busy, delays are what they were."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.browser.busy import busy
from tests.browser.cdp import Page, running_browser
from tests.browser.test_page import open_page, publish, start, stop, stored_samples
from tests.components import require_chromium
from tests.support.server import RunningServer, running_server

pytestmark = [pytest.mark.alone, pytest.mark.browser, pytest.mark.nightly]

ROUNDS = 5
COUNT = 40
SHIFT_MS_MAX = 2.0
"""The issue's own number."""

BUSY_SHARE_MIN = 0.7


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with running_server(tmp_path) as running:
        yield running


def median_delay_ms(samples: list[dict[str, Any]], ids: list[str]) -> float:
    """Of these notifications, as the worker timed them."""
    return statistics.median(
        (each["received_client_us"] + each["clock_offset_us"] - each["due_us"]) / 1000
        for each in samples
        if each["id"] in ids
    )


def rounds(page: Page, server: RunningServer) -> Iterator[tuple[list[str], list[str], float]]:
    """The ids of a quiet stretch and of a busy one, which comes first every other time; and how busy it was."""
    quiet: list[str] = []
    loud: list[str] = []
    loud_share = 0.0
    for number in range(ROUNDS):
        for is_busy in (False, True) if number % 2 else (True, False):
            load: AbstractContextManager[list[float]] = busy(page) if is_busy else nullcontext([])
            with load as share:
                ids = publish(server, COUNT)
            if is_busy:
                loud, loud_share = ids, share[0]
            else:
                quiet = ids
        page.wait_for(f"siar.worker.tallies.sse.received_count === {2 * COUNT * (number + 1)}")
        yield quiet, loud, loud_share


def test_a_page_that_is_busy_75_percent_of_the_time_moves_the_median_by_less_than_2_ms(
    server: RunningServer,
) -> None:
    with running_browser(require_chromium()) as browser:
        page = open_page(browser, server)
        start(page, "sse")
        played = list(rounds(page, server))
        stop(page)
        samples = stored_samples(server, [each for quiet, loud, _ in played for each in quiet + loud])

    shifts_ms = [
        median_delay_ms(samples, loud) - median_delay_ms(samples, quiet) for quiet, loud, _ in played
    ]

    assert min(share for _, _, share in played) >= BUSY_SHARE_MIN
    assert abs(statistics.median(shifts_ms)) < SHIFT_MS_MAX, shifts_ms
