"""Which server of a folder is named: the one that began last, and after its end one that still runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.errors import Unfit
from app.server.wsgi import server_file
from app.server.wsgi.server_file import ServerFile


def test_a_server_is_found_again_when_a_second_one_has_ended(tmp_path: Path) -> None:
    first = ServerFile("http://127.0.0.1:1", "first", os.getpid(), run="live-1")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        server_file.write(tmp_path, first)
        server_file.write(tmp_path, ServerFile("http://127.0.0.1:2", "second", process.pid))
        assert server_file.read(tmp_path).token == "second"

        server_file.remove(tmp_path, pid=process.pid)
        process.kill()

    assert server_file.read(tmp_path) == first
    server_file.remove(tmp_path, pid=os.getpid())
    with pytest.raises(Unfit):
        server_file.read(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_file_of_a_killed_server_goes_at_the_next_start_and_a_strange_one_stays(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        server_file.write(tmp_path, ServerFile("http://127.0.0.1:2", "token of the killed", process.pid))
        process.kill()
    strange = tmp_path / f"{server_file.FILE_NAME}.7"
    strange.write_text('{"notes": "of somebody"}')

    server_file.write(tmp_path, ServerFile("http://127.0.0.1:1", "new", os.getpid()))

    texts = [path.read_text() for path in tmp_path.iterdir()]
    assert strange.exists()
    assert not any("token of the killed" in text for text in texts)
