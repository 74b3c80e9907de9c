"""Which server of a folder is named: the one that began last, and after its end one that still runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.errors import Unfit
from app.serving import server_file
from app.serving.server_file import ServerFile


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
