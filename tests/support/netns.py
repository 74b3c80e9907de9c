"""A network namespace for a test, joined to this machine by a pair of virtual cables that can be pulled.

    this machine 10.x.y.1 ====== 10.x.y.2 in the namespace

What is sent while the cable is pulled is lost without notice to either end: no FIN, no reset.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from tests.components import without
from tests.support.server import ROOT

_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace and its cable."""

    name: str
    near: str
    """This machine's address, as seen from the namespace."""
    cable: str

    @property
    def inside(self) -> tuple[str, ...]:
        """What comes before a command so that it runs in the namespace."""
        return ("ip", "netns", "exec", self.name)

    def python(self, source: str, *arguments: str) -> subprocess.Popen[str]:
        """Run a Python program in the namespace, with its standard output as a pipe."""
        return subprocess.Popen(
            [*self.inside, sys.executable, "-c", source, *arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
        )

    def pull(self) -> None:
        """Take the cable down: nothing gets through any more."""
        _ip("-n", self.name, "link", "set", f"{self.cable}b", "down")


def require() -> None:
    """Skip the test if this user may not create namespaces, or the tool is missing."""
    if os.geteuid() != 0 or shutil.which("ip") is None or not _can_add():
        without("needs root and iproute2, for network namespaces (Debian, Ubuntu: apt install iproute2)")


@contextlib.contextmanager
def namespace() -> Iterator[Namespace]:
    """Create a namespace for the block; its names contain our pid, so that two suites do not collide."""
    number = os.getpid() * 100 + next(_numbers) % 100
    name, cable = f"siar{number}", f"s{number}"
    net = f"10.{200 + number % 50}.{number // 50 % 250}"  # Unique per cable, as a removed one lingers for a moment.
    _ip("netns", "add", name)
    try:
        _ip("-n", name, "link", "set", "lo", "up")
        _ip("link", "add", f"{cable}a", "type", "veth", "peer", "name", f"{cable}b", "netns", name)
        _ip("addr", "add", f"{net}.1/30", "dev", f"{cable}a")
        _ip("link", "set", f"{cable}a", "up")
        _ip("-n", name, "addr", "add", f"{net}.2/30", "dev", f"{cable}b")
        _ip("-n", name, "link", "set", f"{cable}b", "up")
        yield Namespace(name, f"{net}.1", cable)
    finally:
        _ip("netns", "del", name)


def _can_add() -> bool:
    name = f"siarprobe{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode:
        return False
    _ip("netns", "del", name)
    return True


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
