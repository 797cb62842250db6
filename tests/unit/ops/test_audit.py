from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.app.watch.built_files import built_from
from netloom.errors import SpecError
from netloom.formats.infiniband.cables import nominal_bps, rate_of_name
from netloom.formats.inventory.cable_list import parse_cable_list
from netloom.ops.observe.audit import Audit, Built, BuiltCable, Jack, audit
from netloom.ops.observe.naming import (
    Naming,
    parse_names,
    parse_ports,
    parse_scheme,
    schemes,
)
from netloom.ops.plant import Cable, Device, Plant, Port
from netloom.report.ops.audit import audit_text

RATE = 400e9


def tree() -> Plant:
    """Two leaves of two hosts and two uplinks, one to each of two spines.

    Hosts are devices 0 to 3, leaves 4 and 5, spines 6 and 7; cables 0 to 3 go to hosts, 4 to 7
    from leaf to spine.
    """
    hosts = [Device(name=f"nic:{n}", role="host", tier=0, num_ports=1) for n in range(4)]
    leaves = [Device(name=f"leaf:{n}", role="switch", tier=1, num_ports=4) for n in range(2)]
    spines = [Device(name=f"spine:{n}", role="switch", tier=2, num_ports=4) for n in range(2)]
    ends = [(Port(n, 1), Port(4 + n // 2, 1 + n % 2)) for n in range(4)]
    ends += [(Port(4 + n // 2, 3 + n % 2), Port(6 + n % 2, 1 + n // 2)) for n in range(4)]
    cables = tuple(
        Cable(number=n, lower=lower, upper=upper, rate_bps=RATE)
        for n, (lower, upper) in enumerate(ends)
    )
    return Plant(devices=(*hosts, *leaves, *spines), cables=cables)


PLANT = tree()
RACKS = {d.name: f"R{n // 2:03}" for n, d in enumerate(PLANT.devices)}


def jack(port: Port) -> Jack:
    return Jack(PLANT.devices[port.device].name, port.number)


def whole() -> list[BuiltCable]:
    return [BuiltCable(one=jack(c.lower), other=jack(c.upper), rate_bps=RATE) for c in PLANT.cables]


def test_an_audit_from_a_place_that_is_cut_off_says_so() -> None:
    alone = compared([], frozenset({"nic:0"}))
    assert alone.counts["silent"] == 7
    assert audit_text(alone).startswith("only 1 of 8 devices answer; ")
    assert "cut off" not in audit_text(compared(whole()[1:], frozenset(RACKS) - {"nic:0"}))


def compared(cables: list[BuiltCable], devices: frozenset[str] | None = None) -> Audit:
    seen = frozenset(RACKS) if devices is None else devices
    return audit(
        PLANT,
        Built(cables=tuple(cables), devices=seen),
        racks=RACKS,
        label=lambda port: f"port {port.number}",
        rate_bps=lambda cable: cable.rate_bps,
    )


def test_a_network_as_designed_has_no_differences_whichever_way_cables_are_told() -> None:
    turned = [replace(c, one=c.other, other=c.one) for c in whole()]
    for cables in (whole(), turned, whole() + turned):
        found = compared(cables)
        assert found.differences == ()
        assert (found.num_right, found.num_cables, found.num_unknown_speed) == (8, 8, 0)


def test_a_missing_cable_is_named_by_rack_and_port() -> None:
    cables = whole()
    del cables[5]  # leaf:0 port 4 to spine:1 port 1
    (one,) = compared(cables).differences
    assert (one.kind, one.cables, one.parts) == ("missing", (5,), ("leaf:0[4]", "spine:1[1]"))
    assert one.text == "no cable from R002 leaf:0 port 4 to R003 spine:1 port 1"


def test_two_cables_with_swapped_ends_are_one_difference() -> None:
    cables = whole()
    cables[4] = replace(cables[4], other=jack(PLANT.cables[5].upper))
    cables[5] = replace(cables[5], other=jack(PLANT.cables[4].upper))
    found = compared(cables)
    (one,) = found.differences
    assert (one.kind, one.cables, found.num_right) == ("swapped", (4, 5), 6)
    assert one.text == (
        "R002 leaf:0 port 3 goes to R003 spine:1 port 1 instead of R003 spine:0 port 1; "
        "R002 leaf:0 port 4 goes to R003 spine:0 port 1 instead of R003 spine:1 port 1"
    )


def test_three_cables_moved_around_are_one_difference_too() -> None:
    cables = whole()
    uppers = [jack(PLANT.cables[n].upper) for n in (4, 5, 6)]
    for number, upper in zip((4, 5, 6), (uppers[1], uppers[2], uppers[0]), strict=True):
        cables[number] = replace(cables[number], other=upper)
    (one,) = compared(cables).differences
    assert (one.kind, one.cables) == ("swapped", (4, 5, 6))


def test_a_cable_in_a_free_port_is_misplaced() -> None:
    cables = whole()
    cables[5] = replace(cables[5], other=Jack("spine:1", 4))
    (one,) = compared(cables).differences
    assert (one.kind, one.cables) == ("misplaced", (5,))
    assert "goes to R003 spine:1 port 4 instead of R003 spine:1 port 1" in one.text


def test_a_cable_that_nobody_designed_is_extra() -> None:
    extra = BuiltCable(one=Jack("leaf:1", 9), other=Jack("storage", 1))
    (one,) = compared([*whole(), extra]).differences
    assert (one.kind, one.cables, one.parts) == ("extra", (), ("leaf:1[9]", "storage[1]"))


def test_a_dead_switch_is_one_difference_and_not_one_for_each_cable() -> None:
    alive = [c for c in whole() if "spine:1" not in {c.one.device, c.other.device}]
    (one,) = compared(alive, frozenset(RACKS) - {"spine:1"}).differences
    assert (one.kind, one.cables, one.parts) == ("silent", (5, 7), ("spine:1",))
    assert one.text == "R003 spine:1 does not answer; with it 2 cables cannot be seen"


@pytest.mark.parametrize("rate_bps", [200e9, 800e9])
def test_a_cable_of_another_speed_is_named_with_both_speeds(rate_bps: float) -> None:
    cables = whole()
    cables[4] = replace(cables[4], rate_bps=rate_bps)
    (one,) = compared(cables).differences
    assert (one.kind, one.cables) == ("wrong-speed", (4,))
    assert one.text.endswith(f"runs at {rate_bps / 1e9:g}Gbps instead of 400Gbps")


def test_a_speed_that_is_not_told_is_not_judged_but_counted() -> None:
    cables = whole()
    cables[4] = replace(cables[4], rate_bps=None)
    found = compared(cables)
    assert (found.differences, found.num_unknown_speed) == ((), 1)


@given(st.sets(st.integers(0, 7)), st.permutations(range(8)))
def test_every_absent_cable_is_in_exactly_one_difference(
    absent: set[int], order: list[int]
) -> None:
    cables = [whole()[n] for n in order if n not in absent]
    found = compared(cables)
    told = [number for one in found.differences for number in one.cables]
    assert sorted(told) == sorted(absent)
    assert found.num_right == 8 - len(absent)


@given(st.permutations(range(4)))
def test_any_exchange_of_upper_ends_is_told_by_swaps_alone(order: list[int]) -> None:
    cables = whole()
    for number, other in enumerate(order):
        cables[4 + number] = replace(cables[4 + number], other=jack(PLANT.cables[4 + other].upper))
    moved = {4 + number for number, other in enumerate(order) if number != other}
    found = compared(cables)
    assert {one.kind for one in found.differences} <= {"swapped"}
    assert {number for one in found.differences for number in one.cables} == moved


def test_names_of_speeds_are_nominal_rates() -> None:
    # 4 lanes: HDR is 200 Gbit/s by name, signalled at 53.125 each; NDR 400 at 106.25.
    assert (nominal_bps("4X", 53.125), rate_of_name("4xHDR")) == (200e9, 200e9)
    assert (nominal_bps("4X", 106.25), rate_of_name("4xNDR")) == (400e9, 400e9)
    assert (nominal_bps("4X", 1.0), nominal_bps("", None), rate_of_name("fast")) == (None,) * 3


@pytest.mark.parametrize(
    ("scheme", "label", "number"),
    [
        ("plain", "7", 7),
        ("plain", "swp7", 7),
        ("plain", "eth0", 1),
        ("plain", "P1", 1),
        ("cumulus", "swp7", 7),
        ("cumulus:2", "swp7s1", 14),  # six cages of two before it, and it is the second of its own
        ("eos", "Ethernet7/1", 7),
        ("eos:2", "Ethernet7/5", 14),  # lanes 5 to 8 of eight are the second half
        ("nxos", "Ethernet1/7", 7),
        ("nxos:4", "Eth1/7/3", 27),
        ("sonic", "Ethernet48", 7),  # lanes count from 0, eight a port
        ("sonic:4", "Ethernet48", 13),
        ("junos", "et-0/0/6", 7),
        ("junos:2", "et-0/0/6:1", 14),
        ("quantum", "7/2", 14),
        ("quantum", "IB1/7/1", 13),
        ("eos", "eth0", 1),  # of a host
    ],
)
def test_a_port_is_known_by_its_label(scheme: str, label: str, number: int) -> None:
    assert parse_scheme(scheme).number(label) == number


@pytest.mark.parametrize(
    ("scheme", "label"),
    [
        ("plain", "Ethernet1/7"),  # slot and port, or cage and lane: nobody has said
        ("cumulus", "swp7s1"),
        ("sonic", "Ethernet49"),
        ("nxos:2", "Eth1/7/3"),
        ("quantum", "7"),
    ],
)
def test_a_label_that_a_scheme_does_not_have_is_refused(scheme: str, label: str) -> None:
    with pytest.raises(SpecError, match="--labels"):
        parse_scheme(scheme).number(label)


@given(st.sampled_from(schemes()), st.integers(1, 8), st.text(max_size=24))
def test_any_label_is_a_port_or_refused(name: str, ways: int, label: str) -> None:
    try:
        assert parse_scheme(f"{name}:{ways}").number(label) >= 1
    except SpecError:
        return


@pytest.mark.parametrize("text", ["cisco", "eos:0", "eos:9", "eos:x", ""])
def test_a_scheme_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(SpecError, match="--labels"):
        parse_scheme(text)


def test_a_list_of_ports_goes_before_any_scheme() -> None:
    ports = parse_ports("device,label,port\nleaf01,Ethernet1/1,9\n,Ethernet1/1,3\n,17,4\n")
    naming = Naming(devices={"leaf01": "leaf:0"}, ports=ports, scheme=parse_scheme("nxos"))
    assert naming.jack("leaf01", "Ethernet1/1") == Jack("leaf:0", 9)
    assert naming.jack("leaf02", "Ethernet1/1") == Jack("leaf02", 3)
    assert naming.jack("leaf02", "Ethernet1/2") == Jack("leaf02", 2)
    assert naming.jack("leaf01", 17) == Jack("leaf:0", 4)  # InfiniBand's own numbers too
    with pytest.raises(SpecError, match="line 3"):
        parse_ports("device,label,port\na,1,2\na,1,3\n")


def test_a_managed_switch_is_known_by_the_name_inside_its_description() -> None:
    naming = Naming(devices={"leaf01": "leaf:0"})
    assert naming.device("MF0;leaf01:MQM9700/U1") == "leaf:0"
    assert naming.device("MF0;leaf02:MQM9700/U1") == "leaf02"


def test_ends_that_contradict_each_other_are_told_as_that() -> None:
    """The host sees the leaf's port, which says that it sees another host."""
    first, second, *others = whole()
    lie = BuiltCable(one=first.other, other=second.one)
    found = compared([first, lie, second, *others])
    (one,) = found.differences
    assert (one.kind, one.cables) == ("disputed", (0,))


def test_a_list_of_cables_tells_where_it_is_wrong() -> None:
    head = "a_device,a_port,b_device,b_port,rate\n"
    built = parse_cable_list(
        f"{head}leaf01,swp5,spine01,1,400Gbps\n", Naming(devices={"leaf01": "leaf:0"})
    )
    (one,) = built.cables
    assert (one.one, one.other, one.rate_bps) == (Jack("leaf:0", 5), Jack("spine01", 1), RATE)
    with pytest.raises(SpecError, match=r"line 2: 'x' is no port"):
        parse_cable_list(f"{head}leaf01,x,spine01,1,\n", Naming())
    with pytest.raises(SpecError, match="columns are missing: b_port"):
        parse_cable_list("a_device,a_port,b_device\n", Naming())


def test_a_name_with_two_devices_is_refused() -> None:
    with pytest.raises(SpecError, match="line 3: 'x' has two devices"):
        parse_names("name,device\nx,leaf:0\nx,leaf:1\n")


def test_lldp_of_every_device_tells_the_cables(tmp_path: Path) -> None:
    neighbour = (
        '{"lldp": [{"interface": [{"name": "swp3", "chassis": [{"name": [{"value": "spine:0"}]}],'
        '"port": [{"id": [{"type": "ifname", "value": "swp1"}]}]}]}]}'
    )
    (tmp_path / "leaf:0.json").write_text(neighbour, encoding="utf-8")
    built = built_from(tmp_path, Naming())
    assert [(c.one, c.other) for c in built.cables] == [(Jack("leaf:0", 3), Jack("spine:0", 1))]


@pytest.mark.parametrize("name", ["ibnetdiscover.txt", "ibnetdiscover_p.txt", "iblinkinfo_l.txt"])
def test_what_diags_printed_tells_the_same_cables(name: str) -> None:
    recorded = Path(__file__).parents[2] / "data" / "lab" / name
    cables = {
        frozenset((c.one, c.other)): c.rate_bps for c in built_from(recorded, Naming()).cables
    }
    assert len(cables) == 23  # 24 less one that was pulled
    assert cables[frozenset((Jack("leaf:2", 5), Jack("spine:0", 5)))] == 100e9  # slowed to EDR


def test_a_file_that_tells_no_cables_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cables.txt"
    path.write_text("hello\n", encoding="utf-8")
    with pytest.raises(SpecError, match="what ibnetdiscover prints"):
        built_from(path, Naming())
    with pytest.raises(SpecError, match="cannot be read"):
        built_from(tmp_path / "absent", Naming())
