"""sFlow version 5: counters of interfaces in a datagram (sflow.org, sflow_version_5.txt).

Samples of packets, and counters of other kinds, are passed over.
"""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.errors import LabError
from netloom.ops.observe.devices import PortValue

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SflowDatagram", "parse_datagram"]

VERSION: Final = 5
IPV4, IPV6 = 1, 2
COUNTERS, COUNTERS_EXPANDED = 2, 4  # of data_format in a sample_record, enterprise 0
GENERIC: Final = 1  # if_counters, of data_format in a counter_record
MAX_SAMPLES: Final = 4096
# index, type, speed, direction, status, in: octets, 3 x packets, discards, errors, unknown;
# out: octets, 3 x packets, discards, errors; promiscuous
_IF: Final = struct.Struct(">IIQIIQIIIIIIQIIIIII")
UNKNOWN: Final = {4: 0xFFFF_FFFF, 8: 0xFFFF_FFFF_FFFF_FFFF}


@dataclass(frozen=True, slots=True, kw_only=True)
class SflowDatagram:
    """One datagram.

    Attributes:
        agent: The address of the switch.
        values: Counters and states; a port goes by ``ifindex12``.
    """

    agent: str
    values: tuple[PortValue, ...]


class _DatagramReader:
    """Reads big-endian words, never beyond the end."""

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, 0

    def take(self, num_bytes: int) -> bytes:
        """Return the next bytes.

        Raises:
            LabError: there are not as many.
        """
        end = self._place + num_bytes
        if end > len(self._data):
            message = "an sFlow datagram ends too early"
            raise LabError(message)
        taken, self._place = self._data[self._place : end], end
        return taken

    def word(self) -> int:
        return int.from_bytes(self.take(4), "big")

    def opaque(self) -> bytes:
        """Return what stands behind its length, which is padded to words."""
        size = self.word()
        return self.take((size + 3) & ~3)[:size]


def parse_datagram(data: bytes) -> SflowDatagram:
    """Return what a datagram says of interfaces.

    Raises:
        LabError: it is not sFlow version 5.
    """
    words = _DatagramReader(data)
    if words.word() != VERSION:
        message = "not sFlow version 5"
        raise LabError(message)
    agent = _address(words)
    words.take(12)  # sub-agent, sequence number, uptime
    values: list[PortValue] = []
    for _ in range(min(words.word(), MAX_SAMPLES)):
        kind, body = words.word(), words.opaque()
        if kind in {COUNTERS, COUNTERS_EXPANDED}:
            values += _counters(_DatagramReader(body), is_expanded=kind == COUNTERS_EXPANDED)
    return SflowDatagram(agent=agent, values=tuple(values))


def _address(words: _DatagramReader) -> str:
    kind = words.word()
    if kind == IPV4:
        return str(ipaddress.IPv4Address(words.take(4)))
    if kind == IPV6:
        return str(ipaddress.IPv6Address(words.take(16)))
    message = "an sFlow agent without an address"
    raise LabError(message)


def _counters(words: _DatagramReader, *, is_expanded: bool) -> Iterator[PortValue]:
    words.take(12 if is_expanded else 8)  # sequence number, source (two words when expanded)
    for _ in range(min(words.word(), MAX_SAMPLES)):
        kind, body = words.word(), words.opaque()
        if kind == GENERIC and len(body) >= _IF.size:
            yield from _interface(body)


def _interface(body: bytes) -> Iterator[PortValue]:
    row = _IF.unpack_from(body)
    port, status = f"ifindex{row[0]}", row[4]
    is_up = bool(status & 2)
    yield PortValue(port, "admin_up", float(status & 1))
    yield PortValue(port, "link_up", float(is_up))
    if is_up and 0 < row[2] < UNKNOWN[8]:
        yield PortValue(port, "rate_bps", float(row[2]))
    for metric, value, size in (
        ("received_bytes", row[5], 8),
        ("receive_discards", row[9], 4),
        ("receive_errors", row[10], 4),
        ("sent_bytes", row[12], 8),
        ("send_discards", row[16], 4),
        ("send_errors", row[17], 4),
    ):
        if value != UNKNOWN[size]:
            yield PortValue(port, metric, float(value))
    for metric, parts in (("received_packets", row[6:9]), ("sent_packets", row[13:16])):
        if parts[0] != UNKNOWN[4]:
            known = (part for part in parts if part != UNKNOWN[4])
            yield PortValue(port, metric, float(sum(known)))
