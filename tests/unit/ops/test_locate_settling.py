"""A cable that goes down or comes back during a look: routing follows, no one else is blamed."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest

from netloom.fabric.build import build
from netloom.fabric.part_id import PartId
from netloom.ops.locate.device_findings import device_findings
from netloom.ops.locate.faults import FaultKind, Trouble
from netloom.ops.locate.locate import locate_all
from netloom.ops.locate.looks.settling import (
    FEW_LOST,
    LOOKS_TO_SETTLE,
    settled_flows,
    settling_cables,
    unconfirmed,
    without_endings,
)
from netloom.ops.locate.network import DesignedNetwork
from netloom.ops.locate.telemetry import window_of
from netloom.ops.observe.cases import MISSES_TO_CLOSE, Case
from netloom.ops.observe.observation import Observation, whole
from netloom.ops.plant import plant_of
from netloom.ops.underlay import expected_uses, interface_name
from netloom.parts.load import load_catalog
from netloom.spec.observed import Observed, ObservedFlow
from netloom.spec.scenario import Cluster
from netloom.study.networks import network_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from netloom.ops.locate.findings import Finding
    from netloom.ops.locate.telemetry import TelemetryWindow
    from netloom.ops.plant import Cable

Values = dict[tuple[str, str], float]


@functools.cache
def network() -> DesignedNetwork:
    """4 nodes of 8 NICs: 4 leaves of 8 hosts and 8 uplinks each to one spine."""
    topology = {"kind": "fat-tree", "tiers": 2, "hosts_per_leaf": 8}
    cluster = Cluster.model_validate(
        {"nodes": 4, "fabric": {"technology": "rocev2-400g", "topology": topology}}
    )
    made = network_of(cluster, load_catalog())
    fabric = build(made.design, made.node, made.scale_up)
    return DesignedNetwork(
        fabric=fabric, plant=plant_of(fabric), rate_bps=lambda cable: cable.rate_bps
    )


def uplink() -> Cable:
    return next(c for c in network().by_device["leaf:1"] if "leaf" in network().devices_of(c)[0])


def told(*, link_up: bool, has_routes: bool) -> Values:
    """Return what all switches say while the uplink is up or down, with routes over it or none."""
    made, values, cable = network(), Values(), uplink()
    uses = expected_uses(made.plant, made.underlay, () if has_routes else (cable.number,))
    for one in made.plant.cables:
        for port in one.ends:
            name, part = made.plant.devices[port.device].name, made.plant.port_name(port)
            values[part, "link_up"] = float(link_up or one is not cable)
            if "nic" not in made.devices_of(one)[0]:
                over = uses[name].get(interface_name(made.plant, port), 0)
                values[part, "routes_over"] = float(over)
                is_up = float(has_routes or one is not cable)
                values[part, "bgp_up"] = values[part, "bfd_up"] = is_up
    for name, own in uses.items():
        values[name, "rib_ways"] = values[name, "fib_ways"] = float(sum(own.values()))
    return values


WELL = {"link_up": True, "has_routes": True}
DOWN = {"link_up": False, "has_routes": False}
BACK = {"link_up": True, "has_routes": False}


def window(looks: Sequence[Values]) -> TelemetryWindow:
    """Return a look after another, as switches told them."""
    return window_of(
        whole(
            "x",
            float(t),
            [Observation(float(t), part, metric, v) for (part, metric), v in values.items()],
            cursor="",
        )
        for t, values in enumerate(looks)
    )


def kinds(found: Collection[Finding]) -> set[tuple[str, str]]:
    return {(str(one.part.whole), one.kind) for one in found}


def test_sessions_and_routes_follow_a_cable_that_was_down_for_long() -> None:
    # Down for twenty looks: its sessions have been away for as long when it comes back.
    before = [told(**WELL), *[told(**DOWN)] * 20]
    for count in range(1, LOOKS_TO_SETTLE + 1):
        assert kinds(device_findings(network(), window(before + [told(**BACK)] * count))) == set()
    late = device_findings(network(), window(before + [told(**BACK)] * (LOOKS_TO_SETTLE + 1)))
    assert (f"cable:{uplink().number}", FaultKind.LOSS) in kinds(late)


def test_routes_follow_a_session_that_was_away_for_long_though_its_cable_was_up() -> None:
    # Sessions are back, and the ways over the cable have been away for as long as they were.
    opened = {(end, f"{name}_up"): 1.0 for end in ends() for name in ("bgp", "bfd")}
    before = [told(**WELL), *[told(**BACK)] * 20]
    for count in range(1, LOOKS_TO_SETTLE + 1):
        late = [told(**BACK) | opened] * count
        assert kinds(device_findings(network(), window(before + late))) == set()
    late = [told(**BACK) | opened] * (LOOKS_TO_SETTLE + 1)
    assert {kind for _, kind in kinds(device_findings(network(), window(before + late)))} == {
        Trouble.MISSING_ROUTES
    }


def ends() -> tuple[str, str]:
    return network().ends[uplink().number]


def test_a_cable_is_settling_for_some_looks_after_it_went_down_or_came_back() -> None:
    number = uplink().number
    down = [told(**WELL), *[told(**DOWN)] * LOOKS_TO_SETTLE]
    assert settling_cables(network(), window(down)) == {number}
    assert settling_cables(network(), window([*down, told(**DOWN)])) == frozenset()
    assert settling_cables(network(), window([*down, told(**WELL)])) == {number}
    assert settling_cables(network(), window([told(**WELL)] * 3)) == frozenset()


def test_a_kernel_that_drops_routes_before_its_daemon_is_no_finding_at_one_look() -> None:
    # leaf:1 has 8 uplinks x 24 hosts of other leaves = 192 ways, 168 over those that are left.
    early = told(**DOWN) | {("leaf:1", "rib_ways"): 192.0, ("leaf:1", "fib_ways"): 168.0}
    lost = ("leaf:1", FaultKind.LOST_PATHS)
    assert lost not in kinds(device_findings(network(), window([told(**WELL), early])))
    assert lost in kinds(device_findings(network(), window([told(**WELL), early, early])))


def flow(source: int, target: int, lost: int, *, ends_at: str | None = None) -> ObservedFlow:
    """Return one between hosts of two leaves, over the uplink if leaf:1 sends it."""
    first, last = source // 8, target // 8
    up = uplink().number if first == 1 else first_uplink(first)
    path = [f"gpu:{source}->nic:{source}", f"nic:{source}->leaf:{first}"]
    path += [f"leaf:{first}->spine:0#{up}"]
    if ends_at is None:
        path += [f"spine:0->leaf:{last}#{first_uplink(last)}", f"leaf:{last}->nic:{target}"]
        path += [f"nic:{target}->gpu:{target}"]
    return ObservedFlow(
        source=f"gpu:{source}",
        target=f"gpu:{target}",
        path=tuple(path),
        packets=50,
        lost=lost,
        ends_at=ends_at,
    )


def first_uplink(leaf: int) -> int:
    made = network()
    return next(c.number for c in made.by_device[f"leaf:{leaf}"] if "leaf" in made.devices_of(c)[0])


def test_a_pull_during_a_look_is_the_cable_and_no_black_hole_beside_it() -> None:
    # The cable's port is read after the probes, which the spine had no way on for any more.
    flows = tuple(flow(0, 8 + n, 50, ends_at="spine:0") for n in range(8))
    flows += tuple(flow(16, 24 + n, 0) for n in range(8))
    pulled = window([told(**WELL), told(**DOWN) | _routes_as(told(**WELL))])
    found = locate_all(network(), pulled, Observed(flows=flows))
    assert kinds(found) == {(f"cable:{uplink().number}", Trouble.MISSING)}
    still = window([told(**WELL)] * 2)  # of a network in which nothing changes they are one
    assert ("spine:0", FaultKind.BLACK_HOLE) in kinds(
        locate_all(network(), still, Observed(flows=flows))
    )


def test_a_nic_whose_cable_has_been_down_for_long_loses_nothing_by_itself() -> None:
    (cable,) = network().by_device["nic:8"]
    down = told(**WELL) | {(end, "link_up"): 0.0 for end in network().ends[cable.number]}
    flows = tuple(flow(16 + n, 8, 50) for n in range(8)) + tuple(
        flow(16, 9 + n, 0) for n in range(7)
    )
    for count in (1, 2 * LOOKS_TO_SETTLE):
        heard = window([told(**WELL), *[down] * count])
        found = locate_all(network(), heard, Observed(flows=flows))
        assert kinds(found) == {(f"cable:{cable.number}", Trouble.MISSING)}


def test_leaves_without_a_route_to_a_host_whose_cable_came_back_are_no_black_holes() -> None:
    # Its network was withdrawn while the cable was down; the ways of probes were asked before.
    (cable,) = network().by_device["nic:8"]
    down = told(**WELL) | {(end, "link_up"): 0.0 for end in network().ends[cable.number]}
    flows = tuple(flow(0, 8, 50, ends_at="leaf:0") for _ in range(8))
    for count, wanted in ((1, set()), (LOOKS_TO_SETTLE + 1, {("leaf:0", FaultKind.BLACK_HOLE)})):
        heard = window([told(**WELL), *[down] * 20, *[told(**WELL)] * count])
        assert kinds(locate_all(network(), heard, Observed(flows=flows))) == wanted


def _routes_as(values: Values) -> Values:
    """Return what was said of routes: daemons have not noticed."""
    return {key: value for key, value in values.items() if key[1] != "link_up"}


def test_flows_that_lost_beside_a_change_are_left_out_and_others_stay() -> None:
    beside, whole_one, apart = flow(8, 24, 7), flow(8, 25, 0), flow(0, 16, 7)
    seen = Observed(flows=(beside, whole_one, apart))
    kept = settled_flows(network(), seen, {uplink().number})
    # Both cross the one spine that the cable leads to; only what lost nothing says something.
    assert kept.flows == (whole_one,)
    host = next(c.number for c in network().by_device["nic:9"])
    assert settled_flows(network(), seen, {host}).flows == (whole_one, apart)
    assert settled_flows(network(), seen, ()).flows == seen.flows


def case(part: PartId, kind: str, num_missed: int = 0) -> Case:
    return Case(
        part=part,
        label=str(part),
        kind=kind,
        confidence=1.0,
        magnitude=0.1,
        evidence=(),
        hurts=0,
        opened_s=0.0,
        seen_s=0.0,
        num_missed=num_missed,
    )


def cables_of(part: PartId) -> frozenset[PartId]:
    if part.kind == "cable":
        return frozenset({part})
    return frozenset(PartId.cable(one.number) for one in network().by_device[str(part)])


SPINE = PartId.parse("spine:0")
HOST = PartId.cable(0)


@pytest.mark.parametrize("kind", [FaultKind.BLACK_HOLE, FaultKind.LOSS])
def test_what_a_fault_that_ends_during_a_look_costs_is_no_other_fault(kind: FaultKind) -> None:
    # Probes that were sent before it ended are lost, those after it are not: a loss of some cables.
    before, beside = case(SPINE, kind), case(PartId.cable(uplink().number), FaultKind.LOSS)
    apart = case(HOST, FaultKind.LOSS)
    assert without_endings([before], [beside, apart], cables_of) == [apart]
    # While the fault itself is found, or at the look after, it is another; so is an old one.
    assert without_endings([before], [before, beside], cables_of) == [before, beside]
    missed = case(SPINE, kind, num_missed=1)
    assert without_endings([missed], [beside], cables_of) == [beside]
    assert without_endings([before, beside], [beside], cables_of) == [beside]


def test_cables_of_a_device_that_comes_back_are_part_of_its_case_until_that_closes() -> None:
    # A switch that starts brings up its ports one after the other, for more than one look.
    cable = PartId.cable(uplink().number)
    found = [case(cable, Trouble.MISSING), case(cable, Trouble.UNUSED), case(HOST, Trouble.MISSING)]
    for missed in range(MISSES_TO_CLOSE):
        silent = case(SPINE, Trouble.SILENT, num_missed=missed)
        assert without_endings([silent], found, cables_of) == found[2:]
    assert without_endings([], found, cables_of) == found


def test_a_few_packets_lost_in_one_look_wait_for_another_look() -> None:
    one, other = case(HOST, FaultKind.LOSS), case(HOST, FaultKind.SLOW)

    def doubted(num_lost: int) -> set[object]:
        return {*unconfirmed([], [one, other], (), lambda _: num_lost)}

    assert [doubted(num_lost) for num_lost in (0, FEW_LOST + 1)] == [set(), set()]
    assert [doubted(num_lost) for num_lost in (1, FEW_LOST)] == [{one.key}, {one.key}]
    assert unconfirmed([one], [one], (), lambda _: 1) == set()
    assert unconfirmed([], [one], {one.key}, lambda _: 1) == set()
