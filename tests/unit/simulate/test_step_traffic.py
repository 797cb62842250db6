"""A job without traffic: its step's collectives as packets, and compared by packets."""

from __future__ import annotations

import pytest

import netloom as nl
from netloom.engines.analytic.engine import AnalyticEngine
from netloom.errors import InfeasibleError
from netloom.parts.load import load_catalog
from netloom.study.networks import network_of
from netloom.study.predict.engines import engine_named
from netloom.study.predict.packet_contention import PacketContention
from netloom.workload.collective import Collective, CollectiveKind, Group

CATALOG = load_catalog()
SMALL = {
    "cluster": {
        "gpus": 32,
        "node": "dgx-h100",
        "fabric": {"technology": "infiniband-ndr", "topology": {"kind": "rail-fat-tree"}},
    },
    "job": {
        "model": "gpt-3-175b",
        "training": {"sequence": 128, "global_batch": 32, "precision": "bf16"},
        "parallel": {"tensor": 8, "pipeline": 2, "data": 2, "zero": 1},
    },
}


def test_every_distinct_collective_of_a_step_runs_once_in_turn() -> None:
    found = nl.simulate(nl.load(SMALL), CATALOG, until_s=2e-4)
    axes = {name.split()[0] for name in found.jobs}
    assert axes == {"tensor", "pipeline", "data"}
    assert all(" x " in name for name in found.jobs)
    assert any("once, one after another" in note for note in found.notes)
    first = found.by_job()[0]
    assert first["flows_finished"] > 0


def test_a_collective_by_packets_is_the_closed_form_where_nothing_contends() -> None:
    scenario = nl.load(SMALL)
    network = network_of(scenario.cluster, CATALOG)
    group = Group(size=32, per_node=8)
    asked = Collective(kind=CollectiveKind.ALL_REDUCE, size_bytes=2**28, group=group)
    packets = engine_named("packet").run(asked, network)
    assert packets.engine == "packet"
    closed = AnalyticEngine().run(asked, network)
    assert packets.duration_s == pytest.approx(closed.duration_s, rel=0.03)


def test_what_will_run_is_announced_with_its_cost() -> None:
    said: list[str] = []
    scenario = nl.load(SMALL)
    network = network_of(scenario.cluster, CATALOG)
    contention = PacketContention(0, said.append)
    for _ in range(2):  # the second time it is known
        contention.slowdown(network, Group(size=32, per_node=8), "ring", pace=0.9)
    assert len(said) == 1
    assert "link traversals, about" in said[0]


def test_a_step_of_too_many_packets_is_refused_with_its_cost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("netloom.study.predict.packet_contention.MAX_TRAVERSALS", 1000)
    network = network_of(nl.load(SMALL).cluster, CATALOG)
    with pytest.raises(InfeasibleError, match="minutes; use --engine flow"):
        PacketContention(0).slowdown(network, Group(size=32, per_node=8), "ring", pace=0.9)
