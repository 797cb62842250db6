"""One scenario and seed, flows and packets: the same draw of the hash, nearly the same end."""

from __future__ import annotations

import pytest

import netloom as nl
from netloom.parts.load import load_catalog
from netloom.study.simulate.run import ENGINES

pytestmark = pytest.mark.validation

WITHIN = 0.05
TRAFFIC: dict[str, dict[str, object]] = {
    "permutation": {"kind": "permutation", "size": "16MB"},
    "all-to-all": {"kind": "collective", "operation": "all-to-all", "size": "64MB"},
    "ring": {
        "kind": "collective",
        "operation": "all-reduce",
        "size": "64MB",
        "group": 8,
        "stride": 8,
    },
}


@pytest.mark.parametrize("traffic", TRAFFIC)
@pytest.mark.parametrize("technology", ["rocev2-400g", "infiniband-ndr", "spectrum-x-400g"])
def test_both_engines_end_one_scenario_alike(technology: str, traffic: str) -> None:
    topology = {"kind": "fat-tree", "tiers": 2, "hosts_per_leaf": 16}
    fabric = {"technology": technology, "topology": topology}
    scenario = nl.load({"cluster": {"gpus": 64, "fabric": fabric}, "traffic": [TRAFFIC[traffic]]})
    without = nl.Choices(congestion_control="none") if technology == "rocev2-400g" else None
    packets = nl.simulate(scenario, engine="packet", choices=without).first.span_s
    flows = nl.simulate(scenario, engine="flow").first.span_s
    assert flows == pytest.approx(packets, rel=WITHIN)


@pytest.mark.parametrize(
    "topology",
    [
        {"kind": "fat-tree", "tiers": 2},
        {"kind": "fat-tree", "tiers": 2, "hosts_per_leaf": 8},
        {"kind": "fat-tree", "tiers": 3},
        {"kind": "rail-fat-tree"},
    ],
    ids=str,
)
def test_static_routes_let_an_all_to_all_fill_every_nic(topology: dict[str, object]) -> None:
    """Zahavi (2012): on a full tree d-mod-k spreads every shift, so that NICs alone are in the way.

    63 parts of 64 leave the GPU, 56 of them by the NIC: 7 MB, with 26 bytes beside 4096, at 100
    Gb/s. Packets took 1.7 to 6 times as long while destinations were not counted along the tree,
    and flows up to 10 times, on the first of parallel cables down to a leaf.
    """
    fabric = {"technology": "infiniband-edr", "topology": topology}
    traffic = [{"kind": "collective", "operation": "all-to-all", "size": "8MB"}]
    scenario = nl.load({"cluster": {"gpus": 64, "fabric": fabric}, "traffic": traffic})
    least_s = 7e6 * 8 * (1 + 26 / 4096) / 100e9
    for engine in ENGINES:
        assert nl.simulate(scenario, engine=engine).first.span_s == pytest.approx(least_s, rel=0.03)


ALONE = 0.02


@pytest.mark.parametrize("technology", load_catalog().technologies)
def test_a_flow_alone_takes_as_long_in_both_engines_whatever_its_size(technology: str) -> None:
    topology = {"kind": "fat-tree", "tiers": 2, "hosts_per_leaf": 16}
    cluster = {"gpus": 64, "fabric": {"technology": technology, "topology": topology}}
    for target in (8, 48):  # through one switch, and through three
        for size in ("1KB", "16KB", "256KB", "4MB"):
            flow = {"kind": "one-to-one", "source": 0, "target": target, "size": size}
            scenario = nl.load({"cluster": cluster, "traffic": [flow]})
            packets, flows = (
                nl.simulate(scenario, engine=engine).first.fct_s[0] for engine in ENGINES
            )
            assert flows == pytest.approx(packets, rel=ALONE), (technology, target, size)
