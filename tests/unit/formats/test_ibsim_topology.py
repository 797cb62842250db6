from __future__ import annotations

import pytest

from netloom.errors import InfeasibleError
from netloom.formats.infiniband.diags import parse_topology
from netloom.formats.infiniband.ibsim_topology import (
    guid_of,
    port_guid_of,
    render_topology,
    speed_names,
)
from netloom.ops.plant import Cable, Device, Plant, Port

PLANT = Plant(
    devices=(
        Device(name="nic:0", role="host", tier=0, num_ports=1),
        Device(name="leaf:0", role="switch", tier=1, num_ports=8),
        Device(name="spine:0", role="switch", tier=2, num_ports=8),
    ),
    cables=(
        Cable(number=4, lower=Port(0, 1), upper=Port(1, 1), rate_bps=400e9),
        Cable(number=5, lower=Port(1, 2), upper=Port(2, 1), rate_bps=800e9),
        Cable(number=6, lower=Port(1, 3), upper=Port(2, 2), rate_bps=800e9),
    ),
)


def test_the_topology_has_each_cable_at_both_ends() -> None:
    text = render_topology(PLANT, (0, 1, 2))
    assert text.count("switchguid=") == 2
    assert 'Hca\t1 "nic:0"\t\t# "nic:0"\n[1]\t"leaf:0"[1]' in text
    # Twice NDR is XDR, the fastest here, so HDR in ibsim's terms; NDR is half of it.
    assert '[2]\t"spine:0"[1]\t\t# "spine:0" lid 0 4xHDR' in text
    assert '[1]\t"nic:0"[1]\t\t# "nic:0" lid 0 4xEDR' in text


def test_the_topology_reads_back_as_ibnetdiscover_would() -> None:
    text = render_topology(PLANT, (0, 1, 2)).replace("Hca\t", "Ca\t")
    nodes = {node.name: node for node in parse_topology(text)}
    assert [(p.port, p.peer, p.peer_port) for p in nodes["leaf:0"].ports] == [
        (1, "nic:0", 1),
        (2, "spine:0", 1),
        (3, "spine:0", 2),
    ]


@pytest.mark.parametrize(
    ("rates_bps", "names"),
    [
        ([200e9, 100e9], ["4xHDR", "4xEDR"]),
        ([400e9], ["4xHDR"]),
        ([800e9, 400e9, 200e9, 100e9], ["4xHDR", "4xEDR", "4xQDR", "4xDDR"]),
        ([100e9], ["4xEDR"]),
        ([1e9], ["4xSDR"]),
    ],
)
def test_rates_above_hdr_are_scaled_together(rates_bps: list[float], names: list[str]) -> None:
    found = speed_names(rates_bps)
    assert [found[rate_bps] for rate_bps in rates_bps] == names


def test_guids_are_apart_and_no_vendors() -> None:
    guids = [guid_of(device) for device in range(3)]
    assert [guid - guids[0] for guid in guids] == [0, 16, 32]
    assert guids[0] >> 56 == 2  # the bit for locally administered
    assert port_guid_of(PLANT, 0) == guid_of(0) + 1
    assert port_guid_of(PLANT, 1) == guid_of(1)


def test_a_switch_with_more_ports_than_a_byte_numbers_is_refused() -> None:
    wide = Plant(devices=(Device(name="leaf:0", role="switch", tier=1, num_ports=288),), cables=())
    with pytest.raises(InfeasibleError, match="leaf:0: 288 ports"):
        render_topology(wide, (0,))
