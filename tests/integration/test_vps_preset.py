"""`./siar load --preset vps`: the VPS study's experiment on a Redis and servers of its own."""

from __future__ import annotations

import json
from pathlib import Path

import psutil
import pytest

from app import clock
from app.lab.run.api import Server
from app.tools.bench.machine import Cores
from app.tools.bench.own_redis import RedisHere, own_redis
from app.tools.load.probe_line import KIND, ProbeLine
from app.tools.load.probing import Probes
from tests.components import require_tool
from tests.support.commands import siar
from tests.support.followers import wait_for
from tests.support.redis_server import shared_redis
from tests.support.server import ADMIN_TOKEN, ServerSettings, free_port, running_server


def server_at(url: str) -> Server:
    return Server(url, ADMIN_TOKEN, None, {})


def shared() -> RedisHere:
    redis = shared_redis()
    assert redis.process is not None
    return RedisHere(redis.port, redis.process.pid)


def test_who_asks_for_nothing_that_answers_counts_failures_with_their_denominator() -> None:
    probes = Probes(server_at(f"http://127.0.0.1:{free_port()}"), shared())
    wait_for(lambda: probes.min_count() >= 2, probes.failures)

    probed = probes.end()

    assert probed.asked == probed.failed >= 2
    assert set(probed.failures) == {"ConnectionRefusedError"}
    assert probed.loop_failures > 0
    assert probed.loop_us == ()
    assert probed.ping_us


@pytest.mark.nightly
def test_answers_are_told_apart_by_what_the_cache_did_and_stamps_are_of_one_clock(tmp_path: Path) -> None:
    broker = f"{shared_redis().url}?prefix=probes-{free_port()}"
    anchor: ServerSettings = {"anchor_us": clock.anchor_us(), "timebase": clock.timebase()}
    with running_server(tmp_path, broker=broker, history_cache_ttl_s=60, **anchor) as server:
        probes = Probes(server_at(server.url), shared())
        wait_for(lambda: probes.answered("hit") >= 3 and probes.min_count() >= 1, probes.failures)
        server.publish()
        wait_for(lambda: probes.answered("miss") >= 1, probes.failures)
        probed = probes.end()

    assert {"hit", "miss"} <= set(probed.answers_us)
    assert sum(map(len, probed.answers_us.values())) == probed.asked - probed.failed
    assert probed.in_server_s["hit"][0] >= 3
    # From our asking to the server's stamp: no less than nothing, and seconds at most, since both are of one clock.
    assert probed.loop_us
    assert all(0 <= us < 60_000_000 for us in probed.loop_us)


def test_the_runs_own_redis_ends_with_it() -> None:
    require_tool("redis-server", "redis-server")

    with own_redis(Cores(None, None)) as redis:
        name = psutil.Process(redis.pid).name()

    assert "server" in name
    assert not psutil.pid_exists(redis.pid)


@pytest.mark.alone
@pytest.mark.nightly
def test_the_preset_measures_all_three_configurations_and_fills_both_tables(tmp_path: Path) -> None:
    require_tool("redis-server", "redis-server")

    done = siar(
        tmp_path,
        *("load", "--preset", "vps", "--quick", "--blocks", "1", "--users", "6", "--rate", "5"),
        *("--seed", "3", "--json", "load.json", "--gate", "duplicates==0"),
        timeout_s=500,
    )

    assert (tmp_path / "load.json").is_file(), done.stderr
    result = json.loads((tmp_path / "load.json").read_text())
    # Nothing but the verdict depends on whether the machine was quiet.
    assert done.returncode == (0 if result["load"]["valid"] else 3), done.stdout
    levels = {each["arm"].split()[0]: each for each in result["load"]["levels"]}
    assert set(levels) == {"C1", "C2", "C3"}
    assert {each["expected"] / each["trials"] for each in levels.values()} == {6 * 15}
    assert {each["duplicates"] for each in levels.values()} == {0}
    study = result["load"]["study"]
    assert len(study["hops"]) == 12
    assert [each["title"] for each in study["tables"]] == [
        "Table 3: stress, 6 users",
        "Table 4: HTTP cache, 6 users",
    ]
    lines = (tmp_path / "runs" / result["run"]["id"] / "load.jsonl").read_text().splitlines()
    for line in (ProbeLine.from_json(each) for each in map(json.loads, lines) if each["kind"] == KIND):
        assert line.probed.asked > 0
        assert line.probed.ping_us
        assert line.probed.loop_us
        outcomes = {"hit", "miss", "bypass"} if line.arm.startswith("C3") else {"none"}
        assert set(line.probed.answers_us) <= outcomes
    assert siar(tmp_path, "verify", result["run"]["id"]).returncode == 0
    again = siar(
        tmp_path, "load", "--again", result["run"]["id"], "--gate", "lost==0", "--lang", "id", "--verbose"
    )
    assert "Biaya jalan lewat Redis" in again.stdout
    assert "Table 4" not in again.stdout
