"""Routes and sessions against the design: what is missing, refused or foreign is a finding."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.fabric.build import build
from netloom.fabric.part_id import Direction, PartId
from netloom.ops.locate.dead_ends import dead_ends
from netloom.ops.locate.device_findings import cables_away, device_findings
from netloom.ops.locate.faults import FaultKind, Trouble
from netloom.ops.locate.locate import locate_all
from netloom.ops.locate.network import DesignedNetwork
from netloom.ops.locate.telemetry import window_of
from netloom.ops.observe.observation import Observation, whole
from netloom.ops.plant import plant_of
from netloom.ops.underlay import expected_uses, expected_ways, interface_name
from netloom.parts.load import load_catalog
from netloom.spec.observed import Observed, ObservedFlow
from netloom.spec.scenario import Cluster
from netloom.study.networks import network_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from netloom.ops.locate.findings import Finding
    from netloom.ops.locate.telemetry import TelemetryWindow
    from netloom.ops.plant import Cable

LOOKS = 3


@functools.cache
def network(nodes: int = 4) -> DesignedNetwork:
    """4 nodes of 8 NICs, 8 to a leaf: 4 leaves of 8 hosts and 8 uplinks, one spine; 32 have two."""
    topology = {"kind": "fat-tree", "tiers": 2, "hosts_per_leaf": 8}
    cluster = Cluster.model_validate(
        {"nodes": nodes, "fabric": {"technology": "rocev2-400g", "topology": topology}}
    )
    made = network_of(cluster, load_catalog())
    fabric = build(made.design, made.node, made.scale_up)
    return DesignedNetwork(
        fabric=fabric, plant=plant_of(fabric), rate_bps=lambda cable: cable.rate_bps
    )


def uplinks(leaf: str) -> list[Cable]:
    plant = network().plant
    return [c for c in network().by_device[leaf] if plant.devices[c.lower.device].name == leaf]


def state(
    gone: Collection[int] = (), changed: Mapping[tuple[str, str], float] | None = None
) -> TelemetryWindow:
    """Return what all switches say in a few looks: as designed but for *gone* and *changed*."""
    made, values = network(), dict[tuple[str, str], float]()
    uses = expected_uses(made.plant, made.underlay, gone)
    for cable in made.plant.cables:
        for port in cable.ends:
            name, part = made.plant.devices[port.device].name, made.plant.port_name(port)
            values[part, "link_up"] = 1.0
            if "nic" not in made.devices_of(cable)[0]:
                over = uses[name].get(interface_name(made.plant, port), 0)
                values[part, "routes_over"] = float(over)
                values[part, "bgp_up"] = values[part, "bfd_up"] = 1.0
    for name, own in uses.items():
        values[name, "rib_ways"] = values[name, "fib_ways"] = float(sum(own.values()))
    values |= changed or {}
    return window_of(
        whole(
            "x",
            float(t),
            [Observation(float(t), p, m, v) for (p, m), v in values.items()],
            cursor="",
        )
        for t in range(LOOKS)
    )


def kinds(found: Collection[Finding]) -> list[tuple[str, str]]:
    return sorted((str(one.part.whole), one.kind) for one in found)


def shut(cable: Cable) -> dict[tuple[str, str], float]:
    """Return what both ends say when the lower one was told to close: BFD stays up."""
    lower, upper = network().ends[cable.number]
    return {(lower, "bgp_up"): 0.0, (upper, "bgp_up"): 0.0, (lower, "bgp_shut"): 1.0}


def test_a_network_that_is_as_designed_has_no_findings() -> None:
    assert device_findings(network(), state()) == ()
    assert cables_away(network(), state()) == frozenset()


def test_a_session_shut_at_one_end_is_a_finding_though_bfd_is_up() -> None:
    cable = uplinks("leaf:1")[0]
    heard = state(gone=[cable.number], changed=shut(cable))
    (one,) = device_findings(network(), heard)
    assert (one.part, one.kind) == (network().part(cable), Trouble.SESSION_DOWN)
    assert one.confidence > 0.99
    assert f"shut by configuration at {network().ends[cable.number][0]}" in one.evidence[0]
    assert cables_away(network(), heard) == {cable.number}


def test_a_planned_drain_is_no_finding_and_still_away() -> None:
    cable = uplinks("leaf:1")[0]
    heard = state(gone=[cable.number], changed=shut(cable))
    assert device_findings(network(), heard, planned=[cable.number]) == ()
    assert cables_away(network(), heard, planned=[cable.number]) == {cable.number}


def test_a_session_that_is_down_without_bfd_is_a_finding_of_its_own() -> None:
    cable = uplinks("leaf:1")[0]
    changed = {k: v for k, v in shut(cable).items() if k[1] == "bgp_up"}
    (one,) = device_findings(network(), state(gone=[cable.number], changed=changed))
    assert (one.part, one.kind) == (network().part(cable), Trouble.SESSION_DOWN)


@pytest.mark.parametrize(
    ("hears", "direction"),
    [
        ((1.0, 0.0), Direction.UP),  # the lower end hears, the upper does not: what goes up is lost
        ((0.0, 1.0), Direction.DOWN),
        ((0.0, 0.0), Direction.BOTH),
    ],
)
def test_the_direction_that_swallows_packets_is_named(
    hears: tuple[float, float], direction: Direction
) -> None:
    cable = uplinks("leaf:1")[0]
    ends = network().ends[cable.number]
    changed = {(end, metric): 0.0 for end in ends for metric in ("bgp_up", "bfd_up")}
    changed |= {(end, "bfd_hears"): value for end, value in zip(ends, hears, strict=True)}
    (one,) = device_findings(network(), state(gone=[cable.number], changed=changed))
    assert (one.part.whole, one.kind) == (PartId.cable(cable.number), FaultKind.LOSS)
    assert one.part.direction is direction


def test_fewer_ways_than_the_design_leaves_are_a_finding() -> None:
    # leaf:2 reaches 24 hosts of other leaves over 8 uplinks and 8 of its own: 200 ways.
    whole_ways = sum(network().uses(frozenset())["leaf:2"].values())
    assert whole_ways == 24 * 8 + 8
    changed = {("leaf:2", "rib_ways"): 192.0, ("leaf:2", "fib_ways"): 192.0}
    (one,) = device_findings(network(), state(changed=changed))
    assert (str(one.part), one.kind, one.magnitude) == ("leaf:2", Trouble.MISSING_ROUTES, 8.0)


def test_a_cable_over_which_no_route_leads_counts_as_away() -> None:
    cable = uplinks("leaf:2")[3]
    lower, _ = network().ends[cable.number]
    assert cables_away(network(), state(changed={(lower, "routes_over"): 0.0})) == {cable.number}


@pytest.mark.parametrize(
    ("metric", "kind"), [("route_refused", Trouble.REFUSED), ("route_foreign", Trouble.FOREIGN)]
)
def test_a_route_that_refuses_or_diverts_a_host_is_a_finding_with_its_prefix(
    metric: str, kind: Trouble
) -> None:
    changed = {("leaf:0 10.128.0.17/32", metric): 1.0, ("leaf:0", "rib_ways"): 192.0}
    found = device_findings(network(), state(changed=changed))
    one = next(f for f in found if f.kind == kind)
    assert str(one.part) == "leaf:0"
    assert "10.128.0.17/32" in one.evidence[0]
    # The 8 GPUs of the leaf, and that of 10.128.0.16/31, which is the ninth host's network.
    assert len(one.hurts) == 8 + 1
    if kind == Trouble.REFUSED:  # which explains the ways that are missing
        assert kinds(found) == [("leaf:0", kind)]


def test_probes_that_end_at_a_switch_are_evidence_against_it() -> None:
    flow = ObservedFlow(
        source="gpu:0",
        target="gpu:8",
        path=("gpu:0->nic:0", "nic:0->leaf:0"),
        ends_at="leaf:0",
        packets=20,
        lost=20,
    )
    other = flow.model_copy(update={"target": "gpu:16", "lost": 0})
    (one,) = dead_ends(network(), Observed(flows=(flow, other)))
    assert (str(one.part), one.kind, one.magnitude) == ("leaf:0", FaultKind.BLACK_HOLE, 0.5)
    assert one.hurts == (0, 8)
    found = locate_all(network(), state(), Observed(flows=(flow, other)))
    assert kinds(found) == [("leaf:0", FaultKind.BLACK_HOLE)]


def test_what_a_foreign_route_takes_away_convicts_no_link_beyond_it() -> None:
    # gpu:8 is 10.128.0.17. By its kernel leaf:0 sends what is for it over one uplink, where it
    # is lost; flows to others of that leaf cross the same uplink and arrive.
    made = network()
    cable = uplinks("leaf:0")[0]
    up = f"leaf:0->spine:0#{cable.number}"
    flows = tuple(
        ObservedFlow(
            source=f"gpu:{source}",
            target=f"gpu:{target}",
            path=(
                *(f"gpu:{source}->nic:{source}", f"nic:{source}->leaf:0", up),
                *(f"spine:0->leaf:1#{made.by_device['leaf:1'][-1].number}",),
                *(f"leaf:1->nic:{target}", f"nic:{target}->gpu:{target}"),
            ),
            packets=50,
            lost=50 if target == 8 else 0,
        )
        for source in range(4)
        for target in range(8, 16)
    )
    astray = {("leaf:0 10.128.0.17/32", "route_foreign"): 1.0}
    found = locate_all(made, state(changed=astray), Observed(flows=flows))
    assert kinds(found) == [("leaf:0", Trouble.FOREIGN)]
    assert len(locate_all(made, state(), Observed(flows=flows))) >= 1  # it would have been blamed


def rewritten(flow: ObservedFlow, device: str, count: int, key: str) -> ObservedFlow:
    """Return a flow as *device* leaves it: *count* of its packets rewritten."""
    passes = any(link.startswith(f"{device}->") for link in flow.path or ())
    return flow.model_copy(update={key: count if passes else 0})


def crossing_flows() -> list[ObservedFlow]:
    """Return flows between all pairs of leaves, over the one spine."""
    return [
        ObservedFlow(
            source=f"gpu:{source}",
            target=f"gpu:{target}",
            path=(
                f"gpu:{source}->nic:{source}",
                f"nic:{source}->leaf:{source // 8}",
                f"leaf:{source // 8}->spine:0#{uplinks(f'leaf:{source // 8}')[0].number}",
                f"spine:0->leaf:{target // 8}#{uplinks(f'leaf:{target // 8}')[1].number}",
                f"leaf:{target // 8}->nic:{target}",
                f"nic:{target}->gpu:{target}",
            ),
            packets=50,
        )
        for source, target in itertools.permutations(range(0, 32, 3), 2)
        if source // 8 != target // 8
    ]


@pytest.mark.parametrize("device", ["leaf:1", "spine:0", "nic:6"])
@pytest.mark.parametrize(
    ("key", "kind"),
    [("ecn_cleared", Trouble.ECN_CLEARED), ("dscp_changed", Trouble.DSCP_CHANGED)],
)
def test_a_device_that_rewrites_what_passes_it_is_named_though_nothing_is_lost(
    device: str, key: str, kind: Trouble
) -> None:
    flows = tuple(rewritten(one, device, 50, key) for one in crossing_flows())
    (one,) = locate_all(network(), state(), Observed(flows=flows))
    assert (str(one.part), one.kind) == (device, kind)
    assert one.confidence > 0.8


def test_a_few_packets_that_were_rewritten_name_nobody() -> None:
    flows = tuple(rewritten(one, "spine:0", 5, "ecn_cleared") for one in crossing_flows())
    assert locate_all(network(), state(), Observed(flows=flows)) == ()


def test_bfd_that_is_down_under_a_session_that_is_up_is_a_finding() -> None:
    made = network()
    cable = made.by_device["spine:0"][0]
    changed = {(end, "bfd_up"): 0.0 for end in made.ends[cable.number]}
    (one,) = locate_all(made, state(changed=changed))
    assert (one.part.whole, one.kind) == (PartId.cable(cable.number), Trouble.SESSION_DOWN)
    assert one.evidence[0].startswith("BFD is down at 2 of 2 ends although BGP is up")


def test_of_flows_in_a_circle_the_switch_that_sends_them_astray_is_blamed_and_none_beside() -> None:
    made = network()
    up = next(c for c in made.by_device["leaf:0"] if made.devices_of(c)[1] == "spine:0")
    astray = next(c for c in made.by_device["spine:0"] if made.devices_of(c)[0] != "leaf:0")
    leaf = made.devices_of(astray)[0]
    circle = (f"spine:0->{leaf}#{astray.number}", f"{leaf}->spine:0#{astray.number}")
    target = next(
        f"gpu:{g}" for g in range(32) if g not in {*made.gpus["leaf:0"], *made.gpus[leaf]}
    )
    start = ("gpu:0->nic:0", "nic:0->leaf:0", f"leaf:0->spine:0#{up.number}")
    lost = ObservedFlow(
        source="gpu:0",
        target=target,
        path=(*start, *circle, *circle),
        ends_at="spine:0",
        packets=50,
        lost=50,
    )
    there = made.gpus[leaf][0]
    nic = next(n for n, own in made.gpus.items() if n.startswith("nic:") and there in own)
    beside = ObservedFlow(
        source="gpu:0",
        target=f"gpu:{there}",
        path=(*start, circle[0], f"{leaf}->{nic}", f"{nic}->gpu:{there}"),
        packets=50,
        lost=20,  # the circle fills the link
    )
    (one,) = dead_ends(made, Observed(flows=(lost, lost.model_copy(update={"ends_at": leaf}))))
    assert str(one.part) == "spine:0"
    assert one.evidence[1] == f"round and round: spine:0, {leaf}, spine:0"
    found = locate_all(made, state(), Observed(flows=(lost, *[beside] * 8)))
    assert kinds(found) == [("spine:0", FaultKind.BLACK_HOLE)]


def test_probes_to_a_host_that_no_way_is_left_to_blame_no_switch_on_their_way() -> None:
    (cable,) = network().by_device["nic:8"]
    flow = ObservedFlow(
        source="gpu:0", target="gpu:8", path=("gpu:0->nic:0",), ends_at="leaf:0", packets=9, lost=9
    )
    assert not list(dead_ends(network(), Observed(flows=(flow,)), gone=[cable.number]))


def test_no_route_goes_down_and_up_again_when_cables_are_gone() -> None:
    made = network(32)
    number = made.plant.number
    gone = [c.number for c in made.by_device["leaf:1"] if made.devices_of(c)[1] == "spine:0"]
    ways = expected_ways(made.plant, made.underlay, gone)
    own = [k for k in made.underlay.host_links if k.switch_port.device == number("leaf:1")]
    prefixes = {str(link.switch_address.network) for link in own}
    assert (len(gone), len(prefixes)) == (4, 8)  # half of 8 uplinks
    assert not ways[number("spine:0")].keys() & prefixes
    assert {len(ways[number("leaf:0")][prefix]) for prefix in prefixes} == {4}


@given(st.sets(st.integers(32, 63), max_size=6))
def test_ways_and_uses_count_the_same(gone: set[int]) -> None:
    made = network()
    ways = expected_ways(made.plant, made.underlay, gone)
    uses = expected_uses(made.plant, made.underlay, gone)
    for device, own in ways.items():
        used = list(itertools.chain.from_iterable(own.values()))
        name = made.plant.devices[device].name
        assert uses[name] == {one: used.count(one) for one in used}


def test_names_of_prefixes_that_are_none_are_passed_over() -> None:
    found = device_findings(network(), state(changed={("leaf:0 x", "route_refused"): 1.0}))
    assert found == ()
