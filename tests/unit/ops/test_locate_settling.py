"""A cable that goes down or comes back during a look: routing follows, no one else is blamed."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from netloom.fabric.build import build
from netloom.ops.locate.device_findings import device_findings
from netloom.ops.locate.faults import FaultKind, Trouble
from netloom.ops.locate.locate import locate_all
from netloom.ops.locate.looks.settling import LOOKS_TO_SETTLE, settled_flows, settling_cables
from netloom.ops.locate.network import DesignedNetwork
from netloom.ops.locate.telemetry import window_of
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
