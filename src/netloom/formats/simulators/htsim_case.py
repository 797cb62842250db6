"""A case of htsim: a .topo file and a .cm file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from netloom.errors import SpecError
from netloom.fabric.wiring.paths import first_ways
from netloom.formats.simulators.case import ImportedCase
from netloom.formats.simulators.htsim import queues_of, read_tree, wire_tree
from netloom.formats.simulators.htsim_cm import read_connections

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.formats.simulators.case import CaseTexts
    from netloom.formats.simulators.htsim_cm import Connections

__all__ = ["parse_case"]


def parse_case(texts: CaseTexts) -> ImportedCase:
    """Return the case in the files.

    Raises:
        SpecError: a file is wrong, or the two do not belong together.
    """
    topology, flows = texts.topology, texts.flows
    if texts.config is not None:
        raise SpecError(
            what=f"{texts.config.name}: htsim has no configuration file", remedy="leave it out"
        )
    matrix = read_connections(flows.text, name=flows.name)
    tree = read_tree(topology.text, name=topology.name)
    if matrix.num_nodes > tree.num_nodes:
        message = (
            f"{flows.name}: {matrix.num_nodes} nodes, but {topology.name} has {tree.num_nodes}"
        )
        raise SpecError(message + "; bring files of one size")
    wiring = wire_tree(tree, matrix.failures)
    queues = queues_of(tree, wiring)
    return ImportedCase(
        wiring=wiring,
        transfers=matrix.transfers,
        node=np.arange(wiring.num_vertices),
        simulator="htsim",
        queue_bytes=queues if any(queues) else (),
        notes=_prio_notes(flows.name, matrix.num_prio),
        told_ps=_told_ps(matrix, wiring),
    )


def _prio_notes(name: str, num_flows: int) -> tuple[str, ...]:
    if not num_flows:
        return ()
    flows = "a flow" if num_flows == 1 else f"{num_flows:,} flows"
    return (f"{name}: prio of {flows} not used: htsim's switches have no priorities",)


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
