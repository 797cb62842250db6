"""How uet-htsim's experiments set its endpoints and switches, network by network.

Rules and sizes: uet-htsim (uec.cpp, main_uec.cpp, compositequeue.cpp, fat_tree_topology.cpp; .topo
files; generate_permutation_experiments.py). A scheme's name says who controls congestion: senders
(``nscc``, ``nscc-unscaled``), receivers (``rccc``) or ``both``; how packets are sprayed, unless
``mixed``; and with ``each`` that every packet is answered, as in ``rccc-reps-each``.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from netloom.engines.packet import Ecn, PacketSettings, ReceiverThrottle, SwitchSettings, Transport

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = [
    "FAILED_SHARE",
    "PACKET_BYTES",
    "UET_WORDS",
    "UetNetwork",
    "has_uet",
    "is_uet",
    "uet_network",
    "uet_settings",
]

FAILED_SHARE: Final = 0.25  # fat_tree_topology.cpp _failed_link_ratio
_PAYLOAD_BYTES, PACKET_BYTES, _ACK_BYTES = 4086, 4150, 64  # main_uec.cpp, uec.cpp
_US: Final = 1_000_000
_CONTROLS: Final = ("nscc-unscaled", "nscc", "rccc", "both")
_RESTRAINT: Final = ReceiverThrottle()
_SPRAYS: Final = ("oblivious", "bitmap", "retiring", "reps", "mixed")
UET_WORDS: Final = (*_CONTROLS, "one of these with -reps, -reps-each and the like")


@dataclass(frozen=True, slots=True, kw_only=True)
class UetNetwork:
    """What uet-htsim derives its settings from, and the sizes of queues in packets.

    Attributes:
        num_hops: Links of the longest way, 1 us each.
        pull_bytes: Payload that a pull grants.
        restraint: Of receivers, if it is tapered.
        first_packets: Of ``nscc-unscaled``'s first window; 0: the largest.
    """

    rate_bps: float
    num_hops: int
    queue: int
    marks_from: int
    marks_all: int
    pull_bytes: int = 4 * _PAYLOAD_BYTES
    restraint: ReceiverThrottle = _RESTRAINT
    first_packets: int = 0

    @classmethod
    def sized(cls, rate_bps: float, num_hops: int, *, queue: int = 0) -> UetNetwork:
        """Return main_uec.cpp's own sizes: a queue of one product, marks from 0.2 to 0.8 of it."""
        product_bytes = _rtt_ps(rate_bps, num_hops) * rate_bps / 8e12
        product = math.ceil(product_bytes / PACKET_BYTES)
        return cls(
            rate_bps=rate_bps,
            num_hops=num_hops,
            queue=queue or product,
            marks_from=math.ceil(0.2 * product),
            marks_all=math.ceil(0.8 * product),
        )

    @classmethod
    def of_experiment_1(cls, rate_bps: float) -> UetNetwork:
        """Return the sizes of generate_permutation_experiments.py, and the rules of then.

        @146f800: pulls were of 8 times 512 bytes with headers (uec.cpp _credit_per_pull), and
        receivers in tapers reacted to marks alone (oversubscribed_cc.cpp).
        """
        queue = round(rate_bps / 4e9)
        return cls(
            rate_bps=rate_bps,
            num_hops=4,
            queue=queue,
            marks_from=queue // 4,
            marks_all=3 * queue // 4,
            pull_bytes=round(4096 * _PAYLOAD_BYTES / PACKET_BYTES),
            restraint=ReceiverThrottle(
                least_of_fair=0.75,
                period_ps=18 * _US,
                decrease=0.75,
                step=0.05,
                doubles=False,
                reacts_to_trims=False,
            ),
            first_packets=3 * queue // 2,
        )

    @property
    def rtt_ps(self) -> int:
        """Of the longest way, which every flow takes for its own (main_uec.cpp initNscc)."""
        return _rtt_ps(self.rate_bps, self.num_hops)

    @property
    def timeout_ps(self) -> int:
        """15 us, and six full queues (main_uec.cpp)."""
        return 15 * _US + round(6 * self.queue * PACKET_BYTES * 8e12 / self.rate_bps)


def _rtt_ps(rate_bps: float, num_hops: int) -> int:
    """Return main_uec.cpp calculate_rtt: a packet out, an acknowledgement back, link by link."""
    wire_ps = (PACKET_BYTES + _ACK_BYTES) * 8e12 / rate_bps
    return num_hops * (2 * _US + round(wire_ps))


_RESULTS: Final = UetNetwork.of_experiment_1(400e9)
# Fabrics by the beginning of their name, the longest that fits.
_UET: Final[Mapping[str, UetNetwork]] = {
    "uec-8192": _RESULTS,
    "uec-8192-200g": UetNetwork.of_experiment_1(200e9),
    "uec-8192-800g": UetNetwork.of_experiment_1(800e9),
    "uec-1024-4to1": UetNetwork.sized(100e9, 4),
    "uec-1024-8to1": UetNetwork.sized(100e9, 4),
    "uec-16": UetNetwork.sized(100e9, 6),
    "uec-128": UetNetwork.sized(100e9, 6),
    "uec-1024": UetNetwork.sized(100e9, 6),
    "uec-1024-q500": UetNetwork.sized(100e9, 6, queue=500),
    "mrc-64": replace(_RESULTS, rate_bps=100e9),  # assumed
    "mrc-64-800g": replace(_RESULTS, rate_bps=800e9),  # assumed
    "mrc-planes": replace(_RESULTS, rate_bps=100e9),  # assumed
    "reps-64": _RESULTS,  # assumed
}


def uet_network(fabric: str) -> UetNetwork:
    """Return what holds in *fabric*."""
    return _UET[max((name for name in _UET if fabric.startswith(name)), key=len)]


def is_uet(scheme: str) -> bool:
    """Return whether *scheme* is one of Ultra Ethernet's."""
    control, spray = "|".join(_CONTROLS), "|".join(_SPRAYS)
    return re.fullmatch(rf"({control})(-({spray}))?(-each)?", scheme) is not None


def has_uet(fabric: str) -> bool:
    """Return whether it is known what holds in *fabric*."""
    return fabric.startswith(tuple(_UET))


def uet_settings(
    scheme: str, *, fabric: str, num_paths: int, wiring: PacketTopology
) -> PacketSettings:
    """Return how endpoints and switches behave; slower links have shorter queues and marks.

    Where receivers pull, marks are about paths alone, a first window ends with its first answer and
    pulls come at 0.99 of the line (uec.cpp stopSpeculating, main_uec.cpp).
    """
    network = uet_network(fabric)
    control = next(name for name in _CONTROLS if scheme.startswith(name))
    pulled = control in {"rccc", "both"}
    spray = next((name for name in _SPRAYS if f"-{name}" in scheme), "mixed")
    queue_bytes = network.queue * PACKET_BYTES * wiring.link_rate_bps / network.rate_bps
    marks = Ecn(
        kmin_bytes=network.marks_from * PACKET_BYTES,
        kmax_bytes=network.marks_all * PACKET_BYTES,
        pmax=1.0,
        at_rate_bps=network.rate_bps,
        to_endpoints=not pulled,
    )
    parameters = {"both": {"adapt_below": 0.0}}  # uec.cpp quick_adapt: not where receivers pull
    if network.first_packets:
        parameters["nscc-unscaled"] = {"first_packets": float(network.first_packets)}
    return PacketSettings(
        flow_control="trimming",
        balance="ecmp",
        spray=spray if num_paths > 1 else "fixed",
        num_paths=num_paths,
        congestion_control={"rccc": "none", "both": "nscc"}.get(control, control),
        parameters=parameters.get(control, {}),
        switch=SwitchSettings(
            buffer_bytes=1 << 40,
            queue_bytes=tuple(queue_bytes.astype(int).tolist()),
            reserve_bytes=0,
        ),
        ecn=marks,
        transport=Transport(
            recovery="pulled" if pulled else "selective",
            payload_bytes=_PAYLOAD_BYTES,
            header_bytes=PACKET_BYTES - _PAYLOAD_BYTES,
            gap_bytes=0,
            ack_bytes=_ACK_BYTES,
            timeout_ps=network.timeout_ps,
            ack_every_bytes=4_000 if scheme.endswith("-each") else 16_384,
            first_window_lapses=True,
            pull_bytes=network.pull_bytes,
            pull_share=0.99,
            restraint=network.restraint if control == "rccc" else None,
            base_rtt_ps=network.rtt_ps,
        ),
    )
