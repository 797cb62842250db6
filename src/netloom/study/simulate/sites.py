"""A scenario of several sites as one network, with what its spans are like."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.engines.packet.faults import PacketFault
from netloom.engines.packet.lower import headroom_bytes
from netloom.engines.packet.vertex import NOTICE_PS, VertexSettings
from netloom.errors import SpecError, at
from netloom.fabric.build import build
from netloom.fabric.span.checks import check_sites, check_span
from netloom.fabric.span.lines import built_span
from netloom.fabric.wiring.built import wiring_of
from netloom.fabric.wiring.joined import SiteLine, join_sites
from netloom.study.networks import network_of

if TYPE_CHECKING:
    from netloom.engines.packet.settings import PacketSettings
    from netloom.fabric.network import Network
    from netloom.fabric.span.lines import BuiltSpan
    from netloom.fabric.wiring.joined import JoinedSites
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario
    from netloom.workload.transfers import Transfers

__all__ = ["SimulatedSites", "sites_of"]

_PS: Final = 1e12
ABSORBS: Final = 8.0  # alpha of an edge without PFC over a span: all but a ninth of its buffer


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SimulatedSites:
    """Sites, edges and spans, ready to be simulated."""

    joined: JoinedSites
    spans: tuple[BuiltSpan, ...]

    @property
    def wiring(self) -> PacketTopology:
        """All of it."""
        return self.joined.wiring

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know."""
        waves = ", ".join(
            f"{span.name}: {span.spec.waves.count} waves, {1e3 * span.latency.total_s:.4g} ms"
            for span in self.spans
        )
        return (f"sites are joined by an edge switch each, and a link for each wave ({waves})",)

    @property
    def faults(self) -> tuple[PacketFault, ...]:
        """What the spans lose, both ways."""
        return tuple(
            PacketFault(when_ps=0, kind="loss", link=way, loss=span.spec.loss)
            for span, links in zip(self.spans, self.joined.waves, strict=True)
            if span.spec.loss > 0
            for link in links
            for way in (link, link ^ 1)
        )

    def settings(self, settings: PacketSettings) -> PacketSettings:
        """Return *settings* with the edges' own.

        Raises:
            SpecError: credits are to end at an edge, which is not simulated.
        """
        if settings.flow_control == "credits":
            self._check_credits()
        own = dict(settings.vertices)
        for number, edge in enumerate(self.joined.edges):
            own[edge] = self._edge(settings, number, edge)
        return replace(settings, vertices=own)

    def _check_credits(self) -> None:
        for number, span in enumerate(self.spans):
            if span.spec.edge.flow_control != "credits":
                raise SpecError(
                    key=f"spans[{number}].edge.flow_control",
                    what="range extenders, which end InfiniBand's credits at the edge, are not "
                    "simulated packet by packet",
                    remedy="simulate an Ethernet technology, or use --engine flow",
                )

    def _edge(self, settings: PacketSettings, number: int, edge: int) -> VertexSettings:
        ends = [
            (span, links if line[1] == number else tuple(link ^ 1 for link in links))
            for span, links, line in zip(self.spans, self.joined.waves, self._ends(), strict=True)
            if number in line
        ]
        deepest = max(span.buffer_bytes for span, _ in ends)
        near = any(span.spec.edge.feedback == "near-source" for span, _ in ends)
        kinds = {span.spec.edge.flow_control for span, _ in ends}
        found = VertexSettings(buffer_bytes=round(deepest), notice_ps=NOTICE_PS if near else 0)
        if settings.flow_control != "pfc" or kinds == {"pfc"}:
            return found
        return replace(
            found,
            alpha=ABSORBS,
            headroom_bytes=self._short_headroom(settings, edge),
            relayed=tuple(
                link
                for span, links in ends
                if span.spec.edge.flow_control == "relayed"
                for link in links
            ),
        )

    def _short_headroom(self, settings: PacketSettings, edge: int) -> int:
        """Return what the longest cable of a site needs at the edge."""
        wiring = self.wiring
        inside = wiring.link_target == edge
        inside[
            [way for links in self.joined.waves for link in links for way in (link, link ^ 1)]
        ] = False
        plain = replace(settings, pfc=replace(settings.pfc, headroom_bytes=-1))
        return int(headroom_bytes(wiring, plain)[np.flatnonzero(inside)].max())

    def _ends(self) -> list[tuple[int, int]]:
        """Return which sites the first direction of each line leads from and to."""
        place = {edge: number for number, edge in enumerate(self.joined.edges)}
        wiring = self.wiring
        return [
            (place[int(wiring.link_source[links[0]])], place[int(wiring.link_target[links[0]])])
            for links in self.joined.waves
        ]


def sites_of(
    scenario: Scenario, catalog: Catalog, network: Network, probe: Transfers
) -> SimulatedSites:
    """Return the sites of *scenario* joined by its spans; *network* is of all its nodes.

    Raises:
        NetloomError: sites do not add up, a line cannot be built, or a site has other nodes.
    """
    check_sites(scenario, network.design.num_nodes)
    spans = []
    for number, spec in enumerate(scenario.spans):
        key = f"spans[{number}]"
        spans.append(built_span(spec, catalog, key=key))
        check_span(spans[-1], key=key)
    node = probe.source // network.node.num_gpus, probe.target // network.node.num_gpus
    inside = bool((node[0] == node[1]).any()) and network.node.num_gpus > 1
    many = any(piece.kind in {"permutation", "poisson"} for piece in scenario.traffic or ())
    inside |= many and network.node.num_gpus > 1
    names = [site.name for site in scenario.sites]
    joined = join_sites(
        [_site(scenario, catalog, number, scale_up=inside) for number in range(len(names))],
        names,
        [_line(span, names) for span in spans],
        edge_forward_ps=round(network.technology.latency.switch_s * _PS),
    )
    return SimulatedSites(joined=joined, spans=tuple(spans))


def _site(scenario: Scenario, catalog: Catalog, number: int, *, scale_up: bool) -> PacketTopology:
    site, cluster = scenario.sites[number], scenario.cluster
    if site.node is not None and site.node != cluster.node:
        raise SpecError(
            key=f"sites[{number}].node",
            what=f"{site.node}, and the cluster's nodes are {cluster.node}: sites of different "
            "nodes are not simulated",
            remedy="leave it out, or ask 'netloom span'",
        )
    own = cluster.model_copy(update={"nodes": site.nodes, "gpus": None})
    with at(f"sites[{number}]"):
        network = network_of(own, catalog)
        fabric = build(network.design, network.node, network.scale_up)
        return wiring_of(fabric, network, cluster.fabric.floor, scale_up=scale_up)


def _line(span: BuiltSpan, names: list[str]) -> SiteLine:
    waves = span.spec.waves
    delay_ps = span.latency.total_s * _PS
    late_ps = waves.skew_s * _PS / max(waves.count - 1, 1)
    return SiteLine(
        ends=(names.index(span.spec.between[0]), names.index(span.spec.between[1])),
        rate_bps=(span.line_bps / waves.count,) * waves.count,
        delay_ps=tuple(round(delay_ps + number * late_ps) for number in range(waves.count)),
    )
