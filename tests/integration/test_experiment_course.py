"""A real trial leaves behind how it went: connections that stood, broke and came back, and CPU by the second."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from app.core.plan.scenario import Arm
from app.lab.analysis.analyse import analyse
from app.lab.analysis.descriptive.arm_rows import descriptive_rows
from app.lab.analysis.descriptive.timeline import recoveries_of
from app.lab.run import runner, server_process
from app.lab.run.progress import Progress
from app.store.store import Store
from app.tools.calibrate.tcp_proxy import TcpProxy
from tests.support import lab
from tests.support.proxy import calling_at

pytestmark = pytest.mark.slow

AWAY_S = 0.3


@pytest.mark.parametrize("transport", ["sse", "socketio"])
def test_a_cut_connection_is_there_twice_and_its_recovery_holds_the_time_away(
    tmp_path: Path, transport: str
) -> None:
    with server_process.start(runs_dir=tmp_path, settings={"SIAR_RECORDER": "0"}) as started:
        port = urlsplit(started.server.url).port or 0
        cut_once = calling_at(60, lambda: proxy.cut(away_s=AWAY_S))
        with TcpProxy("127.0.0.1", port, to_client=cut_once) as proxy:
            folder = runner.run_plan(
                lab.short_plan(
                    arms=(Arm("far", transport, {"via": proxy.url}),), notifications=100, drain_s=20.0
                ),
                server=started.server,
                runs_dir=tmp_path,
                run_id="cut",
                progress=Progress(),
            )
    with Store.open(folder) as store:
        run = store.load()

    (trial,) = [each for each in run.trials if not each.spec.idle]
    assert trial.timeline is not None
    assert sorted((each.client, each.place) for each in trial.timeline.openings) == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
    ]
    for each in trial.timeline.openings:
        assert each.connected_us is not None
        assert each.first_byte_us is not None
        assert each.ready_us is not None
        assert each.began_us <= each.connected_us <= each.first_byte_us <= each.ready_us
        assert (each.lost_us is None) == (each.place == 1)
    assert len(recoveries_of(trial)) == 2
    assert min(recoveries_of(trial)) >= AWAY_S * 1000
    assert trial.timeline.cpu_seconds
    assert all(each.process_s is not None for each in trial.timeline.cpu_seconds)
    (row,) = descriptive_rows(analyse(run))
    assert (row.course.breaks, row.course.connections) == (2, 2)
    assert row.replayed > 0
