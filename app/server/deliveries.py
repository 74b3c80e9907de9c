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
from app.core.errors import SiarError
from app.core.units import ServerUs
from app.i18n import refusal
from app.server.wsgi.offload import blocking
from app.store.run_folder import make_folder

logger = logging.getLogger("siar.deliveries")

BATCHES_REMEMBERED_MAX = 10_000
"""Repeats are told apart here while they are fresh; the store's unique key has the last word."""


SECRET_FILE = ".devices.key"
SECRET_BYTES = 32

COOKIE = "siar_device"
"""A device's identity, valid for both transports."""


COUNTED_MAX = 10_000
"""Devices, and networks, whose bytes are counted, over all runs; beyond it the one that posted longest ago is forgotten."""

FORGOTTEN_MAX = 10_000
"""Devices. A phone posts what its outbox holds within seconds of hearing from its server."""


class SpoolFull(SiarError):
    """A run's spool has reached its bound."""


class DeviceFull(SiarError):
    """A device has posted as much to a run as one may."""


class NetworkFull(SiarError):
    """The devices of one network address have posted as much to a run as those of one may."""


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

    def note(self, device: str, now_us: ServerUs) -> None:
        """Everything about `device` until now has been deleted."""
        self._at_us.pop(device, None)
        self._at_us[device] = now_us
        if len(self._at_us) > FORGOTTEN_MAX:
            del self._at_us[next(iter(self._at_us))]

    def wanted(self, device: str, samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Those of notifications that were sent since."""
        at_us = self._at_us.get(device, 0)
        return [each for each in samples if each["sent_us"] >= at_us]


class PostedBytes:
    """How much was posted to each run, by whom. Runs end with this process, so that nothing is lost when it does."""

    def __init__(self) -> None:
        self._bytes: OrderedDict[tuple[str, str], int] = OrderedDict()

    def of(self, run: str, who: str) -> int:
        """So far."""
        return self._bytes.get((run, who), 0)

    def add(self, run: str, who: str, more_bytes: int) -> None:
        """Note so many more."""
        self._bytes[run, who] = self.of(run, who) + more_bytes
        self._bytes.move_to_end((run, who))
        if len(self._bytes) > COUNTED_MAX:
            self._bytes.popitem(last=False)


class Spool:
    """One file of JSON lines per run: `<runs_dir>/<run>/spool.jsonl`."""

    def __init__(
        self, runs_dir: Path, *, bytes_max: int, device_bytes_max: int, network_bytes_max: int
    ) -> None:
        self._runs_dir = runs_dir
        self._bytes_max = bytes_max
        self._device_bytes_max = device_bytes_max
        self._network_bytes_max = network_bytes_max
        self._of_devices = PostedBytes()
        self._of_networks = PostedBytes()
        self._forgotten = Forgotten()
        self._batches: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._lock = threading.Lock()

    def wanted(self, device: str, samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Those of notifications that were sent since the device had itself deleted."""
        return self._forgotten.wanted(device, samples)

    def forget(self, device: str, now_us: ServerUs) -> None:
        """Take nothing more of `device` from before now. What was being appended is in the file when this returns."""
        with self._lock:
            self._forgotten.note(device, now_us)

    def accept(
        self, run: str, device: str, batch: dict[str, Any], *, network: str | None
    ) -> list[dict[str, Any]] | None:
        """Append a batch; the samples of it that were wanted, or `None` when it has been here before.

        A batch of whose samples none is wanted is not appended. `network`: where it comes from, `None` for what is
        not counted by that. Raises `DeviceFull`, `NetworkFull`, `SpoolFull`, `OSError`.
        When this returns the batch is in the file: what was acknowledged survives the end of this process.
        """
        key = (device, batch["batch_id"])
        with self._lock:  # A repeat waits until the first is in the file: if that fails, it must be taken.
            if key in self._batches:
                return None
            # Not before the lock: a deletion that came while we waited for it has been through the file already.
            samples = self.wanted(device, batch.get("samples", []))
            if batch.get("samples") and not samples:
                return samples
            line = _line(device, {**batch, "samples": samples})
            self._check_share(run, device, network, len(line))
            blocking(self._append, run, line)
            self._of_devices.add(run, device, len(line))
            if network is not None:
                self._of_networks.add(run, network, len(line))
            self._batches[key] = None
            if len(self._batches) > BATCHES_REMEMBERED_MAX:
                self._batches.popitem(last=False)
        return samples

    def _check_share(self, run: str, device: str, network: str | None, more_bytes: int) -> None:
        """Raises `DeviceFull` or `NetworkFull` where so many bytes more are too many."""
        if self._of_devices.of(run, device) + more_bytes > self._device_bytes_max:
            raise DeviceFull(refusal("device_full", count=self._device_bytes_max))
        if network is not None and self._of_networks.of(run, network) + more_bytes > self._network_bytes_max:
            raise NetworkFull(refusal("network_full", count=self._network_bytes_max))

    def _append(self, run: str, line: bytes) -> None:
        folder = self._runs_dir / run
        make_folder(folder)
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


def _line(device: str, batch: dict[str, Any]) -> bytes:
    said = {"received_us": clock.now_us(), "device": device, "batch": batch}
    return json.dumps(said, separators=(",", ":"), allow_nan=False).encode() + b"\n"
