"""Faults in time, from the scenario to the packets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import netloom as nl
from netloom.catalog.load import load_catalog
from netloom.errors import SpecError

if TYPE_CHECKING:
    from netloom.spec.scenario import Scenario

CATALOG = load_catalog()


def _scenario(*faults: dict[str, object]) -> Scenario:
    fabric = {"technology": "rocev2-400g", "topology": {"kind": "fat-tree"}}
    flow = {"kind": "one-to-one", "source": 0, "target": 15, "size": "4MB"}
    return nl.load(
        {"cluster": {"gpus": 16, "fabric": fabric}, "traffic": [flow], "faults": list(faults)}
    )


def test_a_slow_link_makes_the_flow_as_slow() -> None:
    # All 4 MB at 100 instead of 400 Gb/s: four times as long, but for the latency.
    slow = _scenario({"kind": "slow", "part": "gpu:15", "rate": "100Gbps"})
    taken, whole = (nl.simulate(s, CATALOG).first.fct_s[0] for s in (slow, _scenario()))
    assert taken / whole == pytest.approx(4, rel=0.15)


def test_a_link_that_is_cut_for_a_while_delays_the_flow_by_more_than_that() -> None:
    cut = _scenario({"kind": "down", "part": "gpu:0-leaf:0", "at": "20us", "until": "120us"})
    found, whole = (nl.simulate(s, CATALOG).first for s in (cut, _scenario()))
    assert len(found.done) == 1
    assert found.fct_s[0] > whole.fct_s[0] + 100e-6


def test_a_nic_that_pauses_for_ever_stops_the_flow() -> None:
    stuck = _scenario({"kind": "pause", "part": "gpu:15", "at": "20us"})
    found = nl.simulate(stuck, CATALOG, until_s=1e-3)
    assert len(found.first.done) == 0
    assert found.partial


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"kind": "down", "part": "leaf:9"}, r"^faults\.0: 'leaf:9' is not there; write leaf:0"),
        ({"kind": "down", "part": "leef:0"}, "did you mean 'leaf'"),
        ({"kind": "down", "part": "gpu:0-gpu:1"}, "no cable joins gpu:0 and gpu:1"),
        ({"kind": "slow", "part": "gpu:0"}, "'rate' belongs to kind slow"),
        ({"kind": "down", "part": "gpu:0", "loss": "1%"}, "'loss' belongs to kind loss"),
        ({"kind": "down", "part": "gpu:0", "at": "2us", "until": "1us"}, "'until' comes after"),
    ],
)
def test_impossible_faults_are_refused(fault: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        nl.simulate(_scenario(fault), CATALOG)


def test_flows_have_no_faults_in_time() -> None:
    with pytest.raises(SpecError, match="faults: flows know no faults in time"):
        nl.simulate(_scenario({"kind": "down", "part": "gpu:0"}), CATALOG, engine="flow")
