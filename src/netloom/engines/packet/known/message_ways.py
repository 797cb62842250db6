"""Which links the messages of a connection take, and how much of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from netloom.engines.packet.connections import num_connections, num_parts, spread
from netloom.engines.packet.ports import port_arrays
from netloom.fabric.wiring.all_ways import all_ways
from netloom.fabric.wiring.hashed_ways import hashed_ways
from netloom.fabric.wiring.ports import most_ports
from netloom.workload.transfers import spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.engines.packet.settings import PacketSettings
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.workload.transfers import Transfers

__all__ = ["MessageWays", "message_ways"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MessageWays:
    """The links of connections.

    Attributes:
        connection: Of each transfer; -1 for a computation.
        first: Of each connection, its first transfer.
        owner: Of each entry: a connection, ascending.
        link: And a link that it takes, or may take.
        load: What it takes of that link when it has its way to itself.
    """

    connection: NDArray[np.int64]
    first: NDArray[np.int64]
    owner: NDArray[np.int64]
    link: NDArray[np.int64]
    load: NDArray[np.float64]

    @property
    def num_connections(self) -> int:
        """How many there are."""
        return len(self.first)


def message_ways(
    wiring: PacketTopology, transfers: Transfers, settings: PacketSettings, *, seed: int
) -> MessageWays:
    """Return the connections of *transfers*, and their links.

    Hashed connections take the links that their ports hash to, static ones theirs, all others every
    link of their shortest ways, spread evenly over those that a switch chooses from or, where it
    does not spread them, all of each.
    """
    sends = np.flatnonzero(transfers.size_bytes > 0)
    key = transfers.source[sends].astype(np.int64) * wiring.num_vertices + transfers.target[sends]
    key = (key * (1 << 16) + transfers.source_port[sends]) * 8 + transfers.priority[sends]
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    connection = np.full(len(transfers), -1, dtype=np.int64)
    connection[sends] = number.reshape(-1)
    first = sends[first]
    if settings.balance == "ecmp" and settings.spray == "fixed" and most_ports(wiring) == 1:
        owner, link, share = _hashed(wiring, transfers, first, settings, seed=seed)
    else:
        owner, link, share = _any(wiring, transfers, first, settings)
    port_bps = np.zeros(wiring.num_vertices)
    np.add.at(port_bps, wiring.link_source, wiring.link_rate_bps * ~wiring.link_scale_up)
    sent_bps = np.minimum(port_bps[transfers.source[first]], port_bps[transfers.target[first]])
    load = share * sent_bps[owner] / wiring.link_rate_bps[link]
    return MessageWays(
        connection=connection, first=first, owner=owner, link=link, load=np.minimum(load, 1.0)
    )


_Entries = tuple["NDArray[np.int64]", "NDArray[np.int64]", "NDArray[np.float64]"]


def _hashed(
    wiring: PacketTopology,
    transfers: Transfers,
    first: NDArray[np.int64],
    settings: PacketSettings,
    *,
    seed: int,
) -> _Entries:
    """Return the links that the parts of a message of each connection hash to, and how many do."""
    some = transfers.rows(first, np.zeros(len(first), dtype=np.int64), np.empty(0, dtype=np.int64))
    connections = num_connections(wiring, some, settings)
    parts = spread(some, connections, seed=seed)
    count = num_parts(some, connections)
    owner = np.repeat(np.arange(len(first)), count)
    part, link = hashed_ways(
        wiring,
        parts.source.astype(np.int64),
        parts.target.astype(np.int64),
        np.asarray(port_arrays(wiring, parts, settings)["source_port"], dtype=np.uint16),
        seeds_equal=settings.switch.seeds_equal,
    )
    both, num = np.unique(owner[part] * wiring.num_links + link, return_counts=True)
    owner, link = both // wiring.num_links, both % wiring.num_links
    return owner, link, num / count[owner]


def _any(
    wiring: PacketTopology,
    transfers: Transfers,
    first: NDArray[np.int64],
    settings: PacketSettings,
) -> _Entries:
    """Return every link that the messages of each connection may take."""
    source, target = (ends[first].astype(np.int64) for ends in (transfers.source, transfers.target))
    pairs, pair_of = np.unique(source * wiring.num_vertices + target, return_inverse=True)
    pair_of = pair_of.reshape(-1)
    ends = pairs // wiring.num_vertices, pairs % wiring.num_vertices
    ways = all_ways(wiring, *ends, static=settings.balance == "d-mod-k")
    spreads = settings.balance == "adaptive" or settings.spray != "fixed"
    share = ways.share if spreads else np.ones(len(ways.link))
    begin = np.searchsorted(ways.pair, np.arange(len(pairs) + 1))
    entry = spans(begin[pair_of], begin[pair_of + 1])
    owner = np.repeat(np.arange(len(pair_of)), np.diff(begin)[pair_of])
    return owner, ways.link[entry], share[entry]
