"""Valid WebSocket streams of all kinds for property tests, and ways to split them."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from app.core.protocol.websocket import Message, Opcode, encode_frame

BOUND = 5_000
"""Maximum size of a message; small enough that examples reach it."""

noise = st.binary(max_size=300)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A valid stream and the messages in it."""

    stream: bytes
    messages: list[Message]


controls = st.builds(Message, st.sampled_from([Opcode.PING, Opcode.PONG]), st.binary(max_size=125))
texts = st.text(max_size=400).map(lambda text: Message(Opcode.TEXT, text.encode()))
binaries = st.one_of(st.binary(max_size=400), st.binary(min_size=4_000, max_size=BOUND)).map(
    lambda data: Message(Opcode.BINARY, data)
)


def frame(opcode: Opcode, payload: bytes, *, mask: bytes | None, final: bool = True) -> bytes:
    whole = encode_frame(opcode, payload, mask=mask)
    return whole if final else bytes([whole[0] & 0x7F]) + whole[1:]


@st.composite
def conversations(draw: st.DrawFn, *, from_client: bool) -> Conversation:
    """Generate messages, fragmented anywhere, with control frames between any frames."""
    stream, messages = b"", []

    def mask() -> bytes | None:
        return draw(st.binary(min_size=4, max_size=4)) if from_client else None

    for message in draw(st.lists(st.one_of(texts, binaries), max_size=5)):
        size = len(message.payload)
        cuts = sorted(draw(st.lists(st.integers(0, size), max_size=3)))
        pieces = pieces_of(message.payload, cuts)
        for number, piece in enumerate(pieces):
            for control in draw(st.lists(controls, max_size=2)):
                stream += frame(control.opcode, control.payload, mask=mask())
                messages.append(control)
            opcode = Opcode.CONTINUATION if number else message.opcode
            stream += frame(opcode, piece, mask=mask(), final=number == len(pieces) - 1)
        messages.append(message)
    return Conversation(stream, messages)


def pieces_of(data: bytes, cuts: list[int]) -> list[bytes]:
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def split(data: bytes, draw: st.DataObject) -> list[bytes]:
    """Split `data` at a few places, or into single bytes."""
    if draw.draw(st.booleans()):
        return [data[at : at + 1] for at in range(len(data))]
    return pieces_of(data, sorted(draw.draw(st.lists(st.integers(0, len(data)), max_size=8))))
