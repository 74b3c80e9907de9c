"""The checks of `doctor`, each on machines as they are found."""

from __future__ import annotations

import ast
import json
import resource
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli import main as cli
from app.clock import Readings, readings
from app.i18n import LANGUAGES, Words, catalogue, terminal_language
from app.tools.doctor import examine, machine_checks, network_checks, service_checks, show
from app.tools.doctor.finding import Finding, FindingState, fail, ok, warn
from app.tools.doctor.machine import Machine
from app.tools.doctor.subject import Subject

DOCTOR = Path(__file__).parents[2] / "app" / "tools" / "doctor"


def subject(host: str = "0.0.0.0", number: int = 8080) -> Subject:
    return Subject(host, number, 0, is_secure=False, runs_dir=Path("runs"), connections_max=20_000)


def machine(root: Path, platform: str = "linux", **files_: str) -> Machine:
    """A machine with these files, and no commands but its own."""
    for name, text in files_.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Machine(root, str(root / "bin"), platform)


def codes_in(path: Path) -> Iterator[tuple[str, str, str]]:
    """Function, name and code of each finding that a module makes."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 2:
            name, code = node.args
            if (
                node.func.id in ("ok", "warn", "fail")
                and isinstance(name, ast.Constant)
                and isinstance(code, ast.Constant)
            ):
                yield node.func.id, str(name.value), str(code.value)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_finding_has_its_sentence_and_what_is_wrong_has_a_next_step(language: str) -> None:
    texts = catalogue(language, "terminal")
    made = {each for path in DOCTOR.glob("*.py") for each in codes_in(path)}
    # Found by name at run time:
    made |= {("warn", "firewall", code) for code in ("ufw", "firewalld", "nftables", "iptables")}
    made |= {("warn", "firewall", code) for code in ("macos", "windows", "wsl")}

    missing = {f"doctor.{name}.{code}" for _, name, code in made} - set(texts)
    without_step = {f"doctor.{name}.{code}.next" for kind, name, code in made if kind != "ok"} - set(texts)
    said = {f"doctor.{name}.{code}" for _, name, code in made}
    unused = {
        key
        for key in texts
        if key.startswith("doctor.")
        and not key.startswith(("doctor.state.", "doctor.summary."))
        and key.removesuffix(".next") not in said
    }

    assert len(made) > 30
    assert (missing, without_step, unused) == (set(), set(), set())


@pytest.mark.parametrize(
    ("environment", "asked", "language"),
    [
        ({}, None, "en"),
        ({"LANG": "id_ID.UTF-8"}, None, "id"),
        ({"LANG": "in"}, None, "id"),
        ({"LANG": "de_DE.UTF-8"}, None, "en"),
        ({"LANG": "C.UTF-8"}, None, "en"),
        ({"LANG": "id_ID.UTF-8", "LC_ALL": "en_US.UTF-8"}, None, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "id_ID"}, None, "id"),
        ({"LANG": "id_ID.UTF-8", "LC_ALL": ""}, None, "id"),
        ({"LANG": "id_ID.UTF-8"}, "en", "en"),
        ({"LANG": "idx_XX"}, None, "en"),
    ],
)
def test_the_terminal_speaks_the_locale_s_language_unless_told(
    environment: dict[str, str], asked: str | None, language: str
) -> None:
    assert terminal_language(environment, asked) == language


def test_a_free_port_is_free_and_0_becomes_one() -> None:
    chosen, finding = network_checks.check_port("127.0.0.1", 0)

    assert chosen != 0
    assert (finding.state, finding.code) == (FindingState.OK, "free")


def test_a_port_that_somebody_listens_on_is_taken_even_if_shared_by_them() -> None:
    """Also against a server that sets SO_REUSEPORT, as `eventlet.listen` does."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        number = listener.getsockname()[1]

        for host in ("127.0.0.1", "0.0.0.0"):
            finding = network_checks.check_port(host, number)[1]

            assert finding.state is FindingState.FAIL
            assert finding.code == "taken_by"
            assert "--port" in str(finding.next_step(Words("en")))
            assert f"process {finding.places['pid']}" in finding.sentence(Words("en"))


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
def test_another_program_on_the_same_port_of_ipv6_is_seen() -> None:
    with socket.socket(socket.AF_INET6) as listener:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        try:
            listener.bind(("::1", 0))
        except OSError:
            pytest.skip("no IPv6 loopback")
        listener.listen()

        finding = network_checks.check_port("0.0.0.0", listener.getsockname()[1])[1]

    assert (finding.state, finding.code) == (FindingState.WARN, "shared")


@pytest.mark.parametrize("host", ["203.0.113.9", "no-such-host.invalid", "x" * 70])
def test_an_address_of_another_machine_is_refused(host: str) -> None:
    assert network_checks.check_port(host, 0)[1].code == "no_address"


@pytest.mark.parametrize(
    "url", ["http://siar:99999", "http://siar:http", "http://[::1", f"http://{'a' * 64}"]
)
def test_what_can_be_no_address_is_one_that_does_not_answer(url: str) -> None:
    assert service_checks.check_reach([url]).code == "silent"


def test_a_json_file_without_a_folder_is_said_before_anything_is_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["doctor", "--json", str(tmp_path / "none" / "doctor.json")]) == 2

    said = capsys.readouterr()
    assert said.out == ""
    assert "there is no folder" in said.err


def test_a_service_on_loopback_is_said_to_be_out_of_reach() -> None:
    assert network_checks.check_address(subject("127.0.0.1")).code == "loopback"
    assert "0.0.0.0" in str(network_checks.check_address(subject("::1")).next_step(Words("id")))


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("etc__ufw__ufw_dot_conf", "# ufw\nENABLED=yes\n", "ufw"),
        ("etc__ufw__ufw_dot_conf", "# ENABLED=yes\nENABLED=no\n", "none"),
        ("run__firewalld_dot_pid", "77\n", "firewalld"),
        ("etc__systemd__system__sysinit_dot_target_dot_wants__nftables_dot_service", "", "nftables"),
        ("etc__iptables__rules_dot_v4", "*filter\n:INPUT DROP [0:0]\n", "iptables"),
        ("etc__iptables__rules_dot_v4", "*filter\n:INPUT ACCEPT [0:0]\n", "none"),
        ("proc__version", "Linux version 5.15.90.1-microsoft-standard-WSL2", "wsl"),
    ],
)
def test_a_firewall_is_named_when_it_is_on(tmp_path: Path, name: str, text: str, code: str) -> None:
    assert network_checks.check_firewall(subject(), machine(tmp_path, **{name: text})).code == code


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("Firewall is enabled. (State = 1)", "macos"),
        ("Firewall is disabled. (State = 0)", "none"),
    ],
)
def test_the_firewall_of_macos_is_asked(tmp_path: Path, said: str, code: str) -> None:
    found = machine(tmp_path, "darwin")
    tool = tmp_path / "socketfilterfw"
    tool.write_text(f"#!/bin/sh\necho '{said}'\n")
    tool.chmod(0o755)

    assert network_checks.check_firewall(subject(), found, macos_tool=str(tool)).code == code


def test_a_firewall_s_sentence_names_both_ports(tmp_path: Path) -> None:
    found = machine(tmp_path, etc__ufw__ufw_dot_conf="ENABLED=yes")

    step = network_checks.check_firewall(subject(number=9000), found).next_step(Words("en"))

    assert "ufw allow 9000/tcp" in str(step)
    assert "SIAR_CLOCK_PORT=9001" in str(step)


ROUTES = "Iface\tDestination\tGateway\nwlan0\t00000000\t0100A8C0\nwlan0\t0000A8C0\t00000000\n"
ARP = "IP address HW type Flags HW address Mask Device\n"


@pytest.mark.parametrize(
    ("rows", "is_wifi", "code"),
    [
        ("", True, "alone_on_wifi"),
        ("192.168.0.1 0x1 0x2 aa:bb:cc:dd:ee:ff * wlan0\n", True, "alone_on_wifi"),
        ("192.168.0.1 0x1 0x2 aa:bb:cc:dd:ee:ff * wlan0\n", False, "alone"),
        ("192.168.0.7 0x1 0x0 00:00:00:00:00:00 * wlan0\n", True, "alone_on_wifi"),
        ("192.168.0.7 0x1 0x2 aa:bb:cc:dd:ee:f0 * wlan0\n", True, "seen"),
    ],
)
def test_whether_others_were_heard_of_counts_neither_the_router_nor_the_silent(
    tmp_path: Path, rows: str, is_wifi: bool, code: str
) -> None:
    found = machine(tmp_path, proc__net__arp=ARP + rows, proc__net__route=ROUTES)
    if is_wifi:
        (tmp_path / "sys/class/net/wlan0/wireless").mkdir(parents=True)

    assert network_checks.check_neighbours(subject(), found).code == code


def test_where_neighbours_cannot_be_told_nothing_is_guessed(tmp_path: Path) -> None:
    assert network_checks.check_neighbours(subject(), machine(tmp_path)).code == "unknown"


@pytest.mark.parametrize(
    ("limit", "wanted", "code"),
    [
        (1_048_576, 20_000, "enough"),
        (resource.RLIM_INFINITY, 20_000, "enough"),
        (3_000, 20_000, "no_load"),
        (3_000, 1_000, "enough"),
        (256, 20_000, "few"),
    ],
)
def test_open_files_are_judged_by_the_connections_that_they_are_room_for(
    limit: int, wanted: int, code: str
) -> None:
    assert machine_checks.judge_open_files(limit, wanted).code == code


@pytest.mark.parametrize(
    ("load", "governor", "is_on_battery", "code"),
    [
        (0.1, "performance", False, "idle"),
        (0.1, "", False, "idle"),
        (3.5, "performance", False, "busy"),
        (0.1, "powersave", False, "saving"),
        (0.1, "performance", True, "battery"),
    ],
)
def test_the_processor_is_judged_by_what_shows_in_figures(
    load: float, governor: str, is_on_battery: bool, code: str
) -> None:
    found = machine_checks.judge_processor(load=load, cores=4, governor=governor, is_on_battery=is_on_battery)

    assert found.code == code


@pytest.mark.parametrize(("free_mb", "code"), [(50, "full"), (500, "short"), (5_000, "room")])
def test_the_disk_is_judged_by_the_runs_that_it_has_room_for(free_mb: int, code: str) -> None:
    assert machine_checks.judge_disk(Path("runs"), free_mb * 1_000_000).code == code


def test_a_folder_that_cannot_be_written_to_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    assert machine_checks.check_disk(tmp_path / "file" / "runs").code == "no_writing"


@pytest.mark.parametrize(
    ("wall_us", "raw_us", "code"),
    [
        (1_000_000, 1_000_000, "steady"),
        (1_000_000, None, "steady"),
        (1_000_000, 1_000_050, "steady"),
        (1_050_000, 1_000_000, "stepped"),
        (1_000_000, 999_500, "bent"),
    ],
)
def test_a_clock_that_is_set_or_bent_is_told_from_a_steady_one(
    wall_us: float, raw_us: float | None, code: str
) -> None:
    before = Readings(0, 0, None if raw_us is None else 0)

    assert machine_checks.judge_clock(before, Readings(1_000_000, wall_us, raw_us)).code == code


def test_a_slow_clock_source_is_named(tmp_path: Path) -> None:
    source = "sys__devices__system__clocksource__clocksource0__current_clocksource"
    now = readings()
    later = Readings(now.monotonic_us + 1e6, now.wall_us + 1e6, now.raw_us and now.raw_us + 1e6)

    assert (
        machine_checks.check_clock(now, later, machine(tmp_path, **{source: "hpet\n"})).code == "slow_source"
    )


def test_findings_are_lines_with_a_next_step_and_json_with_codes() -> None:
    found: list[Finding] = [
        ok("port", "free", port=8080),
        warn("address", "loopback", host="127.0.0.1"),
        fail("disk", "no_writing", folder="runs", reason="Read-only", setting="SIAR_RUNS_DIR"),
    ]

    lines = list(show.lines(found, Words("en")))
    document = json.loads(show.as_json(found, Words("id")))

    assert len(lines) == 5
    assert lines[0].split()[0] == "ok"
    assert document["fit"] is False
    assert [each["state"] for each in document["checks"]] == ["ok", "warn", "fail"]
    assert document["checks"][0]["next_step"] is None
    assert "SIAR_RUNS_DIR" in document["checks"][2]["next_step"]
    assert examine.worst(found) is FindingState.FAIL
    assert examine.worst([]) is FindingState.OK
