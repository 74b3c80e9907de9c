"""Settings: every knob by its name, misspelt ones refused, foreign ones passed by."""

from __future__ import annotations

from dataclasses import fields

import pytest

from app.core.errors import SettingError
from app.server.practice import RUN_PREFIX
from app.settings import Settings, environment_name, read


def test_what_is_not_set_has_its_default_and_the_token_is_random() -> None:
    first, second = read({}), read({})

    assert first.port == 8080
    assert len(first.admin_token) >= 24
    assert first.admin_token != second.admin_token


def test_flags_win_over_the_environment() -> None:
    assert read({"SIAR_PORT": "1234"}, port=4321).port == 4321


@pytest.mark.parametrize("name", ["SIAR_PROT", "SIAR_", "SIAR_HISTORY", "SIAR_port"])
def test_an_unknown_name_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(SettingError, match="SIAR_HISTORY_COUNT"):
        read({name: "1"})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("SIAR_PORT", "tcp://10.0.0.7:80"),
        ("SIAR_SERVICE_HOST", "10.0.0.7"),
        ("SIAR_SERVICE_PORT", "80"),
        ("SIAR_SERVICE_PORT_HTTP", "80"),
        ("SIAR_PORT_80_TCP", "tcp://10.0.0.7:80"),
        ("SIAR_PORT_80_TCP_ADDR", "10.0.0.7"),
        ("SIAR_PORT_80_TCP_PORT", "80"),
        ("SIAR_PORT_80_TCP_PROTO", "tcp"),
        ("SIAR_SERVICE_HOST", "fd00::7"),
        ("SIAR_REDIS_SERVICE_HOST", "10.0.0.8"),
        ("SIAR_REDIS_SERVICE_PORT", "6379"),
        ("SIAR_REDIS_PORT_53_UDP", "udp://10.0.0.8:53"),
        ("SIAR_CLOCK_PORT", "tcp://10.0.0.9:9000"),
        ("SIAR_CLOCK_PORT_9000_TCP_ADDR", "10.0.0.9"),
        ("SIAR_TEST_STRICT", "1"),
        ("OTHER", "1"),
    ],
)
def test_what_a_cluster_or_our_own_tools_set_is_passed_by(name: str, text: str) -> None:
    assert read({name: text}).port == 8080


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("SIAR_CLOK_PORT", "9000"),
        ("SIAR_SERVICE_PORTS", "80"),
        ("SIAR_SERVICE_PORT", "http"),
        ("SIAR_SERVICE_HOST", "not a host"),
        ("SIAR_PORT_80_TCP", "80"),
        ("SIAR_PORT_80_TCPS", "tcp://10.0.0.7:80"),
        ("SIAR_PORT_80_TCP_ADDR", ""),
        ("SIAR_HISTORY", "tcp://10.0.0.7:80"),
    ],
)
def test_what_only_looks_like_a_service_link_is_a_misspelt_setting(name: str, text: str) -> None:
    with pytest.raises(SettingError, match=f"{name} is not a setting"):
        read({name: text})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("SIAR_PORT", "http"),
        ("SIAR_CLOCK_PORT", "http://10.0.0.7:80"),
        ("SIAR_PORT", "-1"),
        ("SIAR_PORT", "70000"),
        ("SIAR_PORT", "1.5"),
        ("SIAR_HEARTBEAT_S", "soon"),
        ("SIAR_HEARTBEAT_S", "nan"),
        ("SIAR_HEARTBEAT_S", "inf"),
        ("SIAR_COMPRESSION", "maybe"),
        ("SIAR_HISTORY_COUNT", "0"),
        ("SIAR_BROKER", "kafka://x"),
        ("SIAR_LOG_LEVEL", "loud"),
        ("SIAR_RUN", "../elsewhere"),
        ("SIAR_RUN", ".."),
        ("SIAR_RUN", "."),
        ("SIAR_RUN", ".trash"),
        ("SIAR_RUN", "-r"),
        ("SIAR_RUN", f"{RUN_PREFIX}1"),
        ("SIAR_TRUSTED_PROXIES", "nginx"),
        ("SIAR_TRUSTED_PROXIES", "10.0.0.7/8"),
        ("SIAR_RETENTION_DAYS", "-1"),
    ],
)
def test_an_impossible_value_is_refused_by_its_name(name: str, text: str) -> None:
    with pytest.raises(SettingError, match=name):
        read({name: text})


def test_every_setting_can_be_read_from_its_variable() -> None:
    texts = {"int": "5000", "int | None": "5000", "float": "7", "bool": "true", "Path": "there", "str": "x"}
    special = {
        "broker": "memory://",
        "log_level": "info",
        "fanout": "stock",
        "green_threads": "gevent",
        "trusted_proxies": "10.0.0.7, fd00::/64",
        "language": "id",
        "workers": "1",
        "history_cache_ttl_s": "0",
    }
    environment = {
        environment_name(each.name): special.get(each.name, texts.get(str(each.type), "a,B"))
        for each in fields(Settings)
    }

    settings = read(environment)

    assert settings.allowed_hosts == ("a", "b")
    assert settings.compression is True
    assert settings.heartbeat_s == 7.0


def test_the_token_is_not_shown_when_settings_are() -> None:
    assert "secret" not in repr(Settings(admin_token="secret"))


@pytest.mark.parametrize("name", ["SIAR_PREFIX", "SCRIPT_NAME"])
@pytest.mark.parametrize("text", ["/siar", "/siar/", "siar"])
def test_a_prefix_is_read_from_our_setting_or_from_script_name(name: str, text: str) -> None:
    assert read({name: text}).prefix == "/siar"


def test_our_own_setting_wins_over_script_name_and_a_slash_is_the_root() -> None:
    assert read({"SIAR_PREFIX": "/a", "SCRIPT_NAME": "/b"}).prefix == "/a"
    assert read({"SIAR_PREFIX": "/"}).prefix == ""


@pytest.mark.parametrize("text", ["/api", "/a b", "/../x", "/a//b"])
def test_what_can_be_no_prefix_is_refused_in_words(text: str) -> None:
    with pytest.raises(SettingError, match="SIAR_PREFIX"):
        read({"SIAR_PREFIX": text})
