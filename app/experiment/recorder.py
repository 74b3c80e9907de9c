"""The only writer of a live run's store: `python -P -m app.experiment.recorder --folder runs/<live run>`.

The server appends what phones post to the run's spool and does nothing else on disk; this process takes it from
there about once a second. It ends, after a last look, when its standard input ends or at SIGTERM.
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from app.core.errors import SiarError
from app.core.scenario import LIVE_PROFILE, Plan, arms_from_names
from app.core.wire import TRANSPORTS
from app.experiment import naming, spool
from app.measure import host
from app.measure.store import FILE_NAME, RunHead, Store

PERIOD_S = 1.0


def live_plan() -> Plan:
    """What stands for a plan in a live run, which has no trials: phones come and go as they like."""
    return Plan(
        arms=arms_from_names(list(TRANSPORTS)),
        client_counts=(1,),
        blocks=1,
        notifications=1,
        warmup_notifications=0,
        rate_hz=1.0,
        payload_bytes=512,
        seed=0,
        profile=LIVE_PROFILE,
        environment="lan",
    )


def open_live(folder: Path) -> Store:
    """The store in `folder`; made when the server has made the folder but nobody the store."""
    if (folder / FILE_NAME).exists():
        return Store.open(folder, write=True)
    head = RunHead(
        id=folder.name,
        started=naming.utc_now(),
        plan=live_plan(),
        conditions=host.conditions(settings={}, server={}),
        simulated=False,
    )
    return Store.create(folder, head, folder_exists=True)


def record(folder: Path, *, input_fd: int, wake_fd: int) -> None:
    """Take the spool in until `input_fd` or `wake_fd` says that it is over."""
    with open_live(folder) as store:
        while True:
            spool.ingest(store)
            ready, _, _ = select.select([input_fd, wake_fd], [], [], PERIOD_S)
            if wake_fd in ready or (input_fd in ready and not os.read(input_fd, 4096)):
                break
        spool.ingest(store)


def main(arguments: Sequence[str]) -> int:
    """Run until told to end."""
    parser = argparse.ArgumentParser(prog="recorder", description="Takes a live run's spool into its store.")
    parser.add_argument("--folder", type=Path, required=True)
    folder: Path = parser.parse_args(arguments).folder
    wake_fd, signal_fd = os.pipe()
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C reaches the server, which ends this process in order.
    signal.signal(signal.SIGTERM, lambda *_: os.write(signal_fd, b"."))
    try:
        record(folder, input_fd=sys.stdin.fileno(), wake_fd=wake_fd)
    except SiarError as error:
        print(f"siar recorder: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
