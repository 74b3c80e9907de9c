"""The factor `broker` of an arm: what the way over Redis costs, in one interleaved run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from app.core.errors import Malformed
from app.lab.run import processes
from app.paths import ROOT
from app.store.plans import check_for_built_in, check_for_phones, load_plan, plan_of_values
from tests.support.redis_server import redis_server


def plan_text(broker: str) -> str:
    return f"""
client_counts = [2]
blocks = 1
extra_blocks_max = 0
notifications = 20
rate_hz = 50.0
instrument = false
arms = [
  {{ name = "in the process", transport = "sse", broker = "memory://" }},
  {{ name = "Redis", transport = "sse", broker = "{broker}" }},
]
"""


@pytest.mark.slow
def test_a_run_measures_each_arm_on_a_server_with_its_broker_and_leaves_redis_empty(tmp_path: Path) -> None:
    with redis_server(tmp_path / "redis") as redis:
        redis.command("SET", "somebody", "else's")
        (tmp_path / "plan.toml").write_text(plan_text(redis.url))
        done = subprocess.run(
            processes.python_module("app", "run", "plan.toml", "--json", "result.json"),
            env=processes.environment(),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=180,
        )
        keys = redis.command("KEYS", "*")
        writes = redis.command("INFO", "commandstats")

    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["totals"]["delivered"] == result["totals"]["expected"] > 0
    assert "cmdstat_xadd:" in writes, "one arm went over Redis"
    assert keys == "*1\r\n$8\r\nsomebody\r\n"


@pytest.mark.parametrize("broker", ["redis://", "nowhere", "redis://:hunter2@h", 7])
def test_a_broker_that_is_none_or_tells_a_password_is_no_factor(broker: object) -> None:
    with pytest.raises(Malformed) as refused:
        plan_of_values({"arms": [{"transport": "sse", "broker": broker}]}, seed=0)

    assert "hunter2" not in str(refused.value)


def test_a_broker_is_a_factor_for_built_in_clients_only() -> None:
    plan = plan_of_values({"arms": [{"transport": "sse", "broker": "redis://h"}]}, seed=0)

    check_for_built_in(plan)
    with pytest.raises(Malformed, match="broker"):
        check_for_phones(plan)


def test_the_plan_in_deploy_can_be_run() -> None:
    check_for_built_in(load_plan(ROOT / "deploy" / "plans" / "redis.toml"))
