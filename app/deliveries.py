"""Devices that measure, and the spool into which their batches go until the run's recorder takes them.

The server appends, off the event loop; the recorder (or the runner) is the only writer of the store.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import hmac
import json
import logging
import os
import secrets
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

from app import clock
from app.catalogues import refusal
from app.core.errors import SiarError
from app.serving.offload import blocking

logger = logging.getLogger("siar.deliveries")

BATCHES_REMEMBERED_MAX = 10_000
"""Repeats are told apart here while they are fresh; the store's unique key has the last word."""


SECRET_FILE = ".devices.key"
SECRET_BYTES = 32

COOKIE = "siar_device"
"""A device's identity, valid for both transports."""


DEVICES_COUNTED_MAX = 10_000
"""Devices whose bytes are counted, over all runs; beyond it the one that posted longest ago is forgotten."""

FORGOTTEN_MAX = 10_000
"""Devices. A phone posts what its outbox holds within seconds of hearing from its server."""


class SpoolFull(SiarError):
    """A run's spool has reached its bound."""


class DeviceFull(SiarError):
    """A device has posted as much to a run as one may."""


class Devices:
    """Device ids and the tokens that prove them: no device is kept, so that nothing grows.

    token = HMAC-SHA256(secret, device id). The secret lies beside the runs, so that a phone is who it was when the
    server has been restarted.
    """

    def __init__(self, runs_dir: Path) -> None:
        self._runs_dir = runs_dir

    @functools.cached_property
    def _secret(self) -> bytes:
        """Looked for when the first device comes: a server that nobody visits leaves nothing on the disk."""
        try:
            return blocking(kept_secret, self._runs_dir / SECRET_FILE)
        except OSError as error:
            logger.warning("Devices will be strangers after a restart: %s.", error)
            return secrets.token_bytes(SECRET_BYTES)

    def register(self) -> tuple[str, str]:
        """A new device and its token."""
        device = f"d-{secrets.token_hex(8)}"
        return device, self._token(device)

    def is_genuine(self, device: str, token: str) -> bool:
        """Whether `token` was given to `device`; in constant time."""
        return hmac.compare_digest(self._token(device).encode(), token.encode())

    def from_cookie(self, value: str | None) -> str | None:
        """The device that a cookie `<device>.<token>` proves, or `None`."""
        device, _, token = (value or "").partition(".")
        return device if token and self.is_genuine(device, token) else None

    def _token(self, device: str) -> str:
        return hmac.new(self._secret, device.encode(), hashlib.sha256).hexdigest()


def kept_secret(path: Path) -> bytes:
    """The secret in `path`, made when there is none, for this user's eyes only. Raises `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(SECRET_BYTES))
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)  # Whole or not at all, and the first of several servers wins.
    finally:
        draft.unlink()
    found = path.read_bytes()
    if len(found) != SECRET_BYTES:
        raise OSError(errno.EINVAL, f"{path} is damaged; delete it")
    return found


class Forgotten:
    """Who had deleted what was recorded about it, and when: a phone's outbox may hold more of it at that moment."""

    def __init__(self) -> None:
        self._at_us: dict[str, int] = {}
        """Server time by device, oldest first."""

    def note(self, device: str, now_us: int) -> None:
        """Everything about `device` until now has been deleted."""
        self._at_us.pop(device, None)
        self._at_us[device] = now_us
        if len(self._at_us) > FORGOTTEN_MAX:
            del self._at_us[next(iter(self._at_us))]

    def wanted(self, device: str, samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Those of notifications that were sent since."""
        at_us = self._at_us.get(device, 0)
        return [each for each in samples if each["sent_us"] >= at_us]


class Spool:
    """One file of JSON lines per run: `<runs_dir>/<run>/spool.jsonl`."""

    def __init__(self, runs_dir: Path, *, bytes_max: int, device_bytes_max: int) -> None:
        self._runs_dir = runs_dir
        self._bytes_max = bytes_max
        self._device_bytes_max = device_bytes_max
        self._posted_bytes: OrderedDict[tuple[str, str], int] = OrderedDict()
        """By run and device. Runs end with this process, so that nothing is lost when it does."""
        self._batches: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._lock = threading.Lock()

    def accept(self, run: str, device: str, batch: dict[str, Any]) -> bool:
        """Append a batch; `False` when it has been here before. Raises `DeviceFull`, `SpoolFull`, `OSError`.

        When this returns the batch is in the file: what was acknowledged survives the end of this process.
        """
        key = (device, batch["batch_id"])
        line = json.dumps(
            {"received_us": clock.now_us(), "device": device, "batch": batch},
            separators=(",", ":"),
            allow_nan=False,
        )
        with self._lock:  # A repeat waits until the first is in the file: if that fails, it must be taken.
            if key in self._batches:
                return False
            posted_bytes = self._posted_bytes.get((run, device), 0) + len(line) + 1
            if posted_bytes > self._device_bytes_max:
                raise DeviceFull(refusal("device_full", count=self._device_bytes_max))
            blocking(self._append, run, line.encode() + b"\n")
            self._count(run, device, posted_bytes)
            self._batches[key] = None
            if len(self._batches) > BATCHES_REMEMBERED_MAX:
                self._batches.popitem(last=False)
        return True

    def _count(self, run: str, device: str, posted_bytes: int) -> None:
        self._posted_bytes[run, device] = posted_bytes
        self._posted_bytes.move_to_end((run, device))
        if len(self._posted_bytes) > DEVICES_COUNTED_MAX:
            self._posted_bytes.popitem(last=False)

    def _append(self, run: str, line: bytes) -> None:
        folder = self._runs_dir / run
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / "spool.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            size = os.fstat(handle).st_size
            if size + len(line) > self._bytes_max:
                raise SpoolFull(refusal("spool_full"))
            if os.write(handle, line) != len(line):  # the disk is full: leave no torn line behind
                os.ftruncate(handle, size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(handle)
