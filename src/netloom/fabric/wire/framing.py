"""Every byte a packet occupies on the wire, transport by transport.

Bytes count from one packet's start to the next one's: preamble, delimiter and inter-frame gap
are headers here. Line coding and FEC lie below the rate that links are sold by and cost nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from netloom.provenance import Source

if TYPE_CHECKING:
    from netloom.parts.parts import Technology

__all__ = [
    "Header",
    "IpVersion",
    "Transport",
    "efficiency",
    "headers",
    "overhead_bytes",
    "wire_bytes",
]

Transport = Literal["ib-rc", "rocev1-rc", "rocev2-rc", "iwarp", "tcp", "uet", "mrc", "srd", "cxi"]
IpVersion = Literal[4, 6]

_IB_PACK = Source(citation="Linux include/rdma/ib_pack.h, commit 0b11904", confidence="published")
_IBTA = Source(
    citation="InfiniBand Architecture Specification vol. 1, chapters 6, 7 and 9",
    confidence="recalled",
)
_ETHERNET = Source(citation="IEEE 802.3, clause 3 and 4.4.2", confidence="recalled")
_TCP = Source(
    citation="RFC 9293 and RFC 7323 (20 bytes and a timestamp option)", confidence="recalled"
)
_UDP = Source(citation="RFC 768", confidence="recalled")
_IP6 = Source(citation="RFC 8200", confidence="recalled")
_IWARP = Source(citation="RFC 5044 (MPA, no markers), RFC 5041 and RFC 5040", confidence="recalled")
_UET = Source(
    citation="accounts of the Ultra Ethernet specification 1.0 (2025)", confidence="secondary"
)
_MRC = Source(
    citation="multiplanar.agentic24x7.net, MRC packets: IPv6 in IPv6, address in each packet",
    confidence="secondary",
    note="the MRC 1.0 specification itself was not read",
)
_NOT_PUBLIC = Source(
    citation="no public wire format; as long as RoCEv2's transport headers", confidence="assumed"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """One field or trailer of a packet and the bytes it takes."""

    name: str
    size_bytes: int
    source: Source


_LRH: Final = Header(name="LRH", size_bytes=8, source=_IB_PACK)
_GRH: Final = Header(name="GRH", size_bytes=40, source=_IB_PACK)
_BTH: Final = Header(name="BTH", size_bytes=12, source=_IB_PACK)
_RETH: Final = Header(name="RETH", size_bytes=16, source=_IBTA)
_ICRC: Final = Header(name="ICRC", size_bytes=4, source=_IB_PACK)
_VCRC: Final = Header(name="VCRC", size_bytes=2, source=_IBTA)
_ETH: Final = Header(name="Ethernet", size_bytes=14, source=_IB_PACK)
_IP4: Final = Header(name="IPv4", size_bytes=20, source=_IB_PACK)
_IP6_HEADER: Final = Header(name="IPv6", size_bytes=40, source=_IP6)
_UDP_HEADER: Final = Header(name="UDP", size_bytes=8, source=_UDP)
_TCP_HEADER: Final = Header(name="TCP with timestamps", size_bytes=32, source=_TCP)
_FCS: Final = Header(name="FCS", size_bytes=4, source=_ETHERNET)
_GAP: Final = Header(name="preamble and inter-frame gap", size_bytes=20, source=_ETHERNET)

# RDMA WRITE puts its address into the first packet only (InfiniBand vol. 1, section 9.3; recalled).
_FIRST_PACKET: Final[dict[str, Header]] = {
    "ib-rc": _RETH,
    "rocev1-rc": _RETH,
    "rocev2-rc": _RETH,
}
# BTH counts pad bytes: payloads travel in whole words (InfiniBand vol. 1, section 9.2.3; recalled).
_WORD_BYTES: Final = 4
# 64 bytes from address to FCS (IEEE 802.3, 4A.4.2; recalled) and the gap.
_MIN_FRAME_BYTES: Final = 64 + _GAP.size_bytes


def headers(
    transport: Transport, *, ip_version: IpVersion = 4, routed: bool = False
) -> tuple[Header, ...]:
    """Return the headers and trailers of a middle packet, in wire order.

    Args:
        transport: Which packet format. ``uet`` is the RUD service with standard addressing,
            without the receiver's congestion control (4 more), security or payload CRC.
        ip_version: For the transports that run over IP; ``mrc`` has version 6 only.
        routed: For ``ib-rc``, whether packets carry a GRH because they leave the subnet.
    """
    if transport == "ib-rc":
        return (_LRH, *((_GRH,) if routed else ()), _BTH, _ICRC, _VCRC)
    if transport == "rocev1-rc":
        return (_ETH, _GRH, _BTH, _ICRC, _FCS, _GAP)
    network = _IP6_HEADER if ip_version == 6 or transport == "mrc" else _IP4
    return (_ETH, network, *_over_ip(transport), _FCS, _GAP)


def _over_ip(transport: Transport) -> tuple[Header, ...]:
    layers: dict[str, tuple[Header, ...]] = {
        "rocev2-rc": (_UDP_HEADER, _BTH, _ICRC),
        "mrc": (
            Header(name="inner IPv6", size_bytes=40, source=_MRC),
            _UDP_HEADER,
            _BTH,
            Header(name="RETH", size_bytes=16, source=_MRC),
            _ICRC,
        ),
        "tcp": (_TCP_HEADER,),
        "iwarp": (
            _TCP_HEADER,
            Header(name="MPA length", size_bytes=2, source=_IWARP),
            Header(name="DDP and RDMAP, tagged", size_bytes=14, source=_IWARP),
            Header(name="MPA CRC", size_bytes=4, source=_IWARP),
        ),
        "uet": (
            _UDP_HEADER,
            Header(name="PDS, RUD", size_bytes=12, source=_UET),
            Header(name="SES, standard", size_bytes=44, source=_UET),
        ),
        "srd": (_UDP_HEADER, Header(name="SRD", size_bytes=16, source=_NOT_PUBLIC)),
        "cxi": (Header(name="Slingshot transport", size_bytes=24, source=_NOT_PUBLIC),),
    }
    return layers[transport]


def overhead_bytes(transport: Transport, *, ip_version: IpVersion = 4, routed: bool = False) -> int:
    """Return what a middle packet adds to its payload on the wire."""
    return sum(h.size_bytes for h in headers(transport, ip_version=ip_version, routed=routed))


def efficiency(payload_bytes: float, overhead_bytes: float) -> float:
    """Return the share of the wire that full packets leave to their payload."""
    return payload_bytes / (payload_bytes + overhead_bytes)


def wire_bytes(message_bytes: float, technology: Technology) -> float:
    """Return the bytes that a message occupies on each link, one way, acknowledgements apart.

    Full packets and a last one that may be short; the RDMA address in the first packet; the last
    payload padded to whole words where BTH asks for it; short Ethernet frames padded to 64 bytes.
    """
    num_full = max(0, math.ceil(message_bytes / technology.payload_bytes) - 1)
    full = num_full * (technology.payload_bytes + technology.header_bytes)
    first = _FIRST_PACKET.get(technology.transport)
    address = first.size_bytes if first else 0
    payload = message_bytes - num_full * technology.payload_bytes
    if first:
        payload = math.ceil(payload / _WORD_BYTES) * _WORD_BYTES
    last = technology.header_bytes + payload + (0 if num_full else address)
    if technology.protocol != "infiniband":
        last = max(last, _MIN_FRAME_BYTES)
    return full + last + (address if num_full else 0)
