"""An export whose machine is called like a word of the plan, of a load run, and onto a disk that is full."""

from __future__ import annotations

import errno
import json
import shutil
import socket
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.core.errors import Conflict, StoreError
from app.lab.report.exchange.exporter import export_folder, export_zip
from app.store.store import Store
from tests.unit.support_run import RunMaker, a_plan, store_run

Export = Callable[[Path, Path], Path]

CERTIFICATE = "certificate verify failed: Hostname mismatch, certificate is not valid for 'attic.lan'."


def a_stored_run(folder: Path) -> Path:
    run = RunMaker(a_plan(client_counts=(1,), blocks=1, notifications=3)).run()
    return store_run(replace(run, conditions={**run.conditions, "node": socket.gethostname()}), folder)


@pytest.mark.parametrize("name", ["loopback", "demo", "sse", "ok", "on_time"])
def test_a_machine_called_like_a_word_of_the_run_leaves_a_run_that_can_be_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: name)
    run = a_stored_run(tmp_path)

    given = export_folder(run, tmp_path / "given")

    with Store.open(run) as before, Store.open(given) as after:
        assert after.load().plan == before.load().plan
        assert after.load().trials == before.load().trials
        assert after.load().conditions["node"] == "host-1"


def test_why_users_of_a_load_run_were_not_let_in_names_no_machine(tmp_path: Path) -> None:
    run = a_stored_run(tmp_path)
    lines: list[dict[str, Any]] = [
        {"kind": "load", "gates": []},
        {"kind": "trial", "arm": "sse", "failures": {CERTIFICATE: 3}},
        {"kind": "floor", "troubles": [f"3 failed (3 x {CERTIFICATE})"]},
    ]
    text = "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in lines)
    (run / "load.jsonl").write_text(text)
    (run / "load.html").write_text(f"<p>3 x {CERTIFICATE}</p>")

    given = export_folder(run, tmp_path / "given")

    stand_in = json.loads((given / "load.jsonl").read_text().splitlines()[2])["troubles"][0].split("'")[1]
    assert stand_in.startswith("host-")
    assert (given / "load.jsonl").read_text() == text.replace("attic.lan", stand_in)
    assert (given / "load.html").read_text() == f"<p>3 x {CERTIFICATE}</p>".replace("attic.lan", stand_in)


@pytest.mark.parametrize(("export", "copies"), [(export_folder, "copyfile"), (export_zip, "copyfileobj")])
def test_an_export_that_the_disk_has_no_room_for_leaves_nothing_in_the_way_of_the_next(
    export: Export, copies: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, target = a_stored_run(tmp_path), tmp_path / "given"
    copy = getattr(shutil, copies)

    def copy_until_full(source: Any, *more: Any) -> Any:
        path = Path(source.name if hasattr(source, "read") else source)
        if (
            path.is_absolute()
            and path.parts[-2:] == (run.name, "run.sqlite")
            and "siar-export" in path.parts[-3]
        ):
            raise OSError(errno.ENOSPC, "No space left on device")
        return copy(source, *more)

    with monkeypatch.context() as full:
        full.setattr(shutil, copies, copy_until_full)
        with pytest.raises(StoreError, match="No space left"):
            export(run, target)

    assert not target.exists()
    export(run, target)
    with pytest.raises(Conflict, match="exists already"):
        export(run, target)
    assert target.is_dir() or zipfile.is_zipfile(target)
