"""Pieces of DEFLATE that stand alone: whatever order they come in, both of the formats that carry them read them."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import MalformedFrame
from app.core.protocol.deflate import (
    EMPTY_BLOCK,
    GZIP_HEAD,
    deflated,
    deflated_message,
    inflated_message,
    is_offered,
    stored,
)


@given(st.lists(st.tuples(st.sampled_from([deflated, stored]), st.binary(max_size=2_000)), max_size=6))
def test_any_pieces_behind_gzips_head_are_one_stream_and_each_is_readable_at_once(
    pieces: list[tuple[Callable[[bytes], bytes], bytes]],
) -> None:
    browser = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    assert browser.decompress(GZIP_HEAD) == b""

    assert [browser.decompress(make(piece)) for make, piece in pieces] == [piece for _, piece in pieces]


def test_what_is_stored_is_read_whole_also_when_it_is_longer_than_a_block() -> None:
    data = bytes(range(256)) * 1_000
    browser = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)

    assert browser.decompress(GZIP_HEAD + stored(data)) == data


@given(st.lists(st.binary(max_size=2_000), max_size=6))
def test_a_message_is_read_with_and_without_what_came_before_it(payloads: list[bytes]) -> None:
    """A client that keeps its window, which it may, reads the same as one that begins anew."""
    keeps = zlib.decompressobj(wbits=-zlib.MAX_WBITS)

    for payload in payloads:
        message = deflated_message(payload)
        assert keeps.decompress(message + EMPTY_BLOCK) == payload
        assert inflated_message(message, bytes_max=2_000) == payload


def test_a_notification_becomes_shorter() -> None:
    assert len(deflated(b'{"title":"Earthquake drill","body":"' + b"Go to the yard. " * 30 + b'"}')) < 120


def test_a_message_that_ends_its_stream_is_read_too() -> None:
    """RFC 7692, section 7.2.3.4: "Using a DEFLATE Block with BFINAL Set to 1"."""
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    payload = compressor.compress(b"Hello") + compressor.flush(zlib.Z_FINISH) + b"\x00"

    assert inflated_message(payload, bytes_max=5) == b"Hello"


def test_the_examples_of_rfc_7692_section_7_2_3_are_read() -> None:
    for payload in ("f248cdc9c90700", "000500faff48656c6c6f00", "f348cdc9c9070000"):
        assert inflated_message(bytes.fromhex(payload), bytes_max=5) == b"Hello"


def test_no_more_is_unpacked_than_the_bound() -> None:
    bomb = deflated_message(b"\0" * 10_000_000)
    assert len(bomb) < 10_000

    with pytest.raises(MalformedFrame, match="longer than 4096") as caught:
        inflated_message(bomb, bytes_max=4_096)
    assert caught.value.close_code == 1009
    assert len(inflated_message(deflated_message(b"\0" * 4_096), bytes_max=4_096)) == 4_096


@pytest.mark.parametrize("payload", [b"\xff\xff", b"\x07", bytes.fromhex("f248cdc9")[::-1]])
def test_what_is_no_deflate_is_refused(payload: bytes) -> None:
    with pytest.raises(MalformedFrame, match="cannot be unpacked"):
        inflated_message(payload, bytes_max=100)


@pytest.mark.parametrize(
    ("extensions", "expected"),
    [
        pytest.param("permessage-deflate; client_max_window_bits", True, id="Chrome"),
        pytest.param("permessage-deflate", True, id="Firefox"),
        pytest.param("x-webkit-deflate-frame, permessage-deflate", True, id="a second offer"),
        pytest.param(
            "permessage-deflate; server_no_context_takeover; client_max_window_bits=10", True, id="both"
        ),
        pytest.param(
            "permessage-deflate;server_max_window_bits=10,permessage-deflate", True, id="falls back"
        ),
        pytest.param("permessage-deflate; server_max_window_bits=10", False, id="a window smaller than ours"),
        pytest.param("permessage-deflate; colour=red", False, id="a parameter that nobody knows"),
        pytest.param(
            "permessage-deflate; client_max_window_bits; client_max_window_bits=9",
            False,
            id="one parameter twice",
        ),
        pytest.param(
            "permessage-deflate; client_max_window_bits=abc", False, id="a window that is no number"
        ),
        pytest.param("permessage-deflate; client_max_window_bits=99", False, id="a window that nobody has"),
        pytest.param("permessage-deflate; client_max_window_bits=7", False, id="a window too small"),
        pytest.param('permessage-deflate; client_max_window_bits="12"', True, id="a window in quotes"),
        pytest.param("permessage-deflate; server_no_context_takeover=1", False, id="a flag with a value"),
        pytest.param("permessage-bzip2", False, id="another extension"),
        pytest.param("", False, id="nothing"),
        pytest.param(";;,=,", False, id="noise"),
    ],
)
def test_which_offers_are_taken(extensions: str, expected: bool) -> None:
    assert is_offered(extensions) is expected
