"""A scenario of several sites, flow by flow and packet by packet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from wires import leaf_spine

import netloom as nl
from netloom.errors import InfeasibleError, SpecError
from netloom.fabric.wiring.joined import SiteLine, join_sites
from netloom.fabric.wiring.paths import first_ways
from netloom.spec.load import parse
from netloom.study.inputs import catalog_of
from netloom.study.simulate.run import case_of

if TYPE_CHECKING:
    from netloom.fabric.wiring.joined import JoinedSites
    from netloom.spec.scenario import Scenario
    from netloom.study.simulate import Simulation
    from netloom.study.simulate.packet import PacketRunner

MS: Final = 1_000_000_000
TWO_SITES: Final = """
cluster: {{nodes: 8, node: dgx-h100, fabric: {{technology: {technology}}}}}
sites: [{{name: north, nodes: 4}}, {{name: south, nodes: 4}}]
spans:
  - between: [north, south]
    length: 100km
    waves: {{count: 2, rate: 400Gbps, optics: 400zr, skew: {skew}}}
    loss: {loss}
    edge: {{flow_control: {control}, feedback: {feedback}}}
traffic:
  - {{kind: one-to-one, source: {source}, target: {target}, size: 100MB}}
"""
PLAIN: Final = {
    "technology": "rocev2-400g",
    "skew": "0ns",
    "loss": 0,
    "control": "none",
    "feedback": "end-to-end",
    "source": 0,
    "target": 32,
}


def scenario(**change: Any) -> Scenario:
    return parse(TWO_SITES.format(**{**PLAIN, **change}), name="sites.yaml")


def runner(**change: Any) -> PacketRunner:
    asked = scenario(**change)
    found: Any = case_of(asked, catalog_of(asked)).runner
    return found  # type: ignore[no-any-return]


def simulated(engine: Any = "packet", **change: Any) -> Simulation:
    return nl.simulate(scenario(**change), engine=engine)


def took_s(found: Simulation) -> float:
    delivery = found.runs[0].delivery
    return float(delivery.finish_ps[0] - delivery.start_ps[0]) * 1e-12


def joined(*lines: SiteLine, num_sites: int = 3) -> JoinedSites:
    site = leaf_spine(2, 2, 2)
    return join_sites([site] * num_sites, list("abcdef"[:num_sites]), lines, edge_forward_ps=5)


def line(a: int, b: int, *delay_ms: int) -> SiteLine:
    return SiteLine(
        ends=(a, b),
        rate_bps=(400e9,) * len(delay_ms),
        delay_ps=tuple(one * MS for one in delay_ms),
    )


def test_every_endpoint_of_every_site_reaches_every_other() -> None:
    net = joined(line(0, 1, 1), line(1, 2, 2)).wiring
    ends = np.arange(net.num_endpoints)
    source, target = (each.reshape(-1) for each in np.meshgrid(ends, ends))
    apart = source != target
    ways = first_ways(net, source[apart], target[apart])
    site = ends // 4
    # Up and down inside; over one edge cable more at each end, and one link a span.
    lines = abs(site[source[apart]] - site[target[apart]])
    same_leaf = source[apart] // 2 == target[apart] // 2
    hops = np.where(lines > 0, 6 + lines, np.where(same_leaf, 2, 4))
    assert ways.num_hops.tolist() == hops.tolist()
    inside_ps = 7 * MS // 1_000  # no way inside a site takes as long
    delay_ms = np.round(ways.delay_ps / MS - 0.5 * inside_ps / MS)
    expected = np.select([lines == 0, lines == 2], [0, 3], 0)
    expected = np.where(
        lines == 1, np.where((site[source[apart]] + site[target[apart]]) == 1, 1, 2), expected
    )
    assert delay_ms.tolist() == expected.tolist()


def test_ways_inside_a_site_are_as_without_the_others() -> None:
    alone, net = leaf_spine(2, 2, 2), joined(line(0, 1, 1), line(1, 2, 2)).wiring
    pairs = np.array([(a, b) for a in range(4) for b in range(4) if a != b])
    for base in (0, 4, 8):
        found = first_ways(net, base + pairs[:, 0], base + pairs[:, 1])
        own = first_ways(alone, pairs[:, 0], pairs[:, 1])
        assert found.num_hops.tolist() == own.num_hops.tolist()
        assert found.delay_ps.tolist() == own.delay_ps.tolist()


def test_of_two_lines_with_as_many_hops_the_shorter_is_taken() -> None:
    both = joined(line(0, 1, 9), line(0, 2, 1), line(1, 3, 9), line(2, 3, 1), num_sites=4)
    ways = first_ways(both.wiring, np.array([0]), np.array([12]))
    assert ways.delay_ps[0] // MS == 2


def test_sites_that_no_line_joins_are_refused() -> None:
    with pytest.raises(InfeasibleError, match="no line leads from site"):
        joined(line(0, 1, 1))


def test_all_waves_of_a_line_are_next_links_of_its_edges() -> None:
    found = joined(line(0, 1, 1, 1, 1), line(1, 2, 2))
    net, edge = found.wiring, found.edges[0]
    number = net.choices[edge, net.goal[4]]
    assert net.links[net.offsets[number] : net.offsets[number + 1]].tolist() == list(found.waves[0])
    assert net.name[edge] == "a/edge"
    assert net.name[:4] == ("a/v0", "a/v1", "a/v2", "a/v3")


def test_flows_and_packets_agree_on_an_empty_span() -> None:
    packet_s, flow_s = took_s(simulated("packet")), took_s(simulated("flow"))
    assert flow_s == pytest.approx(packet_s, rel=0.02)
    # 100 MB at 400 Gb/s and twice 496 us: 100 km, DSP and FEC.
    assert packet_s == pytest.approx(100e6 * 8 / 400e9 + 2 * 0.4962e-3, rel=0.05)


def test_an_idle_span_costs_nothing() -> None:
    across = simulated(target=8)
    alone = parse(
        TWO_SITES.format(**{**PLAIN, "target": 8})
        .split("sites:")[0]
        .replace("nodes: 8", "nodes: 4")
        + "traffic:\n  - {kind: one-to-one, source: 0, target: 8, size: 100MB}\n",
        name="alone.yaml",
    )
    one = nl.simulate(alone)
    for counter in ("events", "link_traversals"):
        found, own = (each.runs[0].delivery.counters[counter] for each in (across, one))
        assert found == own
    assert took_s(across) == took_s(one)


def test_losses_of_a_span_reach_the_packets() -> None:
    assert runner().faults == ()
    faults = runner(loss=0.001).faults
    assert len(faults) == 4  # two waves, both ways
    assert {fault.loss for fault in faults} == {0.001}
    lost = simulated(loss=0.001).runs[0].delivery.counters
    assert lost["lost"] > 5
    assert lost["retransmissions"] > 0


def test_skew_spreads_the_waves_over_their_routes() -> None:
    net = runner(skew="250us").wiring
    spans = net.link_delay_ps[-4:]
    assert (spans[2:] - spans[:2]).tolist() == [250_000_000] * 2


def test_an_edge_has_what_its_span_says() -> None:
    def own(**change: Any) -> Any:
        found = runner(**change)
        return found.settings.vertices[found.wiring.num_vertices - 1]

    plain = own()
    assert plain.buffer_bytes > 1_000_000_000
    assert (plain.notice_ps, plain.relayed) == (0, ())
    assert own(feedback="near-source").notice_ps == 10_000_000
    relayed = runner(control="relayed")
    edge = relayed.wiring.num_vertices - 1
    links = relayed.settings.vertices[edge].relayed
    assert len(links) == 2
    assert (relayed.wiring.link_target[list(links)] == edge).all()
    assert simulated(control="relayed").runs[0].delivery.counters["drops"] == 0
    assert own(control="pfc").headroom_bytes is None


def test_infiniband_with_range_extenders_is_refused_packet_by_packet() -> None:
    change = {"technology": "infiniband-ndr", "control": "relayed"}
    with pytest.raises(SpecError, match="range extenders"):
        simulated(**change)
    assert took_s(simulated("flow", **change)) > 0


def test_sites_that_do_not_add_up_are_refused_by_simulate_too() -> None:
    text = TWO_SITES.format(**PLAIN).replace("nodes: 8", "nodes: 9")
    with pytest.raises(SpecError, match="they have 8 nodes together, and the cluster 9"):
        nl.simulate(parse(text, name="sites.yaml"))


def test_sites_of_other_nodes_are_refused_by_simulate() -> None:
    text = TWO_SITES.format(**PLAIN).replace("south, nodes: 4}", "south, nodes: 4, node: dgx-a100}")
    with pytest.raises(SpecError, match="sites of different nodes are not simulated"):
        nl.simulate(parse(text, name="sites.yaml"))
