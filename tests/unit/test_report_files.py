"""Writing a file whole or not at all, whatever stands where it should go, and the files of a report once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TextIO

import pytest

from app.cli import measuring
from app.core.errors import StoreError
from app.lab.report.atomic_files import write_atomically
from tests.unit.support_run import RunMaker, a_plan, store_run


def test_a_failure_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text("old")

    def fail(file: TextIO) -> None:
        file.write("half")
        raise ValueError("the writer's own")

    with pytest.raises(ValueError, match="the writer's own"):
        write_atomically(path, fail)

    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")

    write_atomically(tmp_path / "link.json", lambda file: file.write("new"))

    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_text() == "new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(tmp_path / "pipe", lambda file: file.write("through"))
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert not (tmp_path / "pipe").is_file()


def test_a_folder_or_a_place_that_does_not_exist_is_a_sentence(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no" / "where.json"):
        with pytest.raises(StoreError, match="cannot be written"):
            write_atomically(path, lambda file: file.write("x"))


def test_the_files_of_a_run_that_is_analysed_already_are_not_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = store_run(RunMaker(a_plan(blocks=1, client_counts=(1,), notifications=3)).run(), tmp_path)
    analysis = measuring.load(folder)
    ending = measuring.Ending("en", is_verbose=True, json_path=tmp_path / "also.json")
    monkeypatch.setattr(measuring, "write_all", None)
    monkeypatch.setattr(measuring, "load", None)

    assert measuring.report(folder, ending, analysis) is analysis

    assert (tmp_path / "also.json").read_bytes() == (folder / "result.json").read_bytes()
    said = capsys.readouterr().out
    assert f"Report            {folder / 'report.html'}   ./siar open" in said
    assert "Beside it         result.json, deliveries.csv, trials.csv, clients.csv\n" in said
