"""A phone of a finished experiment deletes what was recorded about it: the run stays, and says so."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from app.cli import verify
from app.store.store import Store
from tests.support.lab import room_plan, room_run
from tests.support.phone import phones
from tests.support.server import running_server

pytestmark = pytest.mark.slow


def test_a_finished_run_forgets_one_phone_and_keeps_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_server(tmp_path, recorder=0) as server:
        with phones(server, ["Red Gecko", "Blue Otter"]) as (mine, other):
            measured = room_run(server, "whole", 2, room_plan())
            assert measured.execute() is not None
            folder = measured.folder
            token = f"{mine.device}.{mine._token}"
            _status, told = server.request("GET", "/api/assignment", token=token)

            status, counts = server.request("DELETE", "/api/deliveries", token=token)
            _status, afterwards = server.request("GET", "/api/assignment", token=token)
            link, _answer = server.request("GET", f"/api{told['result_url']}")
        left = [
            path.name
            for path in folder.rglob("*")
            if path.is_file() and mine.device.encode() in path.read_bytes()
        ]
        names = json.loads((folder / "participants.json").read_text())["participants"]
        with Store.open(folder) as store:
            run = store.load()
        monkeypatch.setenv("SIAR_RUNS_DIR", str(server.runs_dir))
        verified = verify.execute(argparse.Namespace(run="whole"))

    assert status == 200
    assert counts["deliveries_count"] == 24
    assert counts["results_count"] == 1
    assert left == []
    assert [each["device"] for each in names] == [other.device]
    assert (afterwards["result_url"], afterwards["you"]["joined"], link) == (None, False, 404)
    clients = {each.client for trial in run.trials for each in trial.deliveries}
    assert clients == {each["client"] for each in names}
    assert verified == 1
    assert "1 participant had what was recorded about them deleted" in capsys.readouterr().out
