"""Topologies and flows from other simulators' files, whichever kind they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.engines.packet.faults import PacketFault
from netloom.errors import SpecError
from netloom.fabric.wiring.paths import first_ways
from netloom.formats.simulators.htsim import queues_of, read_tree, wire_tree
from netloom.formats.simulators.htsim_cm import read_connections
from netloom.formats.simulators.lines import lines_of
from netloom.formats.simulators.ns3 import (
    Ns3Config,
    Ns3Topology,
    read_config,
    read_flows,
    read_topology,
)
from netloom.spec.files import read_text

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.formats.simulators.htsim_cm import Connections
    from netloom.parts.parts import Technology
    from netloom.workload.transfers import Transfers

__all__ = ["ImportedCase", "import_case"]

MAX_FILE_BYTES: Final = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImportedCase:
    """A case from another simulator.

    Attributes:
        node: The number that the files give each vertex.
        simulator: ``htsim`` or ``ns-3 HPCC``.
        config: What an ns-3 configuration says, where one was given.
        faults: The packets that cables of an ns-3 topology lose, and the link that goes down.
        queue_bytes: What may wait for each link, 0 where the files do not say; empty where they
            say nothing.
        notes: What of the files was passed over.
        told_ps: For each transfer the way back of the acknowledgement that it waits for, from the
            last byte of what it waits for on; 0 where it waits for none.
    """

    wiring: PacketTopology
    transfers: Transfers
    node: NDArray[np.int64]
    simulator: str
    config: Ns3Config | None = None
    faults: tuple[PacketFault, ...] = ()
    queue_bytes: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    told_ps: NDArray[np.int64] | None = None

    def transfers_on(self, technology: Technology) -> Transfers:
        """Return the transfers, with the waits of senders whose receivers are *technology*'s.

        An acknowledgement is under way while the last byte goes into memory.
        """
        if self.told_ps is None:
            return self.transfers
        budget = technology.latency
        receive_s = (
            budget.nic_receive_s + budget.interrupt_s + budget.receive_stack_s + budget.wake_s
        )
        delay_ps = np.maximum(self.told_ps - round(receive_s * 1e12), 0)
        return replace(self.transfers, delay_ps=delay_ps)


def import_case(topology: Path, flows: Path, config: Path | None = None) -> ImportedCase:
    """Return the case in the files: ``.topo`` and ``.cm`` of htsim, all others of ns-3 HPCC.

    Raises:
        SpecError: a file cannot be read or is wrong, or the two do not belong together.
    """
    if (topology.suffix == ".topo") != (flows.suffix == ".cm"):
        message = (
            f"{topology}, {flows}: one file is htsim's and the other is not; "
            "bring .topo with .cm, or an ns-3 HPCC topology with its flow file"
        )
        raise SpecError(message)
    if topology.suffix == ".topo":
        return _htsim(topology, flows, config)
    found = read_topology(_text(topology, "a topology file"), name=str(topology))
    asked = None if config is None else read_config(_text(config, "a file"), name=str(config))
    elsewhere = 0.0 if asked is None else asked.loss
    flows_text = _text(flows, "a flow file")
    transfers = read_flows(flows_text, found, name=str(flows))
    num_lines = sum(1 for _ in lines_of(flows_text, name=str(flows)))
    return ImportedCase(
        wiring=found.wiring,
        transfers=transfers,
        node=found.node,
        simulator="ns-3 HPCC",
        config=asked,
        faults=(
            *_losses(np.where(found.loss > 0, found.loss, elsewhere)),
            *(() if asked is None or asked.cut is None else _cut(asked.cut, found, str(config))),
        ),
        notes=(
            *_unread(topology, found.num_unread),
            *_unread(flows, num_lines - 1 - len(transfers)),
        ),
    )


def _unread(path: Path, num_lines: int) -> tuple[str, ...]:
    """Say that a file goes on behind what its first line announces, as HPCC's own do."""
    if num_lines <= 0:
        return ()
    lines = "a line" if num_lines == 1 else f"{num_lines:,} lines"
    return (f"{path}: {lines} behind what line 1 announces not read, as in HPCC's simulator",)


def _losses(of_cable: NDArray[np.float64]) -> tuple[PacketFault, ...]:
    """Return what cables lose from the beginning on, either way, packet by packet.

    HPCC-ns3 third.cc: a RateErrorModel of unit packet at both ends of a link, of the link's own
    rate or, where that is 0, ERROR_RATE_PER_LINK (recalled).
    """
    return tuple(
        PacketFault(when_ps=0, kind="loss", link=2 * cable + way, loss=float(of_cable[cable]))
        for cable in np.flatnonzero(of_cable).tolist()
        for way in (0, 1)
    )


def _cut(cut: tuple[float, int, int], found: Ns3Topology, name: str) -> tuple[PacketFault, ...]:
    """Return a link that goes down for good, both ways: of parallel ones the last (third.cc).

    Raises:
        SpecError: no link joins the two nodes.
    """
    when_s, one, other = cut
    wiring = found.wiring
    ends = np.sort(
        np.stack([found.node[wiring.link_source], found.node[wiring.link_target]]), axis=0
    )
    links = np.flatnonzero((ends[0] == min(one, other)) & (ends[1] == max(one, other)))
    if not len(links):
        message = f"{name}: LINK_DOWN: no link joins {one} and {other}; name two that one does"
        raise SpecError(message)
    return tuple(
        PacketFault(when_ps=round(when_s * 1e12), kind="down", link=int(link))
        for link in links[-2:]
    )


def _htsim(topology: Path, flows: Path, config: Path | None) -> ImportedCase:
    if config is not None:
        message = f"{config}: htsim has no configuration file; leave it out"
        raise SpecError(message)
    matrix = read_connections(_text(flows, "a .cm file"), name=str(flows))
    tree = read_tree(_text(topology, "a .topo file"), name=str(topology))
    if matrix.num_nodes > tree.num_nodes:
        message = f"{flows}: {matrix.num_nodes} nodes, but {topology} has {tree.num_nodes}"
        raise SpecError(message + "; bring files of one size")
    wiring = wire_tree(tree, matrix.failures)
    queues = queues_of(tree, wiring)
    return ImportedCase(
        wiring=wiring,
        transfers=matrix.transfers,
        node=np.arange(wiring.num_vertices),
        simulator="htsim",
        queue_bytes=queues if any(queues) else (),
        notes=_prio_notes(flows, matrix.num_prio),
        told_ps=_told_ps(matrix, wiring),
    )


def _prio_notes(path: Path, num_flows: int) -> tuple[str, ...]:
    if not num_flows:
        return ()
    flows = "a flow" if num_flows == 1 else f"{num_flows:,} flows"
    return (f"{path}: prio of {flows} not used: htsim's switches have no priorities",)


def _told_ps(matrix: Connections, wiring: PacketTopology) -> NDArray[np.int64] | None:
    """Return how long after the last byte each flow hears from the senders that it waits for."""
    if not len(matrix.told):
        return None
    flow, before = matrix.told.T
    transfers = matrix.transfers
    ways = first_ways(
        wiring,
        transfers.target[before].astype(np.int64),
        transfers.source[before].astype(np.int64),
    )
    told_ps = np.zeros(len(transfers), dtype=np.int64)
    np.maximum.at(told_ps, flow, ways.delay_ps)
    return told_ps


def _text(path: Path, wanted: str) -> str:
    return read_text(path, max_bytes=MAX_FILE_BYTES, wanted=wanted)
