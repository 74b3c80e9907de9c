"""The wish that no processor sleeps: taken while a block lasts, and told where it cannot be had."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from app.tools.bench.machine import kept_awake


def descriptors_of(path: Path) -> list[str]:
    """Which of this process's descriptors are this file."""
    here = Path("/proc/self/fd")
    return [each.name for each in here.iterdir() if each.exists() and os.path.realpath(each) == str(path)]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux tells open files so")
def test_the_wish_is_zero_microseconds_and_held_open_as_long_as_the_block_lasts(tmp_path: Path) -> None:
    wish = tmp_path / "cpu_dma_latency"
    wish.touch()

    with kept_awake(device=wish) as is_awake:
        assert is_awake
        assert struct.unpack("=i", wish.read_bytes()) == (0,)
        assert len(descriptors_of(wish)) == 1

    assert descriptors_of(wish) == []


def test_a_system_without_such_a_file_is_told_and_no_reason_to_stop(tmp_path: Path) -> None:
    with kept_awake(device=tmp_path / "missing") as is_awake:
        assert not is_awake
