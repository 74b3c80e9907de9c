"""Writing a file whole or not at all, whatever stands where it should go."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TextIO

import pytest

from app.core.errors import StoreError
from app.lab.report.atomic_files import write_atomically


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
