"""What a technology does to flows: how they choose their way, and what it leaves of a link."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from netloom.engines.flow.ends import TransferEnds, ends_of
from netloom.errors import SpecError
from netloom.fabric.wire import framing, latency, recovery

if TYPE_CHECKING:
    from netloom.parts.parts import Technology

__all__ = ["Balance", "FlowSettings", "settings_for"]

Balance = Literal["ecmp", "flowlet", "static", "adaptive", "spray", "cells"]

# Cable of one hop, where no layout says otherwise. Assumed: a row of racks.
CABLE_M: Final = 20.0
# Switches on a way that a table of latencies covers; a torus of 64 x 64 x 64 needs 97.
_MAX_SWITCHES: Final = 128
_NUM_PRIORITIES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowSettings:
    """How flows behave on a network; the default is a perfect one that hashes.

    Attributes:
        balance: How packets choose among equal ways. ``ecmp`` hashes each connection;
            ``flowlet`` hashes every burst of it; ``static`` is d-mod-k; ``adaptive``, ``spray``
            and ``cells`` split every flow evenly over all of them.
        flows_per_transfer: Connections (queue pairs, sockets) that share a transfer's bytes.
        flowlets: Bursts that a ``flowlet`` connection falls into, each hashed again.
        pxn: Whether data goes to the GPU on the target's rail first.
        hash_seeds: ``distinct`` for each switch, or ``equal``: what one tier put together the
            next cannot tell apart.
        wire_share: Payload over what it occupies on the wire.
        path_share: What the choice of paths delivers of a link between switches.
        nic_share: What hosts reach of a NIC's payload rate, retransmission included.
        host_rate_bps: What CPUs push through one NIC port, where they are in the way.
        scale_up_share: What is reached of a scale-up link.
        latency_ps: From the last byte sent to its arrival, by the number of switches on the way
            (0 inside a node); the last entry holds for all longer ways. A wiring's own delays
            come on top.
        ends: In place of that latency, on a wiring: what both ends and storing switches add to
            the delays of its links, and when the sender knows.
        priority_weights: The weight of a flow of each priority, 0 to 7.
        num_bins: Most spans of time that the use of each link is told for; 0 for none.
    """

    balance: Balance = "ecmp"
    flows_per_transfer: int = 1
    flowlets: int = 4
    pxn: bool = False
    hash_seeds: Literal["distinct", "equal"] = "distinct"
    wire_share: float = 1.0
    path_share: float = 1.0
    nic_share: float = 1.0
    host_rate_bps: float = math.inf
    scale_up_share: float = 1.0
    latency_ps: tuple[int, ...] = (0,)
    ends: TransferEnds | None = None
    priority_weights: tuple[float, ...] = (1.0,) * _NUM_PRIORITIES
    num_bins: int = 0

    def __post_init__(self) -> None:
        _positive("flows_per_transfer", self.flows_per_transfer)
        _positive("flowlets", self.flowlets)
        _positive("host_rate_bps", self.host_rate_bps)
        for name in ("wire_share", "path_share", "nic_share", "scale_up_share"):
            if not 0 < getattr(self, name) <= 1:
                value = getattr(self, name)
                raise SpecError(
                    key=name,
                    what=f"{value} must lie between 0 and 1",
                    remedy="use more than 0, up to 1",
                )
        if len(self.priority_weights) != _NUM_PRIORITIES or not all(
            0 < weight < math.inf for weight in self.priority_weights
        ):
            raise SpecError(
                key="priority_weights", what=f"{self.priority_weights} are not 8 positive numbers"
            )
        if not self.latency_ps or min(self.latency_ps) < 0:
            raise SpecError(
                key="latency_ps",
                what=f"{self.latency_ps} must be one or more numbers, none negative",
            )

    @property
    def splits(self) -> bool:
        """Whether every flow is spread over all its ways."""
        return self.balance in {"adaptive", "spray", "cells"}


def settings_for(
    technology: Technology,
    *,
    loss: float | None = None,
    num_switches: int = 5,
    nic_share: float = 1.0,
    scale_up_share: float = 1.0,
    wired: bool = False,
) -> FlowSettings:
    """Return how flows behave on *technology*.

    Args:
        technology: Gives the way of balancing, framing, recovery and latency.
        loss: Packets lost on a link; default: the technology's own.
        num_switches: On the path that retransmissions are computed for; 5 are three tiers.
        nic_share: What the communication library reaches of a NIC's payload rate.
        scale_up_share: What it reaches of a scale-up link.
        wired: Whether they run on a wiring, whose links have delays of their own.
    """
    table = _latencies_s(technology)
    resent = recovery.efficiency(
        technology,
        loss=technology.loss if loss is None else loss,
        num_links=num_switches + 1,
        rtt_s=2 * table[num_switches],
    )
    spreads = technology.load_balancing in {"adaptive", "spray", "cells"}
    return FlowSettings(
        balance=technology.load_balancing,
        flows_per_transfer=technology.flows_per_rank,
        wire_share=framing.efficiency(technology.payload_bytes, technology.header_bytes),
        path_share=technology.path_efficiency if spreads else 1.0,
        nic_share=nic_share * resent,
        host_rate_bps=technology.host_rate_bps or math.inf,
        scale_up_share=scale_up_share,
        latency_ps=tuple(round(one_way_s * 1e12) for one_way_s in table),
        ends=ends_of(technology) if wired else None,
    )


def _latencies_s(technology: Technology) -> list[float]:
    """Return the latency by switches on the way; that of a scale-up network is not known."""
    return [0.0] + [
        latency.one_way_s(
            technology,
            num_hops=count,
            cable_m=CABLE_M * (count + 1),
            message_bytes=8.0,
            rate_bps=technology.rate_bps,
        )
        for count in range(1, _MAX_SWITCHES)
    ]


def _positive(name: str, value: float) -> None:
    if not value > 0:
        raise SpecError(key=name, what=f"{value} must be more than 0")
