"""GUIDs, LIDs and addresses that two devices have."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from netloom.ops.observe.compare import Jack
from netloom.ops.observe.identity import (
    ScannedPort,
    shared_addresses,
    shared_guids,
    shared_lids,
)
from netloom.ops.plant import Cable, Device, Plant, Port

PLANT = Plant(
    devices=(
        *(Device(name=f"nic:{n}", role="host", tier=0, num_ports=1) for n in range(3)),
        Device(name="leaf:0", role="switch", tier=1, num_ports=3),
    ),
    cables=tuple(
        Cable(number=n, lower=Port(n, 1), upper=Port(3, n + 1), rate_bps=1e9) for n in range(3)
    ),
)


def port(name: str, number: int, peer: tuple[str, int] | None, *, up: bool = True) -> ScannedPort:
    return ScannedPort(
        jack=Jack(name, number),
        lid={"nic:0": 1, "nic:1": 2, "nic:2": 3, "leaf:0": 4}[name],
        is_up=up,
        peer=None if peer is None else Jack(*peer),
    )


def scan(first: ScannedPort, second: ScannedPort, *more: ScannedPort) -> list[ScannedPort]:
    """Return a scan in which the two ports of the leaf for nic:0 and nic:1 are as given."""
    third = port("leaf:0", 3, ("nic:2", 1))
    return [first, second, third, port("nic:2", 1, ("leaf:0", 3)), *more]


def test_a_host_behind_whose_port_another_is_seen_shares_its_guid() -> None:
    """As iblinkinfo 44 told ibsim's nic:4 and nic:5 after one was given the other's GUID."""
    rows = scan(
        port("leaf:0", 1, None), port("leaf:0", 2, ("nic:0", 1)), port("nic:0", 1, ("leaf:0", 2))
    )
    (one,) = shared_guids(PLANT, rows, 0.0)
    assert (one.part, one.metric) == ("nic:1 nic:0", "guid_shared")


def test_a_cable_in_the_wrong_port_is_no_shared_guid() -> None:
    rows = scan(
        port("leaf:0", 1, None, up=False),
        port("leaf:0", 2, ("nic:0", 1)),
        port("nic:0", 1, ("leaf:0", 2)),
    )
    assert not list(shared_guids(PLANT, rows, 0.0))


def test_a_network_as_designed_shares_nothing() -> None:
    hosts = [port(f"nic:{n}", 1, ("leaf:0", n + 1)) for n in (0, 1)]
    rows = scan(port("leaf:0", 1, ("nic:0", 1)), port("leaf:0", 2, ("nic:1", 1)), *hosts)
    assert not list(shared_guids(PLANT, rows, 0.0))
    assert not list(shared_lids(rows, 0.0))


def test_two_devices_with_one_lid_are_told_and_those_without_one_are_not() -> None:
    same = [
        ScannedPort(jack=Jack(name, 1), lid=lid, is_up=True, peer=None)
        for name, lid in (("nic:0", 7), ("nic:1", 7), ("nic:2", 0), ("nic:3", 0))
    ]
    (one,) = shared_lids(same, 0.0)
    assert (one.part, one.metric, one.value) == ("nic:1 nic:0", "lid_shared", 7.0)


def test_an_address_of_another_device_and_one_that_is_missing_are_told() -> None:
    owners = {1: "nic:0", 2: "nic:1"}
    found = list(shared_addresses(owners, [("nic:0", 1), ("nic:1", 1)], 0.0))
    assert [(o.part, o.metric, o.value) for o in found] == [
        ("nic:1 nic:0", "address_shared", 1.0),
        ("nic:1 2", "address_missing", 2.0),
    ]


def test_an_address_outside_the_design_is_told_only_when_two_have_it() -> None:
    found = list(shared_addresses({}, [("nic:0", 9), ("nic:1", 9), ("nic:1", 8)], 0.0))
    assert [(o.part, o.value) for o in found] == [("nic:1 nic:0", 9.0)]


@given(st.dictionaries(st.integers(0, 50), st.sampled_from(["a", "b", "c"]), max_size=20))
def test_a_network_with_its_own_addresses_has_no_findings(owners: dict[int, str]) -> None:
    held = [(name, address) for address, name in owners.items()]
    assert not list(shared_addresses(owners, held, 0.0))
