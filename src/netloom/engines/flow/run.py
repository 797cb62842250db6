"""Run transfers on a fabric or a wiring as flows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.engines import native
from netloom.engines.delivery import Delivery
from netloom.engines.flow.route_sets import route_sets
from netloom.engines.flow.routes import (
    Ground,
    ground,
    num_switches,
    way_delay_ps,
    ways_of,
)
from netloom.engines.flow.settings import FlowSettings
from netloom.engines.flow.waits import waits_ps
from netloom.errors import InfeasibleError
from netloom.fabric.routing.flows import Flows
from netloom.fabric.routing.source_ports import mixed_ports
from netloom.fabric.wiring.ports import stripes
from netloom.fabric.wiring.wiring import PacketTopology
from netloom.workload.transfers import check_transfers

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from netloom.engines.delivery import Columns
    from netloom.engines.flow.route_sets import RouteSets
    from netloom.engines.flow.ways import FlowPaths
    from netloom.fabric.graph import Fabric
    from netloom.workload.transfers import Transfers

__all__ = ["FOREVER_PS", "RoutedTransfers", "deliver", "lay", "run_flows"]

FOREVER_PS: Final = 2**62
_NO_LINK: Final = np.uint32(2**32 - 1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RoutedTransfers:
    """Transfers with the ways that they take.

    Attributes:
        parts: Connections of each transfer.
        route_set: Of each transfer; those of one set take the same ways, which are ``ways`` number
            ``route_set * parts`` up to ``(route_set + 1) * parts - 1``.
        ways: Of each connection of each set.
        weight: Of the flows of each set.
        latency_ps: Of each transfer, from its last byte sent to its arrival.
        known_ps: From there until its sender knows, where that is computed.
        connection: Of each transfer, where some share theirs; they go one after another.
    """

    on: Ground
    transfers: Transfers
    settings: FlowSettings
    parts: int
    route_set: NDArray[np.int64]
    ways: FlowPaths
    weight: NDArray[np.float64]
    latency_ps: NDArray[np.int64]
    known_ps: NDArray[np.int64]
    connection: NDArray[np.uint32]

    def of_ways(self, of_transfer: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each way its part of what is given for the transfers that take it."""
        of_set = np.bincount(self.route_set, of_transfer, minlength=len(self.weight))
        return np.repeat(of_set / self.parts, self.parts)


def run_flows(
    network: Fabric | PacketTopology,
    transfers: Transfers,
    settings: FlowSettings | None = None,
    *,
    seed: int = 0,
    until_ps: int = FOREVER_PS,
    on_progress: Callable[[int, int], bool] | None = None,
) -> Delivery:
    """Return when each transfer ends when all share the links max-min fairly.

    Args:
        network: What they run on; endpoints are the fabric's GPUs or the wiring's endpoints.
        transfers: What is sent, and what waits for what.
        settings: How flows behave; without, on perfect links, hashed.
        seed: Mixed into the source ports: another seed is another draw of the hash. 0 takes the
            ports as they are given.
        until_ps: The run stops here, with what has ended so far.
        on_progress: Called now and then with the simulated picoseconds and the flows done;
            true stops the run.

    Returns:
        The delivery; ``tables`` has ``bottlenecks`` (for each transfer the link that held it back
        when it ended, -1 for none, and how many flows shared it then; of several connections
        the one on the most shared link) and, where the settings ask for bins, ``utilisation``
        (of each link that was used, in each bin).

    Raises:
        SpecError: A transfer is not possible as such; the message names it.
        InfeasibleError: Two endpoints have no path left, or the ways do not fit in memory.
    """
    laid = lay(ground(network), transfers, settings or FlowSettings(), seed=seed)
    return deliver(laid, until_ps=until_ps, on_progress=on_progress)


def lay(
    on: Ground, transfers: Transfers, settings: FlowSettings, *, seed: int = 0
) -> RoutedTransfers:
    """Check *transfers* and find the way of each of their connections.

    Raises:
        SpecError: as :func:`run_flows`.
        InfeasibleError: as :func:`run_flows`.
    """
    check_transfers(transfers, on.num_endpoints)
    count = _connections(on, transfers, settings)
    parts = 1 if settings.splits else count
    sets = route_sets(on, transfers, settings, parts=parts)
    first = sets.first
    flows = Flows(
        source=np.repeat(transfers.source[first], parts).astype(np.int64),
        target=np.repeat(transfers.target[first], parts).astype(np.int64),
        source_port=mixed_ports(
            np.repeat(transfers.source_port[first], parts),
            np.tile(np.arange(parts), len(first)),
            seed=seed,
        ),
    )
    ways = ways_of(on, flows, settings)
    _check_capacity(on, ways)
    latency_ps, known_ps = _latencies_ps(on, ways, transfers, settings, sets, connections=count)
    return RoutedTransfers(
        on=on,
        transfers=transfers,
        settings=settings,
        parts=parts,
        route_set=sets.number,
        ways=ways,
        weight=np.array(settings.priority_weights)[transfers.priority[first]],
        latency_ps=latency_ps,
        known_ps=known_ps,
        connection=sets.connection,
    )


def _latencies_ps(
    on: Ground,
    ways: FlowPaths,
    transfers: Transfers,
    settings: FlowSettings,
    sets: RouteSets,
    *,
    connections: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return of each transfer what it waits for beside its bytes, and when its sender knows."""
    if settings.ends is None:
        latency_ps = _latency_ps(on, ways, settings, sets.parts)[sets.number]
        return latency_ps, np.zeros_like(latency_ps)
    size_bytes = np.minimum(-(-transfers.size_bytes // connections), settings.ends.payload_bytes)
    own_bytes = size_bytes[sets.first]
    if (own_bytes[sets.number] == size_bytes).all():
        arrive_ps, known_ps = waits_ps(on, ways, own_bytes, settings.ends, parts=sets.parts)
        return arrive_ps[sets.number], known_ps[sets.number]
    key, row = np.unique(
        sets.number * (settings.ends.payload_bytes + 1) + size_bytes, return_inverse=True
    )
    number, packet_bytes = np.divmod(key, settings.ends.payload_bytes + 1)
    own = ways.take(number, parts=sets.parts)
    arrive_ps, known_ps = waits_ps(on, own, packet_bytes, settings.ends, parts=sets.parts)
    return arrive_ps[row.reshape(-1)], known_ps[row.reshape(-1)]


def _connections(on: Ground, transfers: Transfers, settings: FlowSettings) -> int:
    """Return over how many connections each transfer goes: on a wiring, as many on every port.

    Senders that spray choose the port packet by packet. On a fabric, connections are hashed.
    """
    count = settings.flows_per_transfer
    if (
        settings.balance == "spray"
        or not isinstance(on.routes, PacketTopology)
        or not len(transfers)
    ):
        return count
    return stripes(on.routes, transfers.source, transfers.target, connections=count)


def _latency_ps(
    on: Ground, ways: FlowPaths, settings: FlowSettings, parts: int
) -> NDArray[np.int64]:
    """Return the technology's latency by switches on the way, and a wiring's own delays."""
    switches = num_switches(on, ways).reshape(-1, parts).max(axis=1, initial=0)
    table = np.array(settings.latency_ps, dtype=np.int64)
    delay_ps = way_delay_ps(on, ways).reshape(-1, parts).max(axis=1, initial=0)
    return np.asarray(table[np.minimum(switches, len(table) - 1)] + delay_ps)


def _check_capacity(on: Ground, ways: FlowPaths) -> None:
    dead = np.flatnonzero(on.link_rate_bps[ways.links] <= 0)
    if len(dead):
        raise InfeasibleError(
            what=f"link {ways.links[dead[0]]}: it has no rate, but flows cross it",
            remedy="take it down",
        )


def deliver(
    laid: RoutedTransfers,
    *,
    num_bins: int | None = None,
    until_ps: int = FOREVER_PS,
    on_progress: Callable[[int, int], bool] | None = None,
) -> Delivery:
    """Run what :func:`lay` has laid out.

    Args:
        laid: The transfers and their ways.
        num_bins: In place of what the settings say.
        until_ps: As for :func:`run_flows`.
        on_progress: As for :func:`run_flows`.
    """
    capacity_bps = laid.on.capacity_bps(laid.settings)
    bins = laid.settings.num_bins if num_bins is None else num_bins
    found = native.run_flows(
        _arrays(laid, capacity_bps), num_bins=bins, until_ps=until_ps, progress=on_progress
    )
    tables: dict[str, Columns] = {"bottlenecks": _bottlenecks(found)}
    if bins:
        found["used_bits"] = laid.ways.of_all(found["used_bits"].reshape(-1, bins))
        tables["utilisation"] = _utilisation(found, capacity_bps, bins)
    arrive_ps = found["finish_ps"]
    known_ps = np.where(arrive_ps < 0, -1, arrive_ps + laid.known_ps)
    late = known_ps > until_ps
    finish_ps = np.where(late, -1, known_ps)
    return Delivery(
        engine="flow",
        start_ps=found["start_ps"],
        finish_ps=finish_ps,
        simulated_ps=max(found["simulated_ps"], int(finish_ps.max(initial=0))),
        link_bytes=_link_bytes(laid, found, bins),
        counters={
            "flows": len(laid.transfers) * laid.parts,
            "classes": found["num_classes"],
            "events": found["num_events"],
            "visits": found["num_visits"],
        },
        tables=tables,
        partial=found["stopped"] or bool(late.any()),
    )


def _arrays(laid: RoutedTransfers, capacity_bps: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    transfers, ways, parts = laid.transfers, laid.ways, laid.parts
    return {
        "capacity_bps": capacity_bps,
        "route_offsets": ways.offsets.view(np.uint64),
        "links": ways.links.view(np.uint32),
        "shares": ways.shares,
        "set_offsets": np.arange(0, len(ways) + 1, parts, dtype=np.uint64),
        "weight": laid.weight,
        "route_set": laid.route_set.astype(np.uint32),
        "size_bits": transfers.size_bytes * (8.0 / parts),
        "start_ps": np.ascontiguousarray(transfers.start_ps, dtype=np.int64),
        "delay_ps": np.ascontiguousarray(transfers.delay_ps, dtype=np.int64),
        "latency_ps": laid.latency_ps,
        "wait_offsets": np.ascontiguousarray(transfers.wait_offsets, dtype=np.int64),
        "waits": np.ascontiguousarray(transfers.waits, dtype=np.int32),
        "connection": laid.connection,
    }


def _bottlenecks(found: dict[str, Any]) -> Columns:
    """Return for each transfer the link that held it back, -1 for none, and who shared it."""
    held = found["bottleneck"]
    return {
        "transfer": np.arange(len(held)),
        "link": np.where(held == _NO_LINK, -1, held.astype(np.int64)),
        "sharers": found["sharers"].astype(np.int64),
    }


def _utilisation(
    found: dict[str, Any], capacity_bps: NDArray[np.float64], num_bins: int
) -> Columns:
    used_bits = found["used_bits"]
    num_used = min(num_bins, -(-found["simulated_ps"] // found["bin_ps"]))
    links = np.flatnonzero(used_bits.any(axis=1))
    whole_bits = capacity_bps[links] * found["bin_ps"] * 1e-12
    share = used_bits[links, :num_used] / whole_bits[:, None]
    return {
        "link": np.repeat(links, num_used),
        "from_ps": np.tile(np.arange(num_used, dtype=np.int64) * found["bin_ps"], len(links)),
        "utilisation": share.ravel().astype(np.float32),
    }


def _link_bytes(laid: RoutedTransfers, found: dict[str, Any], num_bins: int) -> NDArray[np.int64]:
    """Return what each link carried, headers included.

    Of transfers that a stopped run left unfinished only the bins tell; without, they are left out.
    """
    load: NDArray[np.float64]
    if found["stopped"] and num_bins:
        load = found["used_bits"].sum(axis=1) / 8
    else:
        arrived = np.where(found["finish_ps"] >= 0, laid.transfers.size_bytes, 0).astype(float)
        load = laid.ways.load(laid.of_ways(arrived), num_links=len(laid.on.link_rate_bps))
    framed = ~(laid.on.is_scale_up | laid.on.is_host)
    return np.rint(load / np.where(framed, laid.settings.wire_share, 1.0)).astype(np.int64)
