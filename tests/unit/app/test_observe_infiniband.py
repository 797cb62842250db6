"""What a look at InfiniBand makes of ports, cables and counters, by the rules of all commands."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest

from netloom.app.designs import design_of
from netloom.app.locate.lab_infiniband import SubnetSeen, confirm, where_ends_lead
from netloom.app.watch.infiniband import SubnetLinks, Vantage
from netloom.fabric.part_id import PartId
from netloom.formats.infiniband.diags import LinkRow
from netloom.ops.locate.cabling import cabling_observations
from netloom.ops.locate.locate import locate_all
from netloom.ops.locate.network import DesignedNetwork
from netloom.ops.locate.telemetry import window_of
from netloom.ops.observe.compare import Built, BuiltCable, Jack, compare
from netloom.ops.observe.naming import Naming
from netloom.ops.observe.observation import Observation, whole
from netloom.spec.load import parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netloom.ops.locate.findings import Finding
    from netloom.ops.locate.telemetry import TelemetryWindow
    from netloom.ops.plant import Port

SCENARIO = """
cluster:
  nodes: 16
  node: dgx-h100
  fabric: {technology: infiniband-ndr, topology: {kind: fat-tree, tiers: 2}}
"""
Said = tuple[str, str, float]


@functools.cache
def network() -> DesignedNetwork:
    one = design_of(parse(SCENARIO, name="scenario"), None)
    return DesignedNetwork(fabric=one.fabric, plant=one.plant, rate_bps=lambda _: 200e9)


def uplink() -> tuple[int, str, str]:
    number = network().by_device["leaf:1"][-1].number
    return number, *network().ends[number]


def heard(said: Iterable[Said], *, looks: int) -> TelemetryWindow:
    some = list(said)
    return window_of(
        whole("subnet 0", float(n), [Observation(float(n), *one) for one in some], cursor="")
        for n in range(looks)
    )


def found(said: Iterable[Said], *, looks: int = 3) -> list[Finding]:
    return list(locate_all(network(), heard(said, looks=looks)))


def test_ports_that_wait_for_a_manager_are_an_unused_cable_and_no_missing_one() -> None:
    number, lower, upper = uplink()
    said = [
        (port, m, v) for port in (lower, upper) for m, v in (("link_up", 0.0), ("port_waits", 1.0))
    ]
    (one,) = found(said)
    assert (one.part.whole, one.kind) == (PartId.cable(number), "unused cable")
    assert one.confidence > 0.9
    assert found(said, looks=1) == []  # a manager takes a moment


def test_ports_that_see_nothing_though_they_are_active_are_a_black_hole() -> None:
    number, lower, upper = uplink()
    said = [(port, m, 1.0) for port in (lower, upper) for m in ("link_up", "port_dark")]
    (one,) = found(said)
    assert (one.part.whole, one.kind) == (PartId.cable(number), "black hole")
    assert found(said, looks=1) == []  # answers come late
    assert found([(lower, "port_dark", 1.0)]) == []  # one end alone


def test_a_manager_that_does_not_run_explains_the_missing_master() -> None:
    said = [("opensm-0.0", "manager_down", 1.0), ("subnet 0", "sm_master", 0.0)]
    assert [(str(f.part), f.kind) for f in found(said)] == [("opensm-0.0", "dead subnet manager")]
    assert [str(f.part) for f in found(said[1:])] == ["subnet 0"]


@pytest.mark.parametrize(("count", "is_found"), [(72, False), (5000, True)])
def test_counters_since_a_lab_was_made_weigh_as_a_jump_in_a_watch_does(
    count: int, *, is_found: bool
) -> None:
    _, lower, _ = uplink()
    beliefs = []
    for times_s in ((0.0, 100.0), (80.0, 90.0, 100.0)):
        rises = [0.0] * (len(times_s) - 1) + [float(count)]
        window = window_of(
            whole("counters 0", at_s, [Observation(at_s, lower, "symbol_errors", value)], cursor="")
            for at_s, value in zip(times_s, rises, strict=True)
        )
        beliefs.append([f.confidence for f in locate_all(network(), window)])
    assert [bool(some) for some in beliefs] == [is_found] * 2
    if is_found:
        assert beliefs[0][0] == pytest.approx(beliefs[1][0], abs=0.01)


def row(name: str, port: int, *, state: str, peer: str | None = "x", peer_port: int = 1) -> LinkRow:
    return LinkRow(
        guid=port,
        name=name,
        lid=1,
        port=port,
        width="4X",
        lane_gbps=53.125,
        state=state,
        physical_state="LinkUp",
        peer_name=peer or "",
        peer_port=peer_port if peer else None,
        could_be=(),
    )


def test_a_scan_tells_ports_that_wait_and_ports_that_see_nothing() -> None:
    links = SubnetLinks(
        source="subnet 0",
        vantage=Vantage(clients=(), num_devices=1),
        naming=Naming(),
        ports=frozenset(),
    )
    rows = [
        row("leaf:0", 1, state="Initialize"),
        row("leaf:0", 2, state="Active", peer=None),
        row("leaf:0", 3, state="Active"),
        row("leaf:0", 4, state="Armed"),
    ]
    told = {(one.part, one.metric) for one in links._states(rows, 0.0)}
    assert {("leaf:0[1]", "port_waits"), ("leaf:0[4]", "port_waits")} <= told
    assert ("leaf:0[2]", "port_dark") in told
    assert not {("leaf:0[3]", "port_dark"), ("leaf:0[3]", "port_waits")} & told


def _jack(port: Port) -> Jack:
    return Jack(network().plant.devices[port.device].name, port.number)


def built_with_swap() -> tuple[int, int, Built]:
    """Return the design with the upper ends of two uplinks exchanged."""
    plant = network().plant
    one, other = (c for c in network().by_device["leaf:1"][-2:])
    uppers = {c.number: c.upper for c in plant.cables}
    uppers[one.number], uppers[other.number] = other.upper, one.upper
    cables = tuple(
        BuiltCable(one=_jack(c.lower), other=_jack(uppers[c.number]), rate_bps=200e9)
        for c in plant.cables
    )
    return (
        one.number,
        other.number,
        Built(cables=cables, devices=frozenset(d.name for d in plant.devices)),
    )


def test_swapped_cables_are_miswired_and_name_one_another() -> None:
    one, other, built = built_with_swap()
    compared = compare(network().plant, built)
    seen = list(cabling_observations(compared, lambda _: 200e9, 0.0))
    window = window_of([whole("cabling", 0.0, seen, cursor="")])
    kinds = {(f.part.index, f.kind) for f in locate_all(network(), window)}
    assert kinds == {(one, "miswired"), (other, "miswired")}
    told = where_ends_lead(SubnetSeen(heard=window, compared=compared), one)
    assert any(f"where cable:{other} belongs" in text for text in told)
    assert confirm(SubnetSeen(heard=window, compared=compared), network(), ()) == []
