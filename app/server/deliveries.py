"""Identities of measuring devices, and the spool that holds their batches until the run's recorder reads them.

The server only appends, outside the event loop. The recorder (or the runner) is the only writer of the store.
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
"""Recent batches among which repeats are recognised; beyond it the store's unique key does this."""


SECRET_FILE = ".devices.key"
SECRET_BYTES = 32

COOKIE = "siar_device"
"""Name of the cookie that identifies a device on both transports."""


COUNTED_MAX = 10_000
"""Devices and networks with counted bytes, over all runs; beyond it the one that has not posted for longest is dropped."""

DELETIONS_REMEMBERED_MAX = 10_000
"""Devices whose deletion is remembered. A phone posts what its outbox holds within seconds of reconnecting."""


class SpoolFull(SiarError):
    """A run's spool has reached its size limit."""


class DeviceFull(SiarError):
    """A device has reached its limit of bytes for a run."""


class NetworkFull(SiarError):
    """The devices of one client network have reached their common limit of bytes for a run."""


class Devices:
    """Issues device ids and the tokens that prove them. Nothing is stored per device, so nothing grows.

    token = HMAC-SHA256(secret, device id). The secret is a file among the runs, so that identities survive a restart.
    """

    def __init__(self, runs_dir: Path) -> None:
        self._runs_dir = runs_dir

    @functools.cached_property
    def _secret(self) -> bytes:
        """The secret, read or created for the first device, so that a server without visitors leaves nothing on disk."""
        try:
            return blocking(read_or_create_secret, self._runs_dir / SECRET_FILE)
        except OSError as error:
            logger.warning("Devices will be strangers after a restart: %s.", error)
            return secrets.token_bytes(SECRET_BYTES)

    def register(self) -> tuple[str, str]:
        """Create a device; return its id and its token."""
        device = f"d-{secrets.token_hex(8)}"
        return device, self._token(device)

    def is_genuine(self, device: str, token: str) -> bool:
        """Return whether `token` belongs to `device`; in constant time."""
        return hmac.compare_digest(self._token(device).encode(), token.encode())

    def from_cookie(self, value: str | None) -> str | None:
        """Return the device that a cookie `<device>.<token>` proves, or `None`."""
        device, _, token = (value or "").partition(".")
        return device if token and self.is_genuine(device, token) else None

    def _token(self, device: str) -> str:
        return hmac.new(self._secret, device.encode(), hashlib.sha256).hexdigest()


def read_or_create_secret(path: Path) -> bytes:
    """Return the secret in `path`, creating the file with mode 0600 if there is none. Raises `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(SECRET_BYTES))
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)  # Atomic: the file is complete, and the first of several servers wins.
    finally:
        draft.unlink()
    found = path.read_bytes()
    if len(found) != SECRET_BYTES:
        raise OSError(errno.EINVAL, f"{path} is damaged; delete it")
    return found


class DeletionTimes:
    """Times at which devices had their records deleted: a phone's outbox may still hold older samples."""

    def __init__(self) -> None:
        self._at_us: dict[str, int] = {}
        """Server time of the deletion by device, oldest first."""

    def record(self, device: str, now_us: ServerUs) -> None:
        """Record that everything about `device` until now has been deleted."""
        self._at_us.pop(device, None)
        self._at_us[device] = now_us
        if len(self._at_us) > DELETIONS_REMEMBERED_MAX:
            del self._at_us[next(iter(self._at_us))]

    def sent_after_deletion(self, device: str, samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the samples of notifications that were sent after the device's deletion."""
        at_us = self._at_us.get(device, 0)
        return [each for each in samples if each["sent_us"] >= at_us]


class PostedBytes:
    """Bytes posted per run and sender. A run ends with this process, so the counts need not survive it."""

    def __init__(self) -> None:
        self._bytes: OrderedDict[tuple[str, str], int] = OrderedDict()

    def bytes_of(self, run: str, who: str) -> int:
        """Return the bytes that `who` has posted to `run`."""
        return self._bytes.get((run, who), 0)

    def add(self, run: str, who: str, more_bytes: int) -> None:
        """Add bytes to the count of `who` in `run`."""
        self._bytes[run, who] = self.bytes_of(run, who) + more_bytes
        self._bytes.move_to_end((run, who))
        if len(self._bytes) > COUNTED_MAX:
            self._bytes.popitem(last=False)


class Spool:
    """Appends batches to one file of JSON lines per run: `<runs_dir>/<run>/spool.jsonl`."""

    def __init__(
        self, runs_dir: Path, *, bytes_max: int, device_bytes_max: int, network_bytes_max: int
    ) -> None:
        self._runs_dir = runs_dir
        self._bytes_max = bytes_max
        self._device_bytes_max = device_bytes_max
        self._network_bytes_max = network_bytes_max
        self._of_devices = PostedBytes()
        self._of_networks = PostedBytes()
        self._deletion_times = DeletionTimes()
        self._batches: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._lock = threading.Lock()

    def sent_after_deletion(self, device: str, samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the samples of notifications that were sent after the device's deletion."""
        return self._deletion_times.sent_after_deletion(device, samples)

    def forget(self, device: str, now_us: ServerUs) -> None:
        """Reject samples of `device` from before now. When this returns, no append is in progress."""
        with self._lock:
            self._deletion_times.record(device, now_us)

    def accept(
        self, run: str, device: str, batch: dict[str, Any], *, network: str | None
    ) -> list[dict[str, Any]] | None:
        """Append a batch; return its accepted samples, or `None` for a repeated batch.

        If none of its samples is accepted, the batch is not appended. `network` is the sender's, or `None` if it is exempt
        from the network's limit. Raises `DeviceFull`, `NetworkFull`, `SpoolFull`, `OSError`.
        When this returns, the batch is in the file, so an acknowledged batch survives the end of this process.
        """
        key = (device, batch["batch_id"])
        with (
            self._lock
        ):  # A repeat waits for the first attempt, which may fail; then the repeat must be accepted.
            if key in self._batches:
                return None
            # Under the lock: a deletion during the wait for it has already processed the file.
            samples = self.sent_after_deletion(device, batch.get("samples", []))
            if batch.get("samples") and not samples:
                return samples
            line = _line(device, {**batch, "samples": samples})
            self._check_limits(run, device, network, len(line))
            blocking(self._append, run, line)
            self._of_devices.add(run, device, len(line))
            if network is not None:
                self._of_networks.add(run, network, len(line))
            self._batches[key] = None
            if len(self._batches) > BATCHES_REMEMBERED_MAX:
                self._batches.popitem(last=False)
        return samples

    def _check_limits(self, run: str, device: str, network: str | None, more_bytes: int) -> None:
        """Raise `DeviceFull` or `NetworkFull` if so many more bytes exceed a limit."""
        if self._of_devices.bytes_of(run, device) + more_bytes > self._device_bytes_max:
            raise DeviceFull(refusal("device_full", count=self._device_bytes_max))
        if (
            network is not None
            and self._of_networks.bytes_of(run, network) + more_bytes > self._network_bytes_max
        ):
            raise NetworkFull(refusal("network_full", count=self._network_bytes_max))

    def _append(self, run: str, line: bytes) -> None:
        folder = self._runs_dir / run
        make_folder(folder)
        handle = os.open(folder / "spool.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            size = os.fstat(handle).st_size
            if size + len(line) > self._bytes_max:
                raise SpoolFull(refusal("spool_full"))
            if os.write(handle, line) != len(line):  # The disk is full: remove the incomplete line.
                os.ftruncate(handle, size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(handle)


def _line(device: str, batch: dict[str, Any]) -> bytes:
    record = {"received_us": clock.now_us(), "device": device, "batch": batch}
    return json.dumps(record, separators=(",", ":"), allow_nan=False).encode() + b"\n"
