"""TLS over bytes that somebody else carries, against a server of the standard library in the same test."""

from __future__ import annotations

import contextlib
import ssl

import pytest

from app.core.encryption import Encryption
from app.server.tls import keep


class Peer:
    """A server without a socket."""

    def __init__(self, files: keep.Files) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(files.certificate, files.key)
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._in, self._out, server_side=True)

    def shake_hands(self, data: bytes) -> bytes:
        self._in.write(data)
        with contextlib.suppress(ssl.SSLWantReadError):
            self.tls.do_handshake()
        return self._out.read()

    def receive_data(self, data: bytes) -> bytes:
        self._in.write(data)
        return self.tls.read(65_536)

    def say(self, data: bytes) -> bytes:
        self.tls.write(data)
        return self._out.read()

    def end(self) -> bytes:
        with contextlib.suppress(ssl.SSLWantReadError):
            self.tls.unwrap()
        return self._out.read()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> keep.Files:
    return keep.make(keep.CA, tmp_path_factory.mktemp("tls"), ["127.0.0.1"])


def trusting(files: keep.Files) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=files.authority)


def opened(files: keep.Files) -> tuple[Encryption, Peer]:
    """Both sides, the handshake being over."""
    client, peer = Encryption("127.0.0.1", trusting(files)), Peer(files)
    while not client.is_open:
        assert client.receive_data(peer.shake_hands(client.to_send())) == b""
    client.receive_data(peer.shake_hands(client.to_send()))
    return client, peer


def test_what_is_said_is_heard_in_both_directions(files: keep.Files) -> None:
    client, peer = opened(files)

    assert peer.receive_data(client.encrypt(b"GET")) == b"GET"
    assert client.receive_data(peer.say(b"data")) == b"data"
    assert not client.ended


def test_half_a_record_means_nothing_until_the_rest_has_come(files: keep.Files) -> None:
    client, peer = opened(files)
    record = peer.say(b"data")

    assert client.receive_data(record[:7]) == b""
    assert client.receive_data(record[7:]) == b"data"


def test_several_records_of_one_read_are_heard_together(files: keep.Files) -> None:
    client, peer = opened(files)

    assert client.receive_data(peer.say(b"a" * 40_000) + peer.say(b"b")) == b"a" * 40_000 + b"b"


def test_an_orderly_end_is_reported_after_the_data_before_it(files: keep.Files) -> None:
    client, peer = opened(files)

    assert client.receive_data(peer.say(b"last") + peer.end()) == b"last"
    assert client.ended


def test_a_peer_with_an_untrusted_certificate_is_refused(files: keep.Files) -> None:
    client, peer = Encryption("127.0.0.1", ssl.create_default_context()), Peer(files)

    with pytest.raises(ssl.SSLCertVerificationError):
        client.receive_data(peer.shake_hands(client.to_send()))


def test_a_peer_of_another_name_is_refused(files: keep.Files) -> None:
    client, peer = Encryption("127.0.0.2", trusting(files)), Peer(files)

    with pytest.raises(ssl.SSLCertVerificationError, match=r"127\.0\.0\.2"):
        client.receive_data(peer.shake_hands(client.to_send()))


def test_what_speaks_no_tls_is_refused(files: keep.Files) -> None:
    client = Encryption("127.0.0.1", trusting(files))

    with pytest.raises(ssl.SSLError):
        client.receive_data(b"HTTP/1.1 400 Bad Request\r\n\r\n")
