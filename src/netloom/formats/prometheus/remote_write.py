"""Prometheus remote write 1.0: samples as a WriteRequest in protobuf, compressed by snappy.

Both are written by hand, since a request has four small messages: WriteRequest{timeseries = 1},
TimeSeries{labels = 1, samples = 2}, Label{name = 1, value = 2}, Sample{value = 1, timestamp = 2}
(prometheus/prompb/types.proto). A label that was written before is a copy of it to snappy, which
finds no other repetition: labels are most of a request.
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["STALE", "RequestWriter", "SnappyBlock", "labels_of"]

# The NaN that says that a series has ended (prometheus/model/value).
STALE: Final = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]
_STALE_BYTES: Final = struct.pack("<Q", 0x7FF0000000000002)
_LABEL: Final = re.compile(r'(?P<name>[a-zA-Z_]\w{0,100})="(?P<value>(?:[^"\\]|\\.){0,2000})"')
_ESCAPE: Final = re.compile(r"\\(.)")
MAX_COPY: Final = 64
MIN_COPY: Final = 6  # a copy takes five bytes
MAX_SHORT: Final = 60


def labels_of(text: str) -> dict[str, str]:
    r"""Return the labels of a sample as the text format has them.

    >>> labels_of('{device="leaf:3[7]",port="1"}')
    {'device': 'leaf:3[7]', 'port': '1'}
    """
    return {
        match["name"]: _ESCAPE.sub(lambda m: "\n" if m[1] == "n" else m[1], match["value"])
        for match in _LABEL.finditer(text)
    }


class SnappyBlock:
    """Data in snappy's block format, written piece by piece (google/snappy, format_description)."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._waiting = bytearray()
        self._length = 0
        self._seen: dict[bytes, int] = {}

    def put(self, piece: bytes) -> None:
        """Write what may come again: then it is a copy."""
        place = self._seen.get(piece)
        if place is None:
            if MIN_COPY <= len(piece) <= MAX_COPY:
                self._seen[piece] = self._length
            self.put_once(piece)
            return
        self._flush()
        self._parts.append(struct.pack("<BI", (len(piece) - 1) << 2 | 3, self._length - place))
        self._length += len(piece)

    def put_once(self, piece: bytes) -> None:
        """Write what will hardly come again."""
        self._waiting += piece
        self._length += len(piece)

    def bytes(self) -> bytes:
        """Return the block: the length of what it holds, then literals and copies."""
        self._flush()
        return _varint(self._length) + b"".join(self._parts)

    def _flush(self) -> None:
        size = len(self._waiting) - 1
        if size < 0:
            return
        if size < MAX_SHORT:
            head = bytes([size << 2])
        else:
            width = (size.bit_length() + 7) // 8
            head = bytes([(MAX_SHORT - 1 + width) << 2]) + size.to_bytes(width, "little")
        self._parts += [head, bytes(self._waiting)]
        self._waiting.clear()


class RequestWriter:
    """Makes requests of samples; labels that it has written before cost little.

    Args:
        labels: Of all series, such as ``job``.
    """

    def __init__(self, labels: Mapping[str, str]) -> None:
        self._labels = dict(labels)
        self._pieces: dict[tuple[str, str], tuple[bytes, ...]] = {}

    def request(self, samples: Iterable[tuple[str, str, float]], time_s: float) -> bytes:
        """Return a request with one sample of each series, compressed.

        Args:
            samples: Family, labels in the text format, value; :data:`STALE` ends a series.
            time_s: When, seconds since 1970.
        """
        block = SnappyBlock()
        stamp = b"\x10" + _varint(round(time_s * 1000))
        for name, labels, value in samples:
            pieces = self._known(name, labels)
            number = _STALE_BYTES if value != value else struct.pack("<d", value)  # noqa: PLR0124
            sample = b"\x09" + number + stamp
            length = sum(map(len, pieces)) + 2 + len(sample)
            block.put_once(b"\x0a" + _varint(length))
            for piece in pieces:
                block.put(piece)
            block.put_once(b"\x12" + bytes([len(sample)]) + sample)
        return block.bytes()

    def _known(self, name: str, labels: str) -> tuple[bytes, ...]:
        key = (name, labels)
        if key not in self._pieces:
            all_labels = {**self._labels, **labels_of(labels), "__name__": name}
            self._pieces[key] = tuple(
                _field(1, _field(1, label.encode()) + _field(2, value.encode()))
                for label, value in sorted(all_labels.items())
                if value
            )
        return self._pieces[key]

    def forget(self, gone: Iterable[tuple[str, str]]) -> None:
        """Remember no more the series of these families and labels."""
        for key in gone:
            self._pieces.pop(key, None)


def _field(number: int, data: bytes) -> bytes:
    """Return a field of bytes: its number, its length, itself."""
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
