"""Certificates for a LAN: kept from start to start, made anew when they have to be, limited in what they vouch for."""

from __future__ import annotations

import datetime
import stat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from app.core.errors import SettingError, Unfit
from app.server.tls import issue, keep

NOW = datetime.datetime(2026, 11, 21, tzinfo=datetime.UTC)
ADDRESSES = ["192.168.1.7"]


def certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


@pytest.mark.parametrize("way", keep.WAYS)
def test_a_second_start_shows_the_same_certificate(tmp_path: Path, way: str) -> None:
    first = keep.make(way, tmp_path, ADDRESSES)
    shown = first.certificate.read_bytes()

    second = keep.make(way, tmp_path, ADDRESSES)

    assert second == first
    assert second.certificate.read_bytes() == shown


@pytest.mark.parametrize("way", keep.WAYS)
def test_it_stands_for_the_addresses_the_machine_s_names_and_loopback(tmp_path: Path, way: str) -> None:
    made = keep.make(way, tmp_path, ADDRESSES)

    assert {*ADDRESSES, "127.0.0.1", "::1", "localhost"} <= issue.names_of(certificate(made.certificate))


def test_another_address_gets_another_certificate_of_the_same_authority(tmp_path: Path) -> None:
    first = keep.make(keep.CA, tmp_path, ADDRESSES)
    assert first.authority is not None
    authority, shown = first.authority.read_bytes(), first.certificate.read_bytes()

    second = keep.make(keep.CA, tmp_path, ["10.0.0.9"])

    assert first.authority.read_bytes() == authority
    assert second.certificate.read_bytes() != shown
    assert "10.0.0.9" in issue.names_of(certificate(second.certificate))
    certificate(second.certificate).verify_directly_issued_by(certificate(first.authority))


def test_only_its_owner_reads_a_key(tmp_path: Path) -> None:
    folder = tmp_path / "tls"
    folder.mkdir(mode=0o755)

    keep.make(keep.CA, folder, ADDRESSES)

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.glob("*.key")} == {0o600}


def test_a_pair_that_does_not_belong_together_is_made_anew(tmp_path: Path) -> None:
    first = keep.make(keep.SELF, tmp_path, ADDRESSES)
    other = issue.server(["elsewhere"], NOW)
    first.key.write_bytes(other.key_pem())

    second = keep.make(keep.SELF, tmp_path, ADDRESSES)

    keep.check_pair(second.certificate, second.key)


def test_one_that_is_about_to_end_is_made_anew(tmp_path: Path) -> None:
    made = keep.make(keep.SELF, tmp_path, ADDRESSES)
    names = sorted(issue.names_of(certificate(made.certificate)))
    old = issue.server(names, datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=380))
    made.certificate.write_bytes(old.certificate_pem())
    made.key.write_bytes(old.key_pem())

    keep.make(keep.SELF, tmp_path, ADDRESSES)

    assert made.certificate.read_bytes() != old.certificate_pem()


@pytest.mark.parametrize(
    ("name", "may"),
    [
        ("192.168.200.3", True),
        ("fd12::1", True),
        ("vm", True),
        ("siar.local", True),
        ("198.51.100.4", True),
        ("198.51.100.5", False),
        ("8.8.8.8", False),
        ("bank.example", False),
        ("notlocal", False),
        ("2001:db8::1", False),
    ],
)
def test_an_authority_vouches_for_what_is_near_and_for_nothing_else(name: str, may: bool) -> None:
    made = issue.authority("vm", ["198.51.100.4", "vm"], NOW)

    assert issue.permits(made.certificate, name) is may


def test_what_the_authority_may_not_vouch_for_is_left_out(tmp_path: Path) -> None:
    keep.make(keep.CA, tmp_path, ADDRESSES)

    made = keep.make(keep.CA, tmp_path, ["8.8.8.8", *ADDRESSES])

    names = issue.names_of(certificate(made.certificate))
    assert "8.8.8.8" not in names
    assert ADDRESSES[0] in names


def test_files_that_are_no_certificate_and_key_are_refused_in_words(tmp_path: Path) -> None:
    made = keep.make(keep.SELF, tmp_path, ADDRESSES)
    text = tmp_path / "text.pem"
    text.write_text("no certificate")

    assert keep.check_pair(made.certificate, made.key).authority is None
    with pytest.raises(SettingError, match="no certificate and its key"):
        keep.check_pair(text, made.key)
    with pytest.raises(SettingError, match="There is no file"):
        keep.check_pair(tmp_path / "missing.pem", made.key)


def test_a_folder_that_cannot_be_had_is_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(Unfit, match="No certificate can be made"):
        keep.make(keep.SELF, tmp_path / "file" / "tls", ADDRESSES)


def test_a_foreign_authority_is_left_alone_and_reported(tmp_path: Path) -> None:
    foreign = issue.server(["siar.example"], datetime.datetime.now(datetime.UTC))
    (tmp_path / "ca.pem").write_bytes(foreign.certificate_pem())
    (tmp_path / "ca.key").write_bytes(foreign.key_pem())

    with pytest.raises(Unfit, match="name constraints"):
        keep.make(keep.CA, tmp_path, ADDRESSES)
    assert (tmp_path / "ca.key").read_bytes() == foreign.key_pem()


def test_a_key_with_a_password_is_left_alone_and_said_in_a_sentence(tmp_path: Path) -> None:
    locked = issue.server(["siar.example"], datetime.datetime.now(datetime.UTC))
    encryption = serialization.BestAvailableEncryption(b"password")
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (tmp_path / "self.pem").write_bytes(locked.certificate_pem())
    (tmp_path / "self.key").write_bytes(locked.key.private_bytes(encoding, form, encryption))

    with pytest.raises(Unfit, match="encrypted"):
        keep.make(keep.SELF, tmp_path, ADDRESSES)


def test_a_fingerprint_is_what_phones_show(tmp_path: Path) -> None:
    made = keep.make(keep.SELF, tmp_path, ADDRESSES)

    from cryptography.hazmat.primitives import hashes

    digest = certificate(made.certificate).fingerprint(hashes.SHA256())
    assert keep.fingerprint(made.certificate) == ":".join(f"{byte:02X}" for byte in digest)


def test_the_tests_make_certificates_with_what_users_make_them_with() -> None:
    root = Path(__file__).parents[2]
    wanted = [
        line for line in (root / "requirements-https.txt").read_text().splitlines() if line[:1].isalpha()
    ]

    assert wanted
    assert set(wanted) <= set((root / "tests/requirements.txt").read_text().splitlines())
