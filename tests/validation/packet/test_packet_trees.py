"""All-reduces over two trees, packet by packet: what they take longer than as flows, and why.

Two children's sums meet at their parent, beside what comes down from above: links are shared by
connections whose senders could all fill them. Flows share such a link evenly from the first moment
on; packets share it as congestion control and switches let them. That is no matter of messages: the
hops of both trees as one long message each show it as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

import netloom as nl
from netloom.study.simulate.choices import Choices
from netloom.workload.exchange_tree import double_tree

if TYPE_CHECKING:
    from netloom.study.simulate.simulation import SeedRun

pytestmark = pytest.mark.validation

TREE: Final = {
    "kind": "collective",
    "operation": "all-reduce",
    "algorithm": "tree",
    "group": 8,
    "stride": 8,
    "size": "16MB",
}


def hops() -> list[dict[str, object]]:
    """Return every hop of the two trees of one rail, up and down: half of the bytes each."""
    dag = double_tree([np.array([8 * node]) for node in range(8)], 16_000_000, slices=1)
    ends = zip(dag.source.tolist(), dag.target.tolist(), strict=True)
    return [{"kind": "one-to-one", "source": a, "target": b, "size": "8MB"} for a, b in ends]


def run(
    technology: str,
    traffic: list[dict[str, object]],
    engine: str,
    cc: str = "",
    packets: dict[str, object] | None = None,
) -> SeedRun:
    fabric = {"technology": technology, "topology": {"kind": "rail-fat-tree"}}
    cluster = {"gpus": 64, "node": "dgx-h100", "fabric": fabric}
    scenario = nl.load({"cluster": cluster, "traffic": traffic, "packets": packets or {}})
    if engine == "flow":
        return nl.simulate(scenario, engine="flow").first
    return nl.simulate(scenario, choices=Choices(congestion_control=cc)).first


def excess(
    technology: str,
    traffic: list[dict[str, object]],
    cc: str = "",
    packets: dict[str, object] | None = None,
) -> float:
    span_s = run(technology, traffic, "packet", cc, packets).span_s
    return span_s / run(technology, traffic, "flow").span_s - 1


@pytest.mark.parametrize("technology", ["rocev2-400g", "spectrum-x-400g"])
def test_a_tree_that_nobody_slows_down_ends_no_later_than_its_flows_do(technology: str) -> None:
    # And a little sooner: where two meet, what came first is sent first, not both half as fast.
    # By how much follows the buffer; the bound is for HPCC's, 32 MB at 100 Gb/s.
    hpcc: dict[str, object] = {"switches": {"buffer": "128MB"}}
    assert -0.015 < excess(technology, [dict(TREE)], "none", hpcc) < 0


@pytest.mark.parametrize("technology", ["uet-400g", "infiniband-ndr"])
def test_a_tree_loses_no_more_than_its_hops_as_long_flows(technology: str) -> None:
    of_tree, of_hops = excess(technology, [dict(TREE)]), excess(technology, hops())
    assert of_tree < min(of_hops, 0.06)


def test_a_tree_of_iwarp_waits_for_no_timeout() -> None:
    packets = run("iwarp-100g", [dict(TREE)], "packet")
    assert packets.delivery.counters["timeouts"] == 0
    assert packets.span_s < 1.3 * run("iwarp-100g", [dict(TREE)], "flow").span_s


def test_tcp_repeats_what_was_lost_and_no_more_but_probes() -> None:
    # Time tells of a loss, or three later arrivals do: not both. Every probe repeats a packet.
    topology = {"kind": "fat-tree", "tiers": 2, "hosts_per_leaf": 16}
    fabric = {"technology": "tcp-100g", "topology": topology}
    incast = {"kind": "incast", "target": 0, "first": 16, "fan_in": 8, "size": "1MiB"}
    scenario = nl.load({"cluster": {"gpus": 64, "fabric": fabric}, "traffic": [incast]})
    counters = nl.simulate(scenario).first.delivery.counters
    assert counters["drops"] > 0
    assert counters["retransmissions"] <= counters["drops"] + counters["probes"]
