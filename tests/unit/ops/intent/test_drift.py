"""What ports are set to is compared with what the design would set."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.app.designs import design_of
from netloom.errors import SpecError
from netloom.fabric.part_id import PartId
from netloom.formats.sonic.databases import SonicTables, report_of
from netloom.formats.sonic.quality_tables import quality_values
from netloom.ops.locate.drift import with_wrong_sizes
from netloom.ops.locate.faults import FaultKind, Trouble
from netloom.ops.locate.locate import locate_all
from netloom.ops.locate.network import DesignedNetwork
from netloom.ops.locate.telemetry import window_of
from netloom.ops.observe.devices import PortValue
from netloom.ops.observe.drains import declared_drains
from netloom.ops.observe.observation import Observation, whole
from netloom.spec.load import parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netloom.ops.locate.findings import Finding
    from netloom.ops.observe.designed import Designed

# 8 nodes: 64 hosts on two leaves, joined by two spines.
SCENARIO = """
cluster:
  nodes: 16
  node: dgx-h100
  fabric: {technology: rocev2-400g, topology: {kind: fat-tree, tiers: 2}}
"""
SAID = tuple[str, str, float]


@functools.cache
def designed() -> Designed:
    return design_of(parse(SCENARIO, name="scenario"), None)


def network() -> DesignedNetwork:
    one = designed()
    return DesignedNetwork(fabric=one.fabric, plant=one.plant, rate_bps=lambda c: c.rate_bps)


def switch_ports() -> list[str]:
    net = network()
    return [port for port in net.at if not port.startswith("nic")]


def found(said: Iterable[SAID], *, planned: Iterable[int] = (), looks: int = 2) -> list[Finding]:
    some = list(said)
    readings = [
        whole("device", float(look), [Observation(float(look), *one) for one in some], cursor="")
        for look in range(looks)
    ]
    technology = designed().network.technology
    return list(locate_all(network(), window_of(readings), None, technology, frozenset(planned)))


def healthy() -> dict[tuple[str, str], float]:
    """What all ports of switches say that are set as rendered."""
    told = {"mtu_bytes": 9216.0, "fec_mode": 2.0, "pfc_priorities": 8.0, "rdma_priority": 3.0}
    said = {(port, metric): value for port in switch_ports() for metric, value in told.items()}
    return said | {(f"{port}/queue:3", "ecn_on"): 1.0 for port in switch_ports()}


def triples(said: dict[tuple[str, str], float]) -> list[SAID]:
    return [(part, metric, value) for (part, metric), value in said.items()]


def kinds(some: Iterable[Finding]) -> list[tuple[str, str, float]]:
    return [(str(one.part), one.kind, one.magnitude) for one in some]


def test_what_is_set_as_designed_is_no_finding() -> None:
    assert found(triples(healthy())) == []


def test_what_is_not_told_is_not_judged() -> None:
    assert found([]) == []


@pytest.mark.parametrize(
    ("metric", "value", "kind"),
    [
        ("mtu_bytes", 1500.0, "wrong MTU"),
        ("mtu_bytes", 9000.0, "wrong MTU"),
        ("fec_mode", 0.0, "wrong FEC"),
        ("pfc_priorities", 0.0, "wrong PFC"),
        ("pfc_priorities", 16.0, "wrong PFC"),
        ("rdma_priority", 0.0, "wrong DSCP map"),
    ],
)
def test_one_port_that_differs_is_found(metric: str, value: float, kind: str) -> None:
    (one,) = found(triples(healthy() | {("leaf:1[3]", metric): value}))
    assert (str(one.part), one.kind, one.magnitude) == ("leaf:1", kind, 1.0)
    assert one.confidence > 0.9
    assert "1 port (leaf:1[3])" in one.evidence[0]
    assert set(one.hurts) == set(network().gpus["leaf:1"])


def test_a_queue_that_does_not_mark_is_found() -> None:
    (one,) = found(triples(healthy() | {("leaf:0[2]/queue:3", "ecn_on"): 0.0}))
    assert (str(one.part), one.kind) == ("leaf:0", "no ECN")
    # Queues that carry no RDMA need no marks.
    assert found(triples(healthy() | {("leaf:0[2]/queue:0", "ecn_on"): 0.0})) == []


def test_all_ports_of_a_switch_are_one_finding_with_a_count() -> None:
    own = [port for port in switch_ports() if port.startswith("leaf:0[")]
    said = healthy() | {(port, "mtu_bytes"): 1500.0 for port in own}
    assert kinds(found(triples(said))) == [("leaf:0", "wrong MTU", float(len(own)))]


def test_a_wrong_template_is_one_finding_for_all_switches() -> None:
    ports = switch_ports()
    said = healthy() | {(port, "mtu_bytes"): 1500.0 for port in ports}
    (one,) = found(triples(said))
    assert one.magnitude == len(ports)
    num_switches = len({port.partition("[")[0] for port in ports})
    assert f"{len(ports)} ports of {num_switches} devices" in one.evidence[0]


def test_what_all_ports_have_and_works_is_what_people_meant() -> None:
    said = healthy() | {(port, "mtu_bytes"): 9100.0 for port in switch_ports()}
    assert found(triples(said)) == []
    said[("leaf:0[1]", "mtu_bytes")] = 9216.0  # now this one differs
    assert kinds(found(triples(said))) == [("leaf:0", "wrong MTU", 1.0)]


def test_a_host_may_have_its_own_mtu() -> None:
    assert found([*triples(healthy()), ("nic:0[1]", "mtu_bytes", 9000.0)]) == []


def uplink() -> tuple[int, str, str]:
    net = network()
    cable = next(c for c in designed().plant.cables if net.ends[c.number][0].startswith("leaf"))
    return cable.number, *net.ends[cable.number]


def test_a_shut_port_is_one_finding_and_explains_its_cable() -> None:
    number, lower, upper = uplink()
    said = [(lower, "admin_up", 0.0), (lower, "link_up", 0.0), (upper, "link_up", 0.0)]
    (one,) = found(said)
    assert (one.part.index, one.kind) == (number, "port shut")
    assert f"{lower} is shut by configuration" in one.evidence[0]
    assert [f.kind for f in found(said[1:])] == ["missing cable"]


def test_a_declared_drain_is_no_finding() -> None:
    number, lower, upper = uplink()
    said = [(lower, "admin_up", 0.0), (lower, "link_up", 0.0), (upper, "link_up", 0.0)]
    assert found(said, planned={number}) == []


def test_a_drained_switch_that_does_not_answer_is_no_finding() -> None:
    plant = designed().plant
    planned = declared_drains("# upgrade\nspine:0  # today\n\n", plant, name="drains")
    assert planned == {cable.number for cable in network().by_device["spine:0"]}
    ends = [end for number in planned for end in network().ends[number] if "leaf" in end]
    said = [*((end, "link_up", 0.0) for end in ends), ("spine:0", "device_silent", 1.0)]
    assert found(said, planned=planned) == []
    assert [one.kind for one in found(said)] == ["silent device"]


@pytest.mark.parametrize("text", ["spine:99", "spine:0\nnonsense", "leaf", "cable:-1", "x" * 500])
def test_a_drain_of_what_is_not_there_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(SpecError, match=rf"drains:{text.count(chr(10)) + 1}"):
        declared_drains(text, designed().plant, name="drains")


@given(st.text(max_size=60))
def test_any_list_of_drains_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(SpecError):
        assert declared_drains(text, designed().plant, name="drains") <= network().cables.keys()


def test_other_next_hops_in_the_kernel_are_found_where_their_number_is_right() -> None:
    said = [
        ("leaf:0", "divergent_routes", 3.0),
        ("leaf:0", "rib_ways", 8.0),
        ("leaf:0", "fib_ways", 8.0),
    ]
    assert kinds(found(said)) == [("leaf:0", "divergent routes", 3.0)]
    assert found(said, looks=1) == []  # a change may lie between two reads
    said[2] = ("leaf:0", "fib_ways", 4.0)
    assert [one.kind for one in found(said)] == ["forwarding lost paths"]


def test_sonic_tells_what_it_is_set_to() -> None:
    tables = {
        "PORT_QOS_MAP": {
            "Ethernet0": {"pfc_enable": "3,4", "dscp_to_tc_map": "AZURE"},
            "Ethernet8,Ethernet16": {"pfc_enable": "", "dscp_to_tc_map": "[DSCP_TO_TC_MAP|AZURE]"},
        },
        "DSCP_TO_TC_MAP": {"AZURE": {"26": "3", "48": "6"}},
        "QUEUE": {
            "Ethernet0|3-4": {"wred_profile": "LOSSLESS", "scheduler": "x"},
            "Ethernet0|0": {"scheduler": "x"},
            "Ethernet0|5": {"wred_profile": "GONE"},
        },
        "WRED_PROFILE": {"LOSSLESS": {"ecn": "ecn_all"}},
    }
    told = set(quality_values(tables))
    assert told == {
        PortValue("Ethernet0", "pfc_priorities", 24.0),
        PortValue("Ethernet0", "rdma_priority", 3.0),
        PortValue("Ethernet8", "pfc_priorities", 0.0),
        PortValue("Ethernet16", "pfc_priorities", 0.0),
        PortValue("Ethernet8", "rdma_priority", 3.0),
        PortValue("Ethernet16", "rdma_priority", 3.0),
        PortValue("Ethernet0", "ecn_on", 1.0, "queue:3"),
        PortValue("Ethernet0", "ecn_on", 1.0, "queue:4"),
        PortValue("Ethernet0", "ecn_on", 0.0, "queue:0"),
    }


def test_sonic_tells_the_fec_that_is_in_force() -> None:
    rows = {"Ethernet0": {"fec": "rs"}, "Ethernet8": {"fec": "none"}, "Ethernet16": {"fec": "?"}}
    report = report_of(SonicTables(applied=rows, state={"Ethernet8": {"fec": "rs"}}))
    told = {one.port: one.value for one in report.values if one.metric == "fec_mode"}
    assert told == {"Ethernet0": 2.0, "Ethernet8": 2.0}


TEXTS = st.text(alphabet="Ethernet0123456789,|[]-eABCqueuecn_", max_size=24)
ROWS = st.dictionaries(
    TEXTS,
    st.dictionaries(
        st.sampled_from(["pfc_enable", "dscp_to_tc_map", "wred_profile", "ecn", "26"]),
        TEXTS,
        max_size=4,
    ),
    max_size=4,
)


@given(
    st.dictionaries(
        st.sampled_from(["PORT_QOS_MAP", "DSCP_TO_TC_MAP", "QUEUE", "WRED_PROFILE"]), ROWS
    )
)
def test_any_tables_give_known_numbers(tables: dict[str, dict[str, dict[str, str]]]) -> None:
    for one in quality_values(tables):
        assert one.metric in {"pfc_priorities", "rdma_priority", "ecn_on"}
        assert 0 <= one.value <= 255


def large_loss(part: PartId) -> Finding:
    text = "6 of the 12 flows that cross it suffer"
    return network().finding(part, FaultKind.LARGE_LOSS, text, confidence=0.99)


@pytest.mark.parametrize(("size", "wanted"), [(1400.0, "wrong MTU"), (4200.0, "large-packet loss")])
def test_large_packets_that_an_mtu_cannot_hold_are_lost_by_it(size: float, wanted: str) -> None:
    net = network()
    cable = net.by_device["leaf:1"][-1]
    lower, upper = net.ends[cable.number]
    said = [(lower, "mtu_bytes", size), (upper, "mtu_bytes", 9000.0)]
    seen = [Observation(0.0, *one) for one in said]
    heard = window_of([whole("device", 0.0, seen, cursor="")])
    device = net.finding(
        PartId.parse("leaf:1"), Trouble.WRONG_MTU, f"1 port ({lower}): x", confidence=0.99
    )
    found = with_wrong_sizes(net, heard, [device, large_loss(net.part(cable))])
    told = [one for one in found if one.part == net.part(cable)]
    assert [one.kind for one in told] == [wanted]
    assert (device in found) == (wanted != "wrong MTU")  # one cause is one finding
    if wanted == "wrong MTU":
        assert f"{lower} has an MTU of 1400" in told[0].evidence[0]


def test_of_a_few_ports_the_one_that_differs_is_found() -> None:
    """Seven of eight are less than nine tenths, and still what people meant."""
    said = {(port, "mtu_bytes"): 9000.0 for port in switch_ports()[:8]}
    said |= {(switch_ports()[0], "mtu_bytes"): 8000.0}
    (one,) = found(triples(said))
    assert one.kind == "wrong MTU"
    assert f"1 port ({switch_ports()[0]}): an MTU of 8000" in one.evidence[0]
