"""What a flag may name as a server's address; what is none is told before anything is asked or started."""

from __future__ import annotations

import pytest

from app.cli import main as cli
from app.cli.base_url import is_base_url

NONE = [
    "",
    "siar.example",
    "ftp://siar.example",
    "http://",
    "http://[::1",
    "http://h:99999",
    "http://h:x",
    "http://h:0",
]


@pytest.mark.parametrize(
    "text", ["http://127.0.0.1:8080", "https://siar.example", "https://siar.example/", "http://[::1]:8080"]
)
def test_an_address_has_a_scheme_and_a_host(text: str) -> None:
    assert is_base_url(text)


@pytest.mark.parametrize("text", NONE)
def test_what_cannot_be_asked_is_no_address(text: str) -> None:
    assert not is_base_url(text)


@pytest.mark.parametrize("text", NONE)
def test_the_doctor_refuses_what_is_no_address(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--url", text]) == 2
    assert "https://siar.example/" in capsys.readouterr().err
