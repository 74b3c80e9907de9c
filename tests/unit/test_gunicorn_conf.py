"""gunicorn reads its configuration anew at each SIGHUP: what the master holds must outlive that, and what is spent stay spent.

Each configuration is read in a process of its own, since it changes the environment and the limits of whoever reads it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from app.lab.run.processes import environment
from app.paths import ROOT

READ = f"""
import os, runpy, types
def read():
    return types.SimpleNamespace(**runpy.run_path({str(ROOT / "gunicorn.conf.py")!r}))
"""


def said_by(script: str, **settings: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-c", READ + script],
        env=environment(**settings),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_worker_that_begins_with_a_reload_does_not_open_the_first_link_again() -> None:
    """gunicorn calls `on_reload` before it starts the next workers, and the old ones end only behind that."""
    script = "read().on_reload(None); print(os.environ['SIAR_FIRST_LINK'])"

    assert said_by(script, SIAR_OPERATOR_KEY="k" * 22) == "0"


def test_what_workers_have_counted_outlives_a_reload() -> None:
    script = "print(read()._counters is read()._counters)"

    assert said_by(script, SIAR_WORKERS="2", SIAR_BROKER="redis://127.0.0.1:1") == "True"


def test_a_server_says_which_run_it_writes_so_that_prune_leaves_it_alone(tmp_path: Path) -> None:
    script = """
from pathlib import Path
from app.server.wsgi import server_file
read()._write_server_file()
print(server_file.read(Path(os.environ["SIAR_RUNS_DIR"])).run)
"""

    assert said_by(script, SIAR_RUNS_DIR=str(tmp_path), SIAR_RUN="lecture-3") == "lecture-3"


def test_companions_are_ended_by_a_master_that_has_reloaded_since_it_started_them() -> None:
    script = """
class Supervisor:
    def close(self):
        print("closed")
read().on_exit(types.SimpleNamespace(siar_supervisor=Supervisor()))
"""

    assert said_by(script) == "closed"


def test_a_master_that_could_not_start_has_no_companions_to_end() -> None:
    assert said_by("read().on_exit(types.SimpleNamespace()); print('ended')") == "ended"
