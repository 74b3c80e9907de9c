"""For every test in which something dies: nothing of it is left behind."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.orphans import left_in


@pytest.fixture(autouse=True)
def _no_process_is_left(tmp_path: Path) -> Iterator[None]:
    """Servers of these tests run in the test's own folder, and with them whatever they start."""
    yield
    if sys.platform == "linux":
        assert left_in(tmp_path) == []
