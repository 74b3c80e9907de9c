"""What is replaced in what leaves, and what only looks like it."""

import pytest

from app.lab.report.exchange.redaction import Redactor


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://operator:secret@server.example:8000/x", "http://host-1:8000/x"),
        ("http://192.168.1.20:5000/", "http://address-1:5000/"),
        ("https://[fe80::1]:8443/", "https://address-1:8443/"),
        ("http://127.0.0.1:5000/ and http://localhost/", "http://127.0.0.1:5000/ and http://localhost/"),
        ("/admin?key=abcdef&x=1", "/admin?key=removed&x=1"),
        ("Authorization: Bearer abcdefgh12345", "Authorization: Bearer removed"),
        ("seen at 10.0.0.7.", "seen at address-1."),
        ("from fe80::a00:27ff:fe4e:66a1 came", "from address-1 came"),
        ("card 08:00:27:4e:66:a1", "card address-1"),
        ("printer.local and laptop.lan", "host-1 and host-2"),
        ("on build-box7", "on host-1"),
        ("rebuild-box7 stays", "rebuild-box7 stays"),
        ("/home/somebody/siar/runs", "/home/user/siar/runs"),
        ("2026-11-21T10:24:07+00:00 took 10:24:07", "2026-11-21T10:24:07+00:00 took 10:24:07"),
        ("versions 6.18.44 and 27.0.1", "versions 6.18.44 and 27.0.1"),
        ("0.0.0.0", "0.0.0.0"),
        ("::1 and ::ffff:127.0.0.1 and ::ffff:10.0.0.7", "::1 and ::ffff:127.0.0.1 and address-1"),
        ("999.1.1.1 is none", "999.1.1.1 is none"),
    ],
)
def test_a_text(text: str, expected: str) -> None:
    assert Redactor(["build-box7", "a"]).text(text) == expected


def test_the_same_thing_has_the_same_stand_in_everywhere() -> None:
    redactor = Redactor()

    assert redactor.text("10.0.0.7 10.0.0.8 10.0.0.7") == "address-1 address-2 address-1"
    assert redactor.value({"via": "http://10.0.0.8/"}) == {"via": "http://address-2/"}
    assert redactor.counts == {"address": 4}


def test_what_is_named_as_a_secret_goes_whole_and_versions_keep_their_figures() -> None:
    found = Redactor().value(
        {
            "settings": {"ADMIN_TOKEN": "abc", "rate": 1, "db_password": ["x", ""]},
            "kernel": "5.15.167.4-microsoft",
            "packages": {"greenlet": "3.1.0.1"},
            "credentials": {"user": "operator", "parts": [{"value": "abc"}], "count": 2},
            "none": None,
        }
    )

    assert found == {
        "settings": {"ADMIN_TOKEN": "removed", "rate": 1, "db_password": ["removed", ""]},
        "kernel": "5.15.167.4-microsoft",
        "packages": {"greenlet": "3.1.0.1"},
        "credentials": {"user": "removed", "parts": [{"value": "removed"}], "count": 2},
        "none": None,
    }


def test_a_short_name_of_the_machine_is_known_where_it_stands_alone() -> None:
    found = Redactor(["vm"]).value({"conditions": {"node": "vm", "text": "a vm of ours"}})

    assert found == {"conditions": {"node": "host-1", "text": "a vm of ours"}}


def test_what_was_redacted_once_stays_as_it_is() -> None:
    once = Redactor().text("http://me:pw@box.local/?token=abc 10.1.2.3")

    assert Redactor().text(once) == once


def test_the_machine_s_own_name_is_looked_for_in_free_text_only() -> None:
    found = Redactor(["lan"]).value(
        {
            "plan": {
                "environment": "lan",
                "profile": "demo",
                "arms": [{"name": "lan", "server": "http://lan/"}],
            },
            "warnings": [{"code": "lan", "text": "measured on lan", "advice": "Leave lan alone."}],
            "conditions": {"node": "lan", "lan": 1, "via": {"text": ["on lan"]}},
        }
    )

    assert found == {
        "plan": {
            "environment": "lan",
            "profile": "demo",
            "arms": [{"name": "lan", "server": "http://host-1/"}],
        },
        "warnings": [{"code": "lan", "text": "measured on host-1", "advice": "Leave host-1 alone."}],
        "conditions": {"node": "host-1", "host-1": 1, "via": {"text": ["on host-1"]}},
    }


def test_of_a_page_only_what_it_shows_is_replaced() -> None:
    page = (
        '<!doctype html><style>box { color: red }</style><p class="box">at box, <a href="http://x.example/">'
        "http://y.example/</a></p>"
    )

    assert Redactor(["box"]).page(page) == page.replace("at box", "at host-1").replace("y.example", "host-2")
