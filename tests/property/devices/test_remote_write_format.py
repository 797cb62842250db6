"""What is compressed for remote write comes out as it went in, by a reader of its own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from netloom.formats.prometheus.remote_write import RequestWriter, SnappyBlock, labels_of


def varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return number, at


def unsnapped(data: bytes) -> bytes:
    """Return what a block of snappy holds, by its format's description."""
    length, at = varint(data, 0)
    out = bytearray()
    while at < len(data):
        tag, at = data[at], at + 1
        if tag & 3 == 0:
            size = tag >> 2
            if size >= 60:
                width = size - 59
                size, at = int.from_bytes(data[at : at + width], "little"), at + width
            out += data[at : at + size + 1]
            at += size + 1
        else:
            assert tag & 3 == 3
            offset, at = int.from_bytes(data[at : at + 4], "little"), at + 4
            start = len(out) - offset
            assert start >= 0
            out += out[start : start + (tag >> 2) + 1]
    assert len(out) == length
    return bytes(out)


PIECES = st.binary(max_size=80) | st.sampled_from([b"abcdef", b"x" * 64, b"y" * 65, b"longer one"])


@given(st.lists(st.tuples(PIECES, st.booleans()), max_size=40), st.integers(0, 70_000))
def test_blocks_hold_what_was_put_in(pieces: list[tuple[bytes, bool]], gap: int) -> None:
    block = SnappyBlock()
    for place, (piece, is_rare) in enumerate(pieces):
        (block.put_once if is_rare else block.put)(piece)
        if place == 5:
            block.put_once(b"\0" * gap)
    wanted = b"".join(piece for piece, _ in pieces)
    if len(pieces) > 5:
        head = b"".join(piece for piece, _ in pieces[:6])
        wanted = head + b"\0" * gap + wanted[len(head) :]
    assert unsnapped(block.bytes()) == wanted


NAMES = st.sampled_from(["part", "device", "kind"])


@given(st.dictionaries(NAMES, st.text(max_size=100), max_size=3), st.text(max_size=40))
def test_labels_are_read_as_they_were_written(labels: dict[str, str], text: str) -> None:
    def escaped(value: str) -> str:
        return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    written = ",".join(f'{name}="{escaped(value)}"' for name, value in labels.items())
    assert labels_of(f"{{{written}}}") == labels
    labels_of(text)


def test_a_label_that_comes_again_costs_five_bytes() -> None:
    """Of 1,000 series of 20 parts: 14 bytes of head, three copies, and 18 of sample each."""
    rows = [
        (f"netloom_family_{n % 50}_total", f'{{part="leaf:{n // 50}[7]"}}', 1.0)
        for n in range(1000)
    ]
    body = RequestWriter({"job": "netloom"}).request(rows, 1.7e9)
    whole = len(unsnapped(body))
    assert len(body) < 45 * 1000 < whole
