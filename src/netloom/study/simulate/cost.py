"""How much work a simulation is, before it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.fabric.wiring.paths import first_ways
from netloom.study.simulate.unloaded import CHUNK
from netloom.workload.transfers import check_transfers

if TYPE_CHECKING:
    from netloom.engines.packet.settings import Transport
    from netloom.study.simulate.packet import PacketRunner
    from netloom.study.simulate.run import SimulationCase
    from netloom.workload.transfers import Transfers

__all__ = ["Cost", "acks_per_packet", "cost_of"]

# Orders of magnitude on one core of a server, for the announcement alone: link traversals of the
# packet engine on permutations (bench/packet.py: 7.1 M at 1,024 hosts, 5.4 M at 8,192), flows of
# the flow engine.
PACKET_RATE_PER_S: Final = 6e6
FLOW_RATE_PER_S: Final = 5e4


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a run will take when nothing is lost or held up.

    Attributes:
        count: Packets times links, acknowledgements included; or flows.
        unit: Which of them.
        wall_s: About as long.
    """

    count: int
    unit: str
    wall_s: float


def cost_of(case: SimulationCase, seed: int) -> Cost:
    """Return what one seed of *case* takes.

    Raises:
        NetloomError: the traffic is impossible on this network.
    """
    transfers = case.traffic(seed)
    runner = case.runner
    if runner.name == "flow":
        return Cost(count=len(transfers), unit="flows", wall_s=len(transfers) / FLOW_RATE_PER_S)
    from netloom.study.simulate.packet import PacketRunner  # noqa: PLC0415  (native code)

    assert isinstance(runner, PacketRunner), runner
    transfers = runner.what_runs(transfers)
    check_transfers(transfers, runner.wiring.num_endpoints, with_computations=True)
    count = sum(
        _traversals(runner, transfers, slice(at, at + CHUNK))
        for at in range(0, len(transfers), CHUNK)
    )
    return Cost(count=count, unit="link traversals", wall_s=count / PACKET_RATE_PER_S)


def acks_per_packet(host: Transport) -> float:
    """Return how many acknowledgements each packet of a long transfer draws, at least."""
    if host.ask_every_packets:
        return 1 / host.ask_every_packets
    return 1 / max(-(-host.ack_every_bytes // (host.payload_bytes + host.header_bytes)), 1)


def _traversals(runner: PacketRunner, transfers: Transfers, which: slice) -> int:
    source, target = (ends[which].astype(np.int64) for ends in (transfers.source, transfers.target))
    ways = first_ways(runner.wiring, source, target)
    packets = -(-transfers.size_bytes[which] // runner.payload_bytes)
    acks = np.ceil(packets * acks_per_packet(runner.settings.transport)).astype(np.int64)
    return int(((packets + acks) * ways.num_hops).sum())
