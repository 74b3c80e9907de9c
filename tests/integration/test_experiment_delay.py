"""A known delay is found: the instrument's accuracy, on both transports, over real sockets."""

from __future__ import annotations

import statistics
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from app.core.plan.scenario import Arm
from app.core.trial import RunRecord
from app.lab.run import runner, server_process
from app.lab.run.progress import Progress
from app.store.store import Store
from app.tools.calibrate.tcp_proxy import TcpProxy
from tests.support import lab
from tests.support.proxy import delayed

pytestmark = [pytest.mark.alone, pytest.mark.nightly]

DELAY_S = 0.050


def test_50_ms_more_from_server_to_client_are_50_ms_more_in_the_median(tmp_path: Path) -> None:
    lateness_s: list[float] = []
    with server_process.start(runs_dir=tmp_path, settings={"SIAR_RECORDER": "0"}) as started:
        port = urlsplit(started.server.url).port or 0
        with (
            TcpProxy("127.0.0.1", port) as near,
            TcpProxy("127.0.0.1", port, to_client=delayed(DELAY_S, lateness_s)) as far,
        ):
            arms = tuple(
                Arm(f"{transport}.{name}", transport, {"via": proxy.url})
                for transport in ("sse", "socketio")
                for name, proxy in (("near", near), ("far", far))
            )
            folder = runner.run_plan(
                lab.short_plan(arms=arms, blocks=2, notifications=60, rate_hz=60.0, extra_blocks_max=1),
                server=started.server,
                runs_dir=tmp_path,
                run_id="delayed",
                progress=Progress(),
            )
    assert statistics.median(lateness_s) < 0.0003
    with Store.open(folder) as store:
        run = store.load()

    for transport in ("sse", "socketio"):
        shift_ms = median_ms(run, f"{transport}.far") - median_ms(run, f"{transport}.near")
        assert shift_ms == pytest.approx(DELAY_S * 1000, abs=2.0)


def median_ms(run: RunRecord, arm: str) -> float:
    trials = [trial for trial in run.trials if trial.spec.arm.name == arm and not trial.spec.idle]
    delays_ms = [
        each.delay_ms
        for trial in trials
        for each in trial.deliveries
        if not each.warmup and each.delay_ms is not None
    ]
    assert delays_ms
    return statistics.median(delays_ms)
