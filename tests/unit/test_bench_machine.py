"""Server and swarm on cores of their own, and nobody confined to one who was not."""

from __future__ import annotations

import os
import sys

import pytest

from app.tools.bench.machine import Cores

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells where a process may run")


def test_who_started_a_server_on_its_core_may_run_afterwards_where_it_might_before() -> None:
    """The runner of `load` goes to all cores but the server's, once; every floor starts a server after that."""
    before = os.sched_getaffinity(0)
    server, swarm = min(before), max(before)

    with Cores(server, swarm).on_server_core():
        inside = os.sched_getaffinity(0)

    assert inside == {server}
    assert os.sched_getaffinity(0) == before


def test_where_there_is_one_core_only_nobody_is_moved() -> None:
    before = os.sched_getaffinity(0)

    with Cores(None, None).on_server_core():
        assert os.sched_getaffinity(0) == before

    assert os.sched_getaffinity(0) == before
