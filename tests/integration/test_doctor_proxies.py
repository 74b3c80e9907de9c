"""What `siar doctor --url` says of a real proxy that has a fault, and of the same proxy without it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.server.tls import keep
from app.tools.calibrate.tcp_proxy import TcpProxy
from app.tools.doctor import examine, service_checks
from app.tools.doctor.finding import Finding, FindingState
from tests.support.nginx import nginx_before_one, plain_nginx
from tests.support.patience import PATIENCE_S
from tests.support.proxy import delayed
from tests.support.server import RunningServer, running_server

pytestmark = pytest.mark.slow

HEARTBEAT_S = 2

FAULTS = {
    "buffers and compresses": (
        {"lines": "proxy_ignore_headers X-Accel-Buffering;"},
        ("first_byte", "fail", "held_back", {"timeout_s": 3}),
    ),
    "ends what is quiet": (
        {"lines": "proxy_read_timeout 1s;"},
        ("first_byte", "fail", "cut", {}),
    ),
    "passes no stream": (
        {"lines": "location /events { return 404; }"},
        ("first_byte", "fail", "no_stream", {"status": 404}),
    ),
    "passes no upgrade": (
        # A header that a location names replaces all that the server names.
        {"inner": "proxy_set_header Host $http_host;"},
        ("upgrade", "warn", "refused", {}),
    ),
    "passes no POST": (
        {"inner": "limit_except GET { deny all; }"},
        ("origin", "fail", "strange", {"status": 403}),
    ),
    "serves files itself": (
        {"lines": "location /static/ { root /nowhere; }"},
        ("page", "fail", "missing", {"status": 404}),
    ),
    "names another host": (
        {"inner": "proxy_set_header Host siar.example;"},
        ("reach", "fail", "strange", {"status": 421}),
    ),
}
"""By what a proxy does: what changes its configuration, and the one finding that is to differ."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("doctor"), heartbeat_s=HEARTBEAT_S, recorder=0) as running:
        yield running
        assert "Traceback" not in running.log()


def found(url: str) -> list[Finding]:
    return examine.of_running([url], heartbeat_within_s=PATIENCE_S)


def wrong(findings: list[Finding]) -> list[Finding]:
    """Those that blame something, except that a busy machine may be slow."""
    return [each for each in findings if each.state is not FindingState.OK and each.code != "slow"]


def test_a_proxy_that_has_all_that_is_needed_is_blamed_for_nothing(
    server: RunningServer, tmp_path: Path
) -> None:
    with plain_nginx(tmp_path, server.port) as url:
        findings = found(url)

    assert wrong(findings) == []
    assert {each.name for each in findings} == {"reach", "page", "origin", "first_byte", "upgrade"}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_proxy_with_one_fault_is_blamed_for_that_one(
    server: RunningServer, tmp_path: Path, fault: str
) -> None:
    changed, (name, state, code, places) = FAULTS[fault]
    with plain_nginx(tmp_path, server.port, **changed) as url:
        (finding,) = wrong(found(url))

    assert (finding.name, finding.state.value, finding.code) == (name, state, code)
    assert places.items() <= finding.places.items()


def test_a_certificate_is_judged_by_whom_the_device_trusts(tmp_path: Path, server: RunningServer) -> None:
    assert server.clock_port
    files = keep.make("self", tmp_path / "tls", ["127.0.0.1"])
    with nginx_before_one(
        tmp_path / "nginx", server.port, server.clock_port, certificate=files.certificate, key=files.key
    ) as ports:
        url = f"https://127.0.0.1:{ports.service}"
        stranger = service_checks.check_certificate(url)
        trusting = service_checks.check_certificate(url, authority=str(files.certificate))

    assert stranger is not None
    assert trusting is not None
    assert (stranger.state, stranger.code) == (FindingState.WARN, "strange")
    assert (trusting.state, trusting.code) == (FindingState.OK, "trusted")


def test_a_way_that_is_slow_is_said_to_be(server: RunningServer) -> None:
    late = delayed(service_checks.PROMPT_MS / 1000 + 0.1)
    with TcpProxy("127.0.0.1", server.port, to_client=late) as proxy:
        finding = service_checks.check_first_byte(proxy.url)

    assert (finding.state, finding.code) == (FindingState.WARN, "slow")
