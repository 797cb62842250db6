"""Chakra execution traces: ``PREFIX.<rank>.et`` and the file of groups beside them.

A trace is a stream of protobuf messages, each after its length as a varint: one
``GlobalMetadata``, then a ``Node`` each (mlcommons/chakra, schema/protobuf/et_def.proto). The few
messages are read and written here, without a protobuf library.
"""

from __future__ import annotations

import gzip
import json
import struct
import zlib
from typing import TYPE_CHECKING, BinaryIO, Final, TypeVar, cast

from netloom.errors import SpecError
from netloom.workload.trace import NodeKind, TraceNode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from netloom.workload.trace import AttributeValue

__all__ = [
    "MAX_FILE_BYTES",
    "MAX_MESSAGE_BYTES",
    "MAX_NODES",
    "VERSIONS",
    "parse",
    "parse_groups",
    "render",
    "render_groups",
]

_Item = TypeVar("_Item")

VERSIONS: Final = ("0.0.4", "1.0.0")  # et_generator and ASTRA-sim; newer converters
MAX_MESSAGE_BYTES: Final = 1 << 24  # a node of a real trace has some hundred bytes
MAX_NODES: Final = 5_000_000  # of one rank
MAX_FILE_BYTES: Final = 1 << 33  # of one rank, unpacked

_VARINT, _FIXED64, _DELIMITED, _FIXED32 = 0, 1, 2, 5  # protobuf's wire types
_MAX_VARINT_BYTES: Final = 10
_GZIP: Final = b"\x1f\x8b"
_TWO_64: Final = 1 << 64
# Integers that readers look for in another field than int64_val (et_feeder_node.cpp).
_INT32_NAMES: Final = frozenset({"comm_src", "comm_dst", "comm_tag", "comm_priority"})
_UINT64_NAMES: Final = frozenset({"tensor_size"})
# Scalars of AttributeProto.value; lists and bytes are passed over.
_DOUBLE, _FLOAT, _INT32, _INT64, _UINT64, _BOOL, _STRING = 3, 5, 7, 9, 13, 27, 29
_SIGNED: Final = frozenset({_INT32, _INT64})
_UNSIGNED: Final = frozenset({11, _UINT64})
_ZIGZAG: Final = frozenset({15, 17})
_PACKED_AS: Final = {_DOUBLE: "<d", _FLOAT: "<f", 19: "<I", 21: "<Q", 23: "<i", 25: "<q"}


class _Malformed(Exception):  # noqa: N818  (an inner signal; users see SpecError)
    """What is wrong, and at which byte of the unpacked stream."""

    def __init__(self, at_byte: int, what: str) -> None:
        super().__init__(what)
        self.at_byte = at_byte
        self.what = what


def parse(stream: BinaryIO, *, where: str) -> tuple[str, Iterator[TraceNode]]:
    """Return the version that a trace names and its nodes, read as they are asked for.

    The stream may be gzip and must be able to seek; it has to stay open while nodes are taken.
    Attributes that are lists or bytes, and the descriptions of inputs and outputs, are passed
    over. The version is empty where the writer left it out.

    Raises:
        SpecError: it is no such trace, is cut off, or is larger than the limits; for nodes, when
            they are reached.
    """
    messages = _told(_messages(_unpacked(stream)), where)
    at_byte, first = next(messages, (0, None))
    if first is None:
        raise SpecError(what=f"{where}: byte 0: the file is empty", remedy="write the trace again")
    try:
        version = _version(first, at_byte)
    except _Malformed as error:
        raise _wrong(error, where) from error
    return version, _told(_nodes(messages), where)


def render(nodes: Iterable[TraceNode], *, version: str = VERSIONS[0]) -> Iterator[bytes]:
    """Yield the messages of a trace, each with its length before it."""
    yield _with_length(_text(1, version))
    for node in nodes:
        yield _with_length(_node_message(node))


def parse_groups(text: str, *, where: str) -> dict[str, tuple[int, ...]]:
    """Return the ranks of each group: ``{"1": [0, 1]}``, as ASTRA-sim reads them.

    Raises:
        SpecError: it is not that.
    """
    remedy = 'write {"1": [0, 1, 2, 3]}, a list of ranks for each group'
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SpecError(what=f"{where}: not JSON ({str(error)[:80]})", remedy=remedy) from error
    if not isinstance(found, dict):
        raise SpecError(what=f"{where}: no groups by name", remedy=remedy)
    for name, ranks in found.items():
        if not _are_ranks(ranks):
            raise SpecError(
                what=f"{where}: group {name[:40]!r} is no list of distinct ranks", remedy=remedy
            )
    return {name: tuple(sorted(ranks)) for name, ranks in found.items()}


def render_groups(groups: Mapping[str, tuple[int, ...]]) -> str:
    """Return the text that :func:`parse_groups` reads."""
    lines = (f"  {json.dumps(name)}: {json.dumps(list(ranks))}" for name, ranks in groups.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _are_ranks(ranks: object) -> bool:
    if not isinstance(ranks, list) or not ranks:
        return False
    whole = all(type(rank) is int and 0 <= rank < 1 << 31 for rank in ranks)
    return whole and len(set(ranks)) == len(ranks)


def _unpacked(stream: BinaryIO) -> BinaryIO:
    head = stream.read(len(_GZIP))
    stream.seek(0)
    return cast("BinaryIO", gzip.GzipFile(fileobj=stream)) if head == _GZIP else stream


def _wrong(error: _Malformed, where: str) -> SpecError:
    remedy = "give a Chakra .et trace, whole and of one rank, and write it again if it is damaged"
    return SpecError(f"{where}: byte {error.at_byte:,}: {error.what}; {remedy}")


def _told(items: Iterator[_Item], where: str) -> Iterator[_Item]:
    """Yield *items*, with what is wrong told as SpecError."""
    try:
        yield from items
    except _Malformed as error:
        raise _wrong(error, where) from error


def _messages(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield every message with the byte that it starts at."""
    at_byte = 0
    while True:
        length, taken = _length(stream, at_byte)
        if not taken:
            return
        if length > MAX_MESSAGE_BYTES:
            what = f"a message of {length:,} bytes, over the {MAX_MESSAGE_BYTES:,} that are read"
            raise _Malformed(at_byte, what)
        at_byte += taken
        content = _take(stream, length, at_byte)
        if len(content) < length:
            what = f"cut off: {length:,} bytes announced, {len(content):,} there"
            raise _Malformed(at_byte, what)
        yield at_byte, content
        at_byte += length
        if at_byte > MAX_FILE_BYTES:
            raise _Malformed(at_byte, f"more than {MAX_FILE_BYTES:,} bytes unpacked")


def _length(stream: BinaryIO, at_byte: int) -> tuple[int, int]:
    """Return the next message's length and the bytes it is written in; 0 bytes at the end."""
    read = bytearray()
    while len(read) < _MAX_VARINT_BYTES:
        one = _take(stream, 1, at_byte)
        if not one:
            if read:
                raise _Malformed(at_byte, "cut off inside a length")
            return 0, 0
        read += one
        if one[0] < 0x80:
            return _varint(bytes(read), 0, at_byte)[0], len(read)
    raise _Malformed(at_byte, "no length of a message")


def _take(stream: BinaryIO, count: int, at_byte: int) -> bytes:
    try:
        return stream.read(count)
    except (EOFError, OSError, zlib.error) as error:
        raise _Malformed(at_byte, f"cannot be read ({error})") from error


def _varint(data: bytes, position: int, base: int) -> tuple[int, int]:
    """Return the number at *position* and the position after it."""
    value = shift = 0
    for index in range(position, min(len(data), position + _MAX_VARINT_BYTES)):
        byte = data[index]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value % _TWO_64, index + 1
        shift += 7
    raise _Malformed(base + position, "a number without end")


def _fields(data: bytes, base: int) -> Iterator[tuple[int, int | bytes, int]]:
    """Yield the number, the value and the byte of every field of a message."""
    position = 0
    while position < len(data):
        start = position
        key, position = _varint(data, position, base)
        number, wire = key >> 3, key & 7
        if number == 0:
            raise _Malformed(base + start, "a field numbered 0")
        if wire == _VARINT:
            value, position = _varint(data, position, base)
            yield number, value, base + start
            continue
        length = {_FIXED64: 8, _FIXED32: 4}.get(wire)
        if wire == _DELIMITED:
            length, position = _varint(data, position, base)
        if length is None:
            raise _Malformed(base + start, f"wire type {wire}, which traces do not use")
        if length > len(data) - position:
            raise _Malformed(base + start, f"field {number} runs over the end of its message")
        yield number, data[position : position + length], base + position
        position += length


def _version(data: bytes, base: int) -> str:
    version = ""
    for number, value, at_byte in _fields(data, base):
        if number == 1:
            version = _as_text(value, at_byte)
    if version and version not in VERSIONS:
        known = " and ".join(VERSIONS)
        raise _Malformed(base, f"version {version[:40]!r}, where {known} are known")
    return version


def _nodes(messages: Iterator[tuple[int, bytes]]) -> Iterator[TraceNode]:
    seen: set[int] = set()
    for at_byte, content in messages:
        node = _node(content, at_byte)
        if node.node_id in seen:
            raise _Malformed(at_byte, f"a second node {node.node_id}")
        seen.add(node.node_id)
        if len(seen) > MAX_NODES:
            raise _Malformed(at_byte, f"more than {MAX_NODES:,} nodes")
        yield node


def _node(data: bytes, base: int) -> TraceNode:
    numbers = {1: 0, 3: 0, 6: 0, 7: 0}  # id, type, start and duration
    listed: dict[int, list[int]] = {4: [], 5: []}  # control and data dependencies
    name = ""
    attributes: dict[str, AttributeValue] = {}
    for number, value, at_byte in _fields(data, base):
        if number in numbers:
            numbers[number] = _as_number(value, at_byte)
        elif number in listed:
            listed[number] += _as_numbers(value, at_byte)
        elif number == 2:
            name = _as_text(value, at_byte)
        elif number == 10:
            attributes.update(_attribute(value, at_byte))
    if numbers[3] not in NodeKind._value2member_map_:
        raise _Malformed(base, f"node {numbers[1]} is of type {numbers[3]}, which is unknown")
    return TraceNode(
        node_id=numbers[1],
        name=name,
        kind=NodeKind(numbers[3]),
        needs=tuple(listed[5]),
        follows=tuple(listed[4]),
        start_us=numbers[6],
        duration_us=numbers[7],
        attributes=attributes,
    )


def _attribute(data: int | bytes, base: int) -> dict[str, AttributeValue]:
    """Return the name and scalar value of an AttributeProto; nothing where it has another."""
    name = ""
    found: AttributeValue | None = None
    for number, value, at_byte in _fields(_as_bytes(data, base), base):
        if number == 1:
            name = _as_text(value, at_byte)
        elif number > 2:
            found = _scalar(number, value, at_byte)
    return {} if found is None else {name: found}


def _scalar(number: int, value: int | bytes, at_byte: int) -> AttributeValue | None:
    if number == _STRING:
        return _as_text(value, at_byte)
    if number in _PACKED_AS:
        return _as_packed(_PACKED_AS[number], value, at_byte)
    if number == _BOOL:
        return _as_number(value, at_byte) != 0
    if number in _SIGNED | _UNSIGNED | _ZIGZAG:
        return _as_integer(number, _as_number(value, at_byte))
    return None


def _as_integer(number: int, raw: int) -> int:
    if number in _ZIGZAG:
        return (raw >> 1) ^ -(raw & 1)
    if number in _SIGNED and raw >= _TWO_64 // 2:
        return raw - _TWO_64
    return raw


def _as_packed(form: str, value: int | bytes, at_byte: int) -> float | int:
    data = _as_bytes(value, at_byte)
    if len(data) != struct.calcsize(form):
        raise _Malformed(at_byte, f"{len(data)} bytes where {struct.calcsize(form)} are a number")
    found: float | int = struct.unpack(form, data)[0]
    return found


def _as_number(value: int | bytes, at_byte: int) -> int:
    if isinstance(value, bytes):
        raise _Malformed(at_byte, "bytes where a number belongs")
    return value


def _as_bytes(value: int | bytes, at_byte: int) -> bytes:
    if isinstance(value, int):
        raise _Malformed(at_byte, "a number where bytes belong")
    return value


def _as_text(value: int | bytes, at_byte: int) -> str:
    try:
        return _as_bytes(value, at_byte).decode("utf-8")
    except UnicodeDecodeError as error:
        raise _Malformed(at_byte, "text that is not UTF-8") from error


def _as_numbers(value: int | bytes, at_byte: int) -> list[int]:
    """Return one element of a repeated number, or all of them packed: both forms are in use."""
    if isinstance(value, int):
        return [value]
    found, position = [], 0
    while position < len(value):
        number, position = _varint(value, position, at_byte)
        found.append(number)
    return found


def _with_length(message: bytes) -> bytes:
    return _number(len(message)) + message


def _node_message(node: TraceNode) -> bytes:
    parts = [_whole(1, node.node_id), _text(2, node.name), _whole(3, node.kind)]
    for number, ids in ((4, node.follows), (5, node.needs)):
        if ids:
            parts.append(_bytes(number, b"".join(map(_number, ids))))
    for number, value in ((6, node.start_us), (7, node.duration_us)):
        if value:
            parts.append(_whole(number, value))
    parts += [_bytes(10, _attribute_message(*item)) for item in node.attributes.items()]
    return b"".join(parts)


def _attribute_message(name: str, value: AttributeValue) -> bytes:
    head = _text(1, name)
    if isinstance(value, bool):
        return head + _whole(_BOOL, value)
    if isinstance(value, str):
        return head + _text(_STRING, value)
    if isinstance(value, float):
        return head + _number(_DOUBLE << 3 | _FIXED64) + struct.pack("<d", value)
    if name in _INT32_NAMES and -(1 << 31) <= value < 1 << 31:
        return head + _whole(_INT32, value)
    large = value >= _TWO_64 // 2 or (name in _UINT64_NAMES and value >= 0)
    return head + _whole(_UINT64 if large else _INT64, value)


def _number(value: int) -> bytes:
    left = value % _TWO_64
    written = bytearray()
    while left > 0x7F:
        written.append(left & 0x7F | 0x80)
        left >>= 7
    written.append(left)
    return bytes(written)


def _whole(number: int, value: int) -> bytes:
    return _number(number << 3 | _VARINT) + _number(value)


def _bytes(number: int, content: bytes) -> bytes:
    return _number(number << 3 | _DELIMITED) + _number(len(content)) + content


def _text(number: int, value: str) -> bytes:
    return _bytes(number, value.encode("utf-8"))
