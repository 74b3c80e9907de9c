"""The shared stream: every cursor reads the same bytes, wherever the kernel cut them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.server.fanout.stream import Stream

FRAMES = st.lists(st.binary(min_size=1, max_size=12), min_size=1, max_size=20)


@given(FRAMES, st.data())
def test_reading_from_any_cursor_returns_what_follows_it(frames: list[bytes], data: st.DataObject) -> None:
    stream = Stream()
    for frame in frames:
        stream.append(frame)
    whole = b"".join(frames)
    cursor = data.draw(st.integers(0, len(whole) - 1))
    bytes_max = data.draw(st.integers(1, 200))

    read = stream.read(cursor, bytes_max)

    assert read
    assert whole[cursor:].startswith(read)
    assert len(read) <= max(bytes_max, 12)


@given(FRAMES, st.data())
def test_the_rest_of_a_cut_frame_ends_where_the_frame_does(frames: list[bytes], data: st.DataObject) -> None:
    stream = Stream()
    for frame in frames:
        stream.append(frame)
    ends = [sum(map(len, frames[: count + 1])) for count in range(len(frames))]
    cursor = data.draw(st.integers(0, ends[-1]))

    expected = cursor if cursor in (0, *ends) else min(end for end in ends if end > cursor)

    assert stream.frame_end(cursor) == expected
    assert stream.frames_behind(cursor) == sum(end > cursor for end in ends)


@given(FRAMES, FRAMES, st.data())
def test_trimming_keeps_everything_after_the_slowest_cursor(
    before: list[bytes], after: list[bytes], data: st.DataObject
) -> None:
    stream = Stream()
    for frame in before:
        stream.append(frame)
    slowest = data.draw(st.integers(0, stream.end))

    stream.trim(slowest)
    for frame in after:
        stream.append(frame)

    whole = b"".join(before + after)
    assert stream.start <= slowest
    assert stream.read(slowest, len(whole)) == whole[slowest:]


def test_equal_cursors_read_the_same_object() -> None:
    """A thousand clients that are due the same three frames must not cost a thousand joins."""
    stream = Stream()
    for frame in (b"one", b"two", b"three"):
        stream.append(frame)

    assert stream.read(0, 100) is stream.read(0, 100)
    assert stream.read(0, 100) == b"onetwothree"


def test_what_everyone_has_is_not_kept() -> None:
    stream = Stream()
    stream.append(b"x" * 1000)
    stream.read(0, 2000)

    stream.trim(stream.end)

    assert stream.frame_count == 0
    assert stream.start == stream.end == 1000
