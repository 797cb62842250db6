"""The networks and settings of published completion times, by the names of data/fct_cases.csv.

Rules: uet-htsim (uec.cpp, main_uec.cpp, compositequeue.cpp; .topo files); NDP, IRN and RoCE stand
in `validate_fct_lossy`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.engines.packet import Ecn, PacketSettings, Switch, Transport
from netloom.fabric.plain_wiring import Cables, wire_up
from netloom.study.validate_fct_lossy import LOSSY_SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from netloom.fabric.wiring import Wiring

__all__ = ["network_of", "settings_of_case"]

_US: Final = 1_000_000
_PAYLOAD_BYTES, _PACKET_BYTES, _ACK_BYTES = 4086, 4150, 64  # uet-htsim main_uec.cpp, uec.cpp


def network_of(name: str) -> Wiring:
    """Return the network that a case names."""
    return _NETWORKS[name]()


def settings_of_case(scheme: str, *, fabric: str, num_paths: int) -> PacketSettings:
    """Return how endpoints and switches of a case behave."""
    if scheme in LOSSY_SETTINGS:
        return LOSSY_SETTINGS[scheme](num_paths)
    return _SETTINGS[scheme](_Setup(fabric=fabric, num_paths=num_paths))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setup:
    """What settings depend on beside the scheme."""

    fabric: str
    num_paths: int


# ---- networks


def _wired(cables: list[tuple[int, int]], num_hosts: int, rate_bps: float, delay_ps: int) -> Wiring:
    lower, upper = (np.array(column, dtype=np.int64) for column in zip(*cables, strict=True))
    num_vertices = int(upper.max()) + 1
    return wire_up(
        Cables(
            lower=lower,
            upper=upper,
            rate_bps=np.full(len(lower), rate_bps),
            delay_ps=np.full(len(lower), delay_ps),
            up=np.ones(len(lower), dtype=np.bool_),
        ),
        num_endpoints=num_hosts,
        name=tuple(f"node:{vertex}" for vertex in range(num_vertices)),
        forward_ps=np.zeros(num_vertices, dtype=np.int64),
    )


def _two_tiers(num_hosts: int, per_leaf: int, rate_bps: float, *, taper: int = 1) -> Wiring:
    """Return an uplink for each *taper* hosts of a leaf, each to its own spine; links of 1 us."""
    num_leaves = num_hosts // per_leaf
    down = [(host, num_hosts + host // per_leaf) for host in range(num_hosts)]
    spine = num_hosts + num_leaves
    up = [
        (num_hosts + leaf, spine + k)
        for leaf in range(num_leaves)
        for k in range(per_leaf // taper)
    ]
    return _wired(down + up, num_hosts, rate_bps, _US)


def _planes(num_planes: int, num_hosts: int, per_leaf: int, rate_bps: float) -> Wiring:
    """Return as many networks of two tiers side by side, of which each host has a port in all."""
    num_leaves = num_hosts // per_leaf
    cables = []
    for plane in range(num_planes):
        leaf = num_hosts + plane * (num_leaves + per_leaf)
        spine = leaf + num_leaves
        cables += [(host, leaf + host // per_leaf) for host in range(num_hosts)]
        cables += [(leaf + n, spine + k) for n in range(num_leaves) for k in range(per_leaf)]
    return _wired(cables, num_hosts, rate_bps, _US)


def _three_tiers(radix: int, rate_bps: float, delay_ps: int = _US) -> Wiring:
    """Return the fat tree of switches with *radix* ports (Al-Fares et al., SIGCOMM 2008)."""
    half = radix // 2
    num_hosts = radix * half * half
    edge, middle = num_hosts, num_hosts + radix * half
    top = middle + radix * half
    switches = range(radix * half)
    cables = [(host, edge + host // half) for host in range(num_hosts)]
    cables += [(edge + s, middle + s // half * half + k) for s in switches for k in range(half)]
    cables += [(middle + s, top + s % half * half + k) for s in switches for k in range(half)]
    return _wired(cables, num_hosts, rate_bps, delay_ps)


_NETWORKS: Final[Mapping[str, Callable[[], Wiring]]] = {
    "uec-8192": lambda: _two_tiers(8192, 64, 400e9),
    "uec-8192-4to1": lambda: _two_tiers(8192, 64, 400e9, taper=4),
    "uec-1024-4to1": lambda: _two_tiers(1024, 32, 100e9, taper=4),
    "uec-1024-8to1": lambda: _two_tiers(1024, 32, 100e9, taper=8),
    "uec-16": lambda: _three_tiers(4, 100e9),
    "uec-128": lambda: _three_tiers(8, 100e9),
    "uec-1024": lambda: _three_tiers(16, 100e9),
    "ndp-432": lambda: _three_tiers(12, 10e9, delay_ps=_US // 2),
    "irn-54": lambda: _three_tiers(6, 40e9, delay_ps=2 * _US),
    "mrc-64": lambda: _two_tiers(64, 8, 100e9),
    "mrc-64-800g": lambda: _two_tiers(64, 8, 800e9),
    "mrc-planes": lambda: _planes(8, 16, 4, 100e9),
    "reps-64": lambda: _two_tiers(64, 16, 400e9),
    "dcqcn-21": lambda: _wired([(host, 21) for host in range(21)], 21, 40e9, _US),
}

# ---- endpoints and switches


@dataclass(frozen=True, slots=True, kw_only=True)
class _UetNetwork:
    """What uet-htsim derives its settings from, and the sizes of queues in packets.

    Attributes:
        num_hops: Links of the longest way, 1 us each.
        pull_bytes: Payload that a pull grants.
    """

    rate_bps: float
    num_hops: int
    queue: int
    marks_from: int
    marks_all: int
    pull_bytes: int = 4 * _PAYLOAD_BYTES

    @classmethod
    def sized(cls, rate_bps: float, num_hops: int) -> _UetNetwork:
        """Return main_uec.cpp's own sizes: a queue of one product, marks from 0.2 to 0.8 of it."""
        product_bytes = _uet_rtt_ps(rate_bps, num_hops) * rate_bps / 8e12
        queue = math.ceil(product_bytes / _PACKET_BYTES)
        return cls(
            rate_bps=rate_bps,
            num_hops=num_hops,
            queue=queue,
            marks_from=math.ceil(0.2 * queue),
            marks_all=math.ceil(0.8 * queue),
        )

    @property
    def rtt_ps(self) -> int:
        """Of the longest way, which every flow takes for its own (main_uec.cpp initNscc)."""
        return _uet_rtt_ps(self.rate_bps, self.num_hops)

    @property
    def timeout_ps(self) -> int:
        """15 us, and six full queues (main_uec.cpp)."""
        return 15 * _US + round(6 * self.queue * _PACKET_BYTES * 8e12 / self.rate_bps)


def _uet_rtt_ps(rate_bps: float, num_hops: int) -> int:
    """Return main_uec.cpp calculate_rtt: a packet out, an acknowledgement back, link by link."""
    wire_ps = (_PACKET_BYTES + _ACK_BYTES) * 8e12 / rate_bps
    return num_hops * (2 * _US + round(wire_ps))


# -q 100 -ecn 25 75 where the source's experiments say so. Pulls were of 8 times 512 bytes with
# headers then (@146f800 uec.cpp _credit_per_pull), of four packets later.
_UET_8192: Final = _UetNetwork(
    rate_bps=400e9,
    num_hops=4,
    queue=100,
    marks_from=25,
    marks_all=75,
    pull_bytes=round(4096 * _PAYLOAD_BYTES / _PACKET_BYTES),
)
_UET: Final[Mapping[str, _UetNetwork]] = {
    "uec-8192": _UET_8192,
    "uec-8192-4to1": _UET_8192,
    "uec-1024-4to1": _UetNetwork.sized(100e9, 4),
    "uec-1024-8to1": _UetNetwork.sized(100e9, 4),
    "uec-16": _UetNetwork.sized(100e9, 6),
    "uec-128": _UetNetwork.sized(100e9, 6),
    "uec-1024": _UetNetwork.sized(100e9, 6),
    "mrc-64": replace(_UET_8192, rate_bps=100e9),  # assumed
    "mrc-64-800g": replace(_UET_8192, rate_bps=800e9),  # assumed
    "mrc-planes": replace(_UET_8192, rate_bps=100e9),  # assumed
    "reps-64": _UET_8192,  # assumed
}


def _uet(
    setup: _Setup, *, pulled: bool = False, scheme: str = "nscc", spray: str = "mixed"
) -> PacketSettings:
    """Return UET with *scheme* at its senders or, *pulled*, by its receivers' credits (RCCC).

    Where receivers pull, marks are about paths alone, a first window ends with its first answer and
    pulls come at 0.99 of the line (uec.cpp stopSpeculating, main_uec.cpp).
    """
    network = _UET[setup.fabric]
    marks = Ecn(
        kmin_bytes=network.marks_from * _PACKET_BYTES,
        kmax_bytes=network.marks_all * _PACKET_BYTES,
        pmax=1.0,
        at_rate_bps=0,
        to_endpoints=not pulled,
    )
    return PacketSettings(
        flow_control="trimming",
        balance="ecmp",
        spray=spray if setup.num_paths > 1 else "fixed",
        num_paths=setup.num_paths,
        congestion_control="none" if pulled else scheme,
        switch=Switch(
            buffer_bytes=1 << 40, queue_bytes=network.queue * _PACKET_BYTES, reserve_bytes=0
        ),
        ecn=marks,
        transport=Transport(
            recovery="pulled" if pulled else "selective",
            payload_bytes=_PAYLOAD_BYTES,
            header_bytes=_PACKET_BYTES - _PAYLOAD_BYTES,
            gap_bytes=0,
            ack_bytes=_ACK_BYTES,
            timeout_ps=network.timeout_ps,
            ack_every_bytes=16_384,
            first_window_lapses=True,
            pull_bytes=network.pull_bytes,
            pull_share=0.99,
            base_rtt_ps=network.rtt_ps,
        ),
    )


_SETTINGS: Final[Mapping[str, Callable[[_Setup], PacketSettings]]] = {
    "nscc": _uet,
    "nscc-unscaled": lambda setup: _uet(setup, scheme="nscc-unscaled"),
    "rccc": lambda setup: _uet(setup, pulled=True),
    # Avoids marked values and retires lossy ones; trimming, no PFC (secondary).
    "mrc": lambda setup: _uet(setup, spray="retiring"),
    "reps": lambda setup: _uet(setup, spray="reps"),
}
