"""Routes and sessions against the design: what is missing, refused or foreign is a finding."""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.app.lab.routers import is_fair
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
    assert f"closed by configuration at {network().ends[cable.number][0]}" in one.evidence[0]
    assert cables_away(network(), heard) == {cable.number}


def test_uplinks_that_are_all_down_hurt_the_gpus_that_they_cut_off() -> None:
    """The eight hosts of leaf:1 are 8 to 15; one uplink that is left carries for all."""
    for count, hurt in ((8, tuple(range(8, 16))), (7, ())):
        gone = [cable.number for cable in uplinks("leaf:1")[:count]]
        down = {(end, "link_up"): 0.0 for number in gone for end in network().ends[number]}
        quiet = {(end, name): 0.0 for end, _ in down for name in ("bgp_up", "bfd_up")}
        found = device_findings(network(), state(gone=gone, changed=down | quiet))
        missing = [one for one in found if one.kind == Trouble.MISSING]
        assert {one.part.index for one in missing} == set(gone)
        assert {one.hurts for one in missing} == {hurt}


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


@pytest.mark.parametrize(
    ("metric", "value", "says"),
    [
        ("bgp_hold_s", 180.0, "BGP waits 180 s for its neighbour"),
        ("bfd_detection_s", 15.0, "BFD notices a failure after 15 s"),
    ],
)
def test_timers_that_are_not_as_designed_are_one_finding_of_their_switch(
    metric: str, value: float, says: str
) -> None:
    lower = [network().ends[cable.number][0] for cable in uplinks("leaf:2")]
    (one,) = device_findings(network(), state(changed={(end, metric): value for end in lower}))
    assert (str(one.part), one.kind, one.magnitude) == ("leaf:2", Trouble.WRONG_TIMERS, 8.0)
    assert says in one.evidence[0]


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


def test_probes_that_end_at_a_dead_switch_blame_none_that_still_sends_them_there() -> None:
    """Until its neighbours notice, leaves send to a spine whose routes are gone."""
    made = network(32)
    dead = made.by_device["spine:1"]
    up = next(c for c in dead if made.devices_of(c)[0] == "leaf:0")
    way = ("gpu:0->nic:0", "nic:0->leaf:0", f"leaf:0->spine:1#{up.number}")
    flow = ObservedFlow(
        source="gpu:0", target="gpu:8", path=way, ends_at="spine:1", packets=50, lost=50
    )
    gone = [cable.number for cable in dead]
    (one,) = dead_ends(made, Observed(flows=(flow,)), gone)
    assert str(one.part) == "leaf:0"  # were it alive, and drained
    assert not list(dead_ends(made, Observed(flows=(flow,)), gone, {"spine:1"}))


@pytest.mark.parametrize(
    ("lost", "blamed"), [(50, ["leaf:0"]), (45, ["leaf:0"]), (14, []), (0, [])]
)
def test_a_switch_without_a_route_for_a_moment_is_no_black_hole(
    lost: int, blamed: list[str]
) -> None:
    # Sessions of another leaf that opened again between two looks: most of the probes arrived.
    flow = ObservedFlow(
        source="gpu:0", target="gpu:8", path=("gpu:0->nic:0",), ends_at="leaf:0", packets=50
    )
    seen = Observed(flows=(flow.model_copy(update={"lost": lost}),))
    assert [str(one.part) for one in dead_ends(network(), seen)] == blamed


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


def first_network(leaf: str) -> str:
    """Return the network of the first host of a leaf."""
    made = network()
    names = [made.plant.devices[link.switch_port.device].name for link in made.underlay.host_links]
    return str(made.underlay.host_links[names.index(leaf)].switch_address.network)


def without_network(prefix: str, *, even_own: str = "") -> dict[tuple[str, str], float]:
    """Return what switches say that have no route to a network; its own has one, mostly."""
    made, changed = network(), dict[tuple[str, str], float]()
    ways = expected_ways(made.plant, made.underlay)
    for number, own in ways.items():
        name = made.plant.devices[number].name
        if len(own[prefix]) == 1 and name != even_own and name.startswith("leaf:"):
            continue
        changed[f"{name} {prefix}", "route_ways"] = 0.0
        left = float(sum(map(len, own.values())) - len(own[prefix]))
        changed[name, "rib_ways"] = changed[name, "fib_ways"] = left
    return changed


def lost_flow(path: tuple[str, ...], ends_at: str | None, target: str = "gpu:0") -> Observed:
    source = path[0].partition("->")[0]
    flow = ObservedFlow(
        source=source, target=target, path=path, ends_at=ends_at, packets=50, lost=50
    )
    return Observed(flows=(flow,))


def test_a_network_that_its_leaf_does_not_announce_is_missed_there_and_nowhere_else() -> None:
    prefix = first_network("leaf:0")
    heard = state(changed=without_network(prefix))
    ended = lost_flow(("gpu:8->nic:8", "nic:8->leaf:1"), "leaf:1")
    (one,) = locate_all(network(), heard, ended)
    assert (str(one.part), one.kind) == ("leaf:0", Trouble.MISSING_ROUTES)
    assert one.confidence > 0.99
    assert f"none of 4 other switches has a route to {prefix}" in one.evidence[0]
    assert one.hurts == (0,)


def test_an_address_that_is_gone_explains_the_routes_and_flows_that_it_costs() -> None:
    made, prefix = network(), first_network("leaf:0")
    address = made.underlay.host_links[0].switch_address.ip
    changed = without_network(prefix, even_own="leaf:0")
    changed[f"leaf:0 {address}", "address_missing"] = float(int(address))
    ended = lost_flow(("gpu:0->nic:0",), "nic:0", target="gpu:8")
    found = locate_all(made, state(changed=changed), ended)
    assert kinds(found) == [("leaf:0", Trouble.MISSING_ADDRESS)]


def test_a_flow_that_a_switch_sends_to_a_host_off_its_way_is_no_fault_of_that_host() -> None:
    cable = next(c for c in network().plant.cables if network().devices_of(c)[0] == "nic:1")
    path = ("gpu:2->nic:2", "nic:2->leaf:0", f"leaf:0->nic:1#{cable.number}")
    (one,) = dead_ends(network(), lost_flow(path, "nic:1", target="gpu:9"))
    assert (str(one.part), one.kind) == ("leaf:0", FaultKind.BLACK_HOLE)
    assert one.evidence[1] == "they end at nic:1"


def test_fewer_routes_are_told_with_the_port_over_which_they_are_missing() -> None:
    cable = uplinks("leaf:1")[0]
    lower, upper = network().ends[cable.number]
    uses = expected_uses(network().plant, network().underlay)["spine:0"]
    changed = {("spine:0", metric): sum(uses.values()) - 8.0 for metric in ("rib_ways", "fib_ways")}
    changed[upper, "routes_over"] = 0.0
    (one,) = device_findings(network(), state(changed=changed))
    assert (str(one.part), one.kind) == ("spine:0", Trouble.MISSING_ROUTES)
    assert f"fewer lead over {upper} (cable:{cable.number}" in one.evidence[0]
    assert lower not in one.evidence[0]


def silent(*daemons: str) -> dict[tuple[str, str], float]:
    """Return that these daemons do not answer, such as ``leaf:1 zebra``, and all others do."""
    names = [one.name for one in network().underlay.routers]
    every = {f"{name} {daemon}" for name in names for daemon in ("zebra", "bfdd", "bgpd")}
    return {(one, "daemon_silent"): float(one in daemons) for one in every}


@pytest.mark.parametrize("daemon", ["zebra", "bfdd"])
def test_a_daemon_that_does_not_answer_is_a_finding_at_its_switch_from_two_looks_on(
    daemon: str,
) -> None:
    heard = state(changed=silent(f"leaf:1 {daemon}"))
    (one,) = device_findings(network(), heard)
    assert (str(one.part), one.kind) == ("leaf:1", Trouble.DAEMON_SILENT)
    assert f"{daemon} does not answer at 3 looks" in one.evidence[0]
    assert device_findings(network(), once(heard)) == ()


def once(heard: TelemetryWindow) -> TelemetryWindow:
    """Return a window of which only the last look was seen."""
    last = {source: times[-1:] for source, times in heard.looks.items()}
    return replace(heard, looks=last)


@pytest.mark.parametrize("num_looks", [1, LOOKS])
def test_sessions_that_a_silent_bfdd_takes_down_are_no_second_finding(num_looks: int) -> None:
    down = {
        (end, metric): 0.0
        for cable in uplinks("leaf:1")
        for end in network().ends[cable.number]
        for metric in ("bgp_up", "bfd_up")
    }
    heard = state(changed={**down, **silent("leaf:1 bfdd")})
    kept = heard if num_looks > 1 else once(heard)
    wanted = [("leaf:1", "silent routing daemon")] if num_looks > 1 else []
    sessions = {"silent device", "session down", "loss", "silent routing daemon"}
    assert [one for one in kinds(device_findings(network(), kept)) if one[1] in sessions] == wanted


@pytest.mark.parametrize(
    ("waits", "fair"),
    [
        ([[0.01] * 3] * 6, True),
        ([[0.01, None, 0.01], *[[0.01] * 3] * 5], True),
        ([[0.01, None, 0.01], *[[4.0] * 3] * 5], False),  # all are slow
        ([[4.0] * 3] * 6, True),  # slow, and nothing to blame on any
        ([*[[0.01, None, 0.01]] * 4, *[[0.01] * 3] * 2], False),  # most do not answer
        ([[None] * 3], False),  # none to compare with
    ],
)
def test_a_daemon_is_blamed_only_where_those_of_other_switches_are_quick(
    waits: list[list[float | None]], *, fair: bool
) -> None:
    assert is_fair({f"leaf:{number}": some for number, some in enumerate(waits)}) is fair


def without_bfd(*cables: Cable) -> dict[tuple[str, str], float]:
    """Return what both ends say where the lower one has no BFD: the upper one hears nothing."""
    ends = [network().ends[cable.number] for cable in cables]
    own = {(lower, "bfd_missing"): 1.0 for lower, _ in ends}
    return own | {(upper, "bfd_up"): 0.0 for _, upper in ends}


def test_a_neighbour_without_bfd_is_a_finding_that_names_the_end_and_the_only_one() -> None:
    cable = uplinks("leaf:1")[0]
    heard = state(changed=without_bfd(cable))
    (one,) = device_findings(network(), heard)
    assert (one.part, one.kind) == (network().part(cable), Trouble.NO_BFD)
    assert one.evidence[0].startswith(f"{network().ends[cable.number][0]} has no BFD session")
    assert device_findings(network(), once(heard)) == ()
    assert device_findings(network(), heard, planned=[cable.number]) == ()


def test_a_switch_without_bfd_to_several_neighbours_is_one_finding() -> None:
    first, second, *_ = uplinks("leaf:1")
    (one,) = device_findings(network(), state(changed=without_bfd(first, second)))
    assert (str(one.part), one.kind, one.magnitude) == ("leaf:1", Trouble.NO_BFD, 2.0)
    ports = [network().ends[cable.number][0] for cable in (first, second)]
    assert all(port in one.evidence[0] for port in ports)


def test_a_port_that_its_device_does_not_have_is_told_and_what_it_takes_along_is_not() -> None:
    # Renamed: the other end is up, and no session comes about over it.
    cable = uplinks("leaf:1")[0]
    lower, upper = network().ends[cable.number]
    down = {(end, metric): 0.0 for end in (lower, upper) for metric in ("bgp_up", "bfd_up")}
    heard = state(gone=[cable.number], changed={**down, (lower, "port_absent"): 1.0})
    (one,) = device_findings(network(), heard)
    assert (one.part, one.kind) == (network().part(cable), Trouble.NO_PORT)
    assert f"no interface for {lower}" in one.evidence[0]
    assert cables_away(network(), heard) == {cable.number}
    assert device_findings(network(), once(heard)) == ()


def neglected(accepted: float) -> TelemetryWindow:
    """Return leaf:1 with one of its eight ways to each host of others, three to an uplink.

    It accepts 28 prefixes over the first uplink (24 hosts, 3 leaves and the spine), and so many
    over the others.
    """
    own = expected_ways(network().plant, network().underlay)[network().plant.number("leaf:1")]
    far = [prefix for prefix, ways in own.items() if len(ways) > 1]
    first, *others = (network().ends[cable.number][0] for cable in uplinks("leaf:1"))
    changed = {("leaf:1", name): len(far) + 8.0 for name in ("rib_ways", "fib_ways")}
    changed |= {(f"leaf:1 {prefix}", "route_ways"): 1.0 for prefix in far}
    changed |= {(port, "routes_over"): 3.0 for port in (first, *others)}
    changed |= {(port, "bgp_prefixes"): accepted for port in others}
    return state(changed={**changed, (first, "bgp_prefixes"): 28.0})


def test_ways_that_a_switch_accepts_and_does_not_take_are_its_own_choice() -> None:
    (one,) = device_findings(network(), neglected(28.0))
    assert (str(one.part), one.kind) == ("leaf:1", Trouble.MISSING_ROUTES)
    assert "maximum-paths 1" in one.evidence[-1]
    (other,) = device_findings(network(), neglected(20.0))  # eight are kept from it
    assert "maximum-paths" not in " ".join(other.evidence)
