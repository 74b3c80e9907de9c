"""Server and swarm on cores of their own, and nobody confined to one who was not."""

from __future__ import annotations

import os
import sys

import pytest

from app.tools.bench.machine import Cores

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells where a process may run")


def test_starting_a_server_on_its_core_keeps_the_callers_own_affinity() -> None:
    """The runner of `load` goes to all cores but the server's, once; every floor starts a server after that."""
    before = os.sched_getaffinity(0)
    server, swarm = min(before), max(before)

    with Cores(server, swarm).on_server_core():
        inside = os.sched_getaffinity(0)

    assert inside == {server}
    assert os.sched_getaffinity(0) == before


def test_with_a_single_core_no_process_is_moved() -> None:
    before = os.sched_getaffinity(0)

    with Cores(None, None).on_server_core():
        assert os.sched_getaffinity(0) == before

    assert os.sched_getaffinity(0) == before
