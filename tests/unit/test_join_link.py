"""The address on the big screen goes to this server from a phone, and the code that is drawn holds just that."""

from __future__ import annotations

import re

import pytest
import segno

from app.server.room.invitation import CODE_CHARS, CODE_LETTERS, Invitation, screen_key
from app.server.web.room.join_link import base_url, reaches_this_machine_only
from app.server.web.room.screen_data import QUIET_ZONE, qr_path
from app.settings import Settings

LAN = ("192.168.1.5", "172.17.0.1")


@pytest.mark.parametrize(
    ("listens_on", "asked_as", "scheme", "url"),
    [
        ("0.0.0.0", "localhost:8080", "http", "http://192.168.1.5:8080"),
        ("0.0.0.0", "127.0.0.1:8080", "http", "http://192.168.1.5:8080"),
        ("::", "[::1]:8080", "http", "http://192.168.1.5:8080"),
        ("0.0.0.0", "127.0.0.1:8080", "https", "https://192.168.1.5:8080"),
        ("0.0.0.0", "10.0.0.7:8080", "http", "http://10.0.0.7:8080"),
        ("0.0.0.0", "siar.local", "http", "http://siar.local"),
        ("127.0.0.1", "siar.example.org", "https", "https://siar.example.org"),
        ("192.168.1.9", "localhost:8080", "http", "http://192.168.1.9:8080"),
        ("fd00::5", "localhost:8080", "http", "http://[fd00::5]:8080"),
        ("127.0.0.1", "localhost:8080", "http", "http://localhost:8080"),
    ],
)
def test_phones_get_an_address_that_leads_here(listens_on: str, asked_as: str, scheme: str, url: str) -> None:
    settings = Settings(host=listens_on, port=8080)

    assert base_url(settings, scheme=scheme, host=asked_as, lan=LAN) == url


def test_without_a_network_the_address_is_loopback_and_known_as_such() -> None:
    url = base_url(Settings(host="0.0.0.0", port=8080), scheme="http", host="localhost:8080", lan=())

    assert reaches_this_machine_only(url)
    assert not reaches_this_machine_only("http://192.168.1.5:8080/")
    assert reaches_this_machine_only("http://[::1]:8080/")


def test_the_path_draws_every_dark_module_of_the_code_and_no_other() -> None:
    text = "http://192.168.1.5:8080/?code=BCDF"
    code = qr_path(text)

    drawn = set()
    for x, y, width, back in re.findall(r"M(\d+) (\d+)h(\d+)v1H(\d+)z", code.path):
        assert back == x
        drawn |= {(int(x) + step, int(y)) for step in range(int(width))}

    matrix = segno.make(text, error="m", micro=False).matrix
    dark = {
        (x + QUIET_ZONE, y + QUIET_ZONE)
        for y, row in enumerate(matrix)
        for x, module in enumerate(row)
        if module
    }
    assert drawn == dark
    assert code.size == len(matrix) + 2 * QUIET_ZONE


def test_a_code_has_four_letters_that_nobody_confuses() -> None:
    codes = {Invitation(b"secret").code for _ in range(50)}

    assert all(len(code) == CODE_CHARS and set(code) <= set(CODE_LETTERS) for code in codes)
    assert len(codes) > 40
    assert not set("AEIOULQ0123456789") & set(CODE_LETTERS)


def test_the_screens_key_is_of_this_start_and_says_nothing_of_its_secret() -> None:
    invitation = Invitation(b"secret")

    assert invitation.screen_key == screen_key(b"secret") == Invitation(b"secret").screen_key
    assert invitation.screen_key != screen_key(b"another")
    assert invitation.is_screen_key(screen_key(b"secret"))
    assert not invitation.is_screen_key("")
    assert not invitation.is_screen_key("é")
