"""How switches mark for schemes that need it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.engines.packet.ecn import Ecn

if TYPE_CHECKING:
    from netloom.parts.parts import Technology

__all__ = ["at_queue_shares", "red", "step"]

# DCTCP's step at 30 KB x bw/10 Gb/s: HPCC-ns3 run.py.
_STEP: Final = Ecn(kmin_bytes=30_000, kmax_bytes=30_000, pmax=1.0, at_rate_bps=10e9)
# InfiniBand's threshold weight 15 has no unit in the specification: half a lane's buffer, assumed.
# Ten packets between marks on average: marking rate 0xA (Mellanox OFED 2.x manual).
_FECN: Final = Ecn(kmin_bytes=65_536, kmax_bytes=65_536, pmax=1 / 11, at_rate_bps=0, at_roots=True)


def red(technology: Technology, flow_control: str) -> Ecn:
    """Return marks that grow with the queue; InfiniBand's own where flow control is credits."""
    del technology
    return _FECN if flow_control == "credits" else Ecn()


def step(technology: Technology, flow_control: str) -> Ecn:
    """Return DCTCP's marks: all packets beyond one threshold."""
    del technology, flow_control
    return _STEP


def at_queue_shares(technology: Technology, flow_control: str = "") -> Ecn:
    """Return UET's marks, between a quarter and three quarters of its queue."""
    del flow_control
    packet = int(technology.payload_bytes + technology.header_bytes)
    # uet-htsim: 25 and 75 of 100 packets
    return Ecn(kmin_bytes=25 * packet, kmax_bytes=75 * packet, pmax=1.0, at_rate_bps=0)
