"""How many packets of a flow are tracked: as many as its way holds, and as many again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.fabric.wiring.paths import longest_ways

if TYPE_CHECKING:
    from netloom.engines.packet.settings import PacketSettings
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.workload.transfers import Transfers

__all__ = ["in_flight_packets", "ring_packets"]

_LEAST: Final = 4096
_MAX_HOPS: Final = 16  # of a way inside a site, for a bound that is quick to find
_PS_PER_S: Final = 1e12


def ring_packets(wiring: PacketTopology, transfers: Transfers, settings: PacketSettings) -> int:
    """Return the ring of every flow: as set, or twice what is in flight, a power of two.

    A ring holds no more than the largest transfer has, and 4,096 at least.
    """
    host = settings.transport
    if host.ring_packets:
        return host.ring_packets
    largest = int(transfers.size_bytes.max(initial=0)) // host.payload_bytes + 1
    if host.recovery == "coded":
        largest += -(-largest // host.code_data) * host.code_parity
    needed = min(2 * in_flight_packets(wiring, transfers, settings), largest)
    return 1 << max(_LEAST - 1, needed - 1).bit_length()


def in_flight_packets(
    wiring: PacketTopology, transfers: Transfers, settings: PacketSettings
) -> int:
    """Return what the port of a sender sends in a round trip of the longest way, empty.

    Where no way can be long that is a bound by the longest link.
    """
    host = settings.transport
    frame_bytes = host.payload_bytes + host.header_bytes + host.gap_bytes
    fast_bps, slow_bps = (float(pick(wiring.link_rate_bps)) for pick in (np.max, np.min))
    hop_ps = int(wiring.link_delay_ps.max() + wiring.forward_ps.max())
    bound_ps = 2 * _MAX_HOPS * (hop_ps + frame_bytes * 8 * _PS_PER_S / slow_bps)
    if not len(transfers) or 2 * _packets(fast_bps, bound_ps, host.payload_bytes) <= _LEAST:
        return _packets(fast_bps, bound_ps, host.payload_bytes)
    source, target = (ends.astype(np.int64) for ends in (transfers.source, transfers.target))
    ways = longest_ways(wiring, source, target)
    first = ways.links[:, 0]
    port_bps = wiring.link_rate_bps[first]
    if settings.spray != "fixed":  # over all ports of the sender
        ports = np.bincount(wiring.link_source, minlength=wiring.num_vertices)
        port_bps = port_bps * ports[source]
    if host.host_rate_bps:
        port_bps = np.minimum(port_bps, host.host_rate_bps)
    rtt_ps = 2 * ways.delay_ps + (frame_bytes + host.ack_bytes) * ways.ps_per_byte
    return int(np.ceil(port_bps * rtt_ps / _PS_PER_S / 8 / host.payload_bytes).max())


def _packets(rate_bps: float, rtt_ps: float, payload_bytes: int) -> int:
    return int(np.ceil(rate_bps * rtt_ps / _PS_PER_S / 8 / payload_bytes))
