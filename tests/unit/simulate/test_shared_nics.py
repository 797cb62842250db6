"""GPUs that share a NIC, and GPUs with several: what one flow and two take, in both engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import netloom as nl
from netloom.parts.load import load_catalog
from netloom.study.simulate.run import ENGINES

if TYPE_CHECKING:
    from netloom.study.simulate.run import EngineName


CATALOG = load_catalog()
# 16 MB in packets of 4096 and 82 bytes at 400 Gb/s: 326.4 us, and some 3 us of latency.
ALONE_S = 326.4e-6


def _run(
    node: str, technology: str, sources: tuple[int, ...], engine: EngineName = "packet"
) -> nl.Simulation:
    topology = {"kind": "fat-tree"}
    fabric = {"technology": technology, "topology": topology}
    flows = [
        {"kind": "one-to-one", "source": one, "target": 8 + one, "size": "16MB"} for one in sources
    ]
    cluster = {"gpus": 16, "node": node, "fabric": fabric}
    return nl.simulate(nl.load({"cluster": cluster, "traffic": flows}), CATALOG, engine=engine)


def test_a_nic_marks_nothing_of_its_own_gpus() -> None:
    # GPU and NIC are joined by PCIe, which is faster than the NIC's port: packets wait in the NIC.
    for sources in ((0,), (0, 1)):  # both GPUs use one NIC
        found = _run("pcie-h100-8", "rocev2-400g", sources).first
        assert found.delivery.counters["marks"] == 0
        assert found.span_s == pytest.approx(len(sources) * ALONE_S, rel=0.02)


@pytest.mark.parametrize("technology", ["rocev2-400g", "infiniband-ndr", "uet-400g", "tcp-400g"])
def test_both_engines_agree_on_a_shared_nic(technology: str) -> None:
    packets, flows = (_run("pcie-h100-8", technology, (0,), engine).first for engine in ENGINES)
    assert packets.span_s == pytest.approx(flows.span_s, rel=0.02)
    assert packets.slowdown[0] == pytest.approx(1, abs=0.01)
    assert packets.slowdown[0] > 1 - 1e-9


def test_software_copies_at_its_pace_also_for_a_shared_nic() -> None:
    shared, own = (
        _run(node, "tcp-400g", (0,)).first.span_s for node in ("pcie-h100-8", "dgx-h100")
    )
    assert shared == pytest.approx(own, rel=0.02)
    # One processor copies for both.
    both = _run("pcie-h100-8", "tcp-400g", (0, 1)).first.span_s
    assert both == pytest.approx(2 * shared, rel=0.03)


def test_connections_over_several_ports_are_not_faster_than_alone() -> None:
    # Three NICs of 200 Gb/s for each GPU; of four connections two share a port at the least.
    found = _run("gaudi3-8", "rocev2-400g", (0,)).first
    assert 1 <= found.slowdown[0] < 2.1


@pytest.mark.parametrize(
    ("node", "technology", "size"),
    [
        ("oam-hcm-8", "scheduled-800g", "4688224B"),  # two links join the two
        ("pcie-h100-8", "tcp-400g", "3B"),  # four links without headers
        ("pcie-h100-8", "uet-400g", "1924B"),
    ],
)
def test_inside_a_node_no_connection_is_faster_than_alone(
    node: str, technology: str, size: str
) -> None:
    flow = {"kind": "one-to-one", "source": 4, "target": 7, "size": size}
    cluster = {"gpus": 16, "node": node, "fabric": {"technology": technology}}
    asked = nl.load({"cluster": cluster, "traffic": [flow]})
    found = nl.simulate(asked, CATALOG, choices=nl.Choices(qps=2)).first
    assert found.slowdown[0] == pytest.approx(1, abs=1e-4)
    assert found.slowdown[0] > 1 - 1e-9


@pytest.mark.parametrize("technology", ["infiniband-edr", "infiniband-hdr", "infiniband-ndr"])
@pytest.mark.parametrize("size", ["8B", "2KB", "4KB", "64KB"])
def test_a_packet_is_stored_before_the_faster_cable_and_fills_the_slow_link_behind_it(
    technology: str, size: str
) -> None:
    # 4 KB to another DGX-1 by HDR: 0.26 us from the GPU to its NIC at 126 Gb/s, where it is stored
    # for the cable's 200; cut through from there, 0.26 us from the far NIC to its GPU.
    topology = {"kind": "fat-tree", "tiers": 2, "hosts_per_leaf": 16}
    fabric = {"technology": technology, "topology": topology}
    flow = {"kind": "one-to-one", "source": 0, "target": 16, "size": size}
    cluster = {"gpus": 64, "node": "dgx-1v", "fabric": fabric}
    scenario = nl.load({"cluster": cluster, "traffic": [flow]})
    packets = nl.simulate(scenario).first
    flows = nl.simulate(scenario, engine="flow").first
    assert packets.fct_s[0] == pytest.approx(flows.fct_s[0], rel=0.02)
    assert 1 <= packets.slowdown[0] + 1e-9 < 1.02
