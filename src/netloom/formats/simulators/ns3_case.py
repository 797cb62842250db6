"""A case of ns-3 HPCC: a topology file, a flow file and perhaps a configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from netloom.engines.packet.faults import PacketFault
from netloom.errors import SpecError
from netloom.formats.simulators.case import ImportedCase
from netloom.formats.simulators.lines import lines_of
from netloom.formats.simulators.ns3 import read_config, read_flows, read_topology

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.formats.simulators.case import CaseTexts
    from netloom.formats.simulators.ns3 import Ns3Config, Ns3Topology

__all__ = ["parse_case"]


def parse_case(texts: CaseTexts) -> ImportedCase:
    """Return the case in the files.

    Raises:
        SpecError: a file is wrong, or the two do not belong together.
    """
    topology, flows, config = texts.topology, texts.flows, texts.config
    found = read_topology(topology.text, name=topology.name)
    asked = None if config is None else read_config(config.text, name=config.name)
    elsewhere = 0.0 if asked is None else asked.loss
    transfers = read_flows(flows.text, found, name=flows.name)
    num_lines = sum(1 for _ in lines_of(flows.text, name=flows.name))
    return ImportedCase(
        wiring=found.wiring,
        transfers=transfers,
        node=found.node,
        simulator="ns-3 HPCC",
        config=asked,
        faults=(
            *_losses(np.where(found.loss > 0, found.loss, elsewhere)),
            *_cut(asked, found, "" if config is None else config.name),
        ),
        notes=(
            *_unread(topology.name, found.num_unread),
            *_unread(flows.name, num_lines - 1 - len(transfers)),
        ),
    )


def _unread(name: str, num_lines: int) -> tuple[str, ...]:
    """Say that a file goes on behind what its first line announces, as HPCC's own do."""
    if num_lines <= 0:
        return ()
    lines = "a line" if num_lines == 1 else f"{num_lines:,} lines"
    return (f"{name}: {lines} behind what line 1 announces not read, as in HPCC's simulator",)


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


def _cut(config: Ns3Config | None, found: Ns3Topology, name: str) -> tuple[PacketFault, ...]:
    """Return a link that goes down for good, both ways: of parallel ones the last (third.cc).

    Raises:
        SpecError: no link joins the two nodes.
    """
    if config is None or config.cut is None:
        return ()
    when_s, one, other = config.cut
    wiring = found.wiring
    ends = np.sort(
        np.stack([found.node[wiring.link_source], found.node[wiring.link_target]]), axis=0
    )
    links = np.flatnonzero((ends[0] == min(one, other)) & (ends[1] == max(one, other)))
    if not len(links):
        raise SpecError(
            file=name,
            what=f"LINK_DOWN: no link joins {one} and {other}",
            remedy="name two that one does",
        )
    return tuple(
        PacketFault(when_ps=round(when_s * 1e12), kind="down", link=int(link))
        for link in links[-2:]
    )
