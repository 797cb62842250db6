"""Runs repeat, stop, resume, and refuse what cannot be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from wires import leaf_spine, star, transfers

from netloom.engines.native import PacketSimulation
from netloom.engines.packet import (
    Ecn,
    PacketSettings,
    Progress,
    Recording,
    SwitchSettings,
    Transport,
    run_packets,
    settings_for,
)
from netloom.engines.packet.lower import lowered
from netloom.errors import InfeasibleError, SpecError
from netloom.parts.load import load_catalog

BUSY = PacketSettings(
    congestion_control="dcqcn",
    ecn=Ecn(kmin_bytes=5_000, kmax_bytes=200_000, at_rate_bps=0),
    switch=SwitchSettings(buffer_bytes=2_000_000),
    transport=Transport(cnp_interval_ps=50_000_000),
)
SHUFFLE = transfers([(i, (i + 5) % 12) for i in range(12)] * 2, 500_000)
TREE = leaf_spine(3, 4, 2)


def simulation(settings: PacketSettings = BUSY, seed: int = 3) -> PacketSimulation:
    made = lowered(TREE, SHUFFLE, settings, seed=seed, faults=(), watch=Recording())
    return PacketSimulation(made.arrays, made.numbers, made.names, made.parameters)


def test_equal_seeds_give_equal_results_and_others_do_not() -> None:
    first, again, other = (run_packets(TREE, SHUFFLE, BUSY, seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(first.finish_ps, again.finish_ps)
    assert first.counters == again.counters
    assert not np.array_equal(first.finish_ps, other.finish_ps)


@pytest.mark.parametrize(
    "settings",
    [
        BUSY,
        replace(BUSY, flow_control="credits", balance="adaptive"),
        replace(
            BUSY,
            flow_control="trimming",
            congestion_control="nscc",
            spray="reps",
            transport=Transport(recovery="selective", timeout_ps=100_000_000),
        ),
        replace(
            BUSY,
            flow_control="trimming",
            congestion_control="none",
            spray="bitmap",
            transport=Transport(recovery="pulled", timeout_ps=100_000_000),
        ),
    ],
    ids=["pfc", "credits", "nscc", "pulled"],
)
def test_a_restored_run_goes_on_as_if_it_had_never_stopped(settings: PacketSettings) -> None:
    straight, stopped = simulation(settings), simulation(settings)
    straight.run(1 << 62, 1 << 62)
    stopped.run(40_000_000, 1 << 62)
    state = stopped.snapshot()
    resumed = simulation(settings, seed=99)
    resumed.restore(state)
    resumed.run(1 << 62, 1 << 62)
    assert resumed.counters() == straight.counters()
    assert str(resumed.transfers()["finish_ps"]) == str(straight.transfers()["finish_ps"])


def test_a_state_that_is_cut_short_is_refused() -> None:
    state = simulation().snapshot()
    with pytest.raises(ValueError, match="cut short"):
        simulation().restore(state[: len(state) // 2])


def test_running_in_small_pieces_changes_nothing() -> None:
    whole, pieces = simulation(), simulation()
    whole.run(1 << 62, 1 << 62)
    while pieces.run(1 << 62, 777) == 0:
        pass
    assert pieces.counters() == whole.counters()


def test_a_run_ends_when_the_caller_says_so_and_is_marked_partial() -> None:
    seen: list[Progress] = []

    def stop(progress: Progress) -> bool:
        seen.append(progress)
        return False

    long = transfers([(i, (i + 5) % 12) for i in range(12)], 40_000_000)
    delivery = run_packets(TREE, long, BUSY, on_progress=stop)
    assert delivery.partial
    assert len(seen) == 1
    assert seen[0].num_unfinished > 0


def test_a_run_ends_at_the_time_given() -> None:
    delivery = run_packets(TREE, SHUFFLE, BUSY, until_ps=10_000_000)
    assert delivery.simulated_ps == 10_000_000
    assert delivery.partial
    assert (delivery.finish_ps == -1).all()


def test_packets_and_bytes_are_conserved() -> None:
    sim = simulation()
    for until in range(1_000_000, 60_000_000, 1_000_000):
        sim.run(until, 1 << 62)
        counters = sim.counters()
        gone = counters["delivered_packets"] + counters["drops"] + counters["lost"]
        # Data under way; acknowledgements take the place of what was delivered.
        under_way = counters["data_packets"] - gone
        assert 0 <= under_way <= counters["packets_in_flight"]
    sim.run(1 << 62, 1 << 62)
    counters = sim.counters()
    assert counters["delivered_bytes"] == 24 * 500_000
    assert counters["packets_in_flight"] <= counters["cnps"]  # CNPs may still be on their way


def test_strict_priority_serves_the_higher_first_and_weights_share() -> None:
    work = transfers([(0, 2), (1, 2)], 1_000_000, priority=[1, 5])
    strict = run_packets(star(3), work, PacketSettings())
    assert strict.finish_ps[1] < 0.6 * strict.finish_ps[0]
    shared = replace(PacketSettings(), switch=SwitchSettings(weights={1: 8192, 5: 8192}))
    both = run_packets(star(3), work, shared)
    assert abs(int(both.finish_ps[0]) - int(both.finish_ps[1])) < 1_000_000


def test_weights_share_a_host_s_own_link_as_well() -> None:
    # Two flows of one host: 3 to 1 while both send, so that the light one is half done at 4/3 of
    # the other's time alone, and ends at twice that time: 1 and 3/2 of the heavy one's end.
    work = transfers([(0, 1), (0, 2)], 1_000_000, priority=[1, 5])
    weights = {1: 3 * 8192, 5: 8192}
    run = run_packets(
        star(3), work, replace(PacketSettings(), switch=SwitchSettings(weights=weights))
    )
    assert run.finish_ps[1] / run.finish_ps[0] == pytest.approx(1.5, rel=0.05)


def test_polarised_switches_leave_links_idle() -> None:
    many = transfers([(i % 4, 4 + i % 4) for i in range(64)], 4096)
    tree = leaf_spine(2, 4, 4)
    used = [
        int(np.count_nonzero(run_packets(tree, many, settings).link_bytes[16:24:2]))
        for settings in (PacketSettings(), replace(PacketSettings(), balance="d-mod-k"))
    ]
    assert used == [4, 4]


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"flow_control": "pcf"}, "did you mean 'pfc'"),
        ({"congestion_control": "dcqnc"}, "did you mean 'dcqcn'"),
        ({"balance": "wishful"}, "choose one of"),
        ({"num_paths": 100}, "no power of two"),
        ({"num_paths": 1024, "spray": "bitmap"}, "too many"),
        ({"transport": Transport(payload_bytes=70_000)}, "65535 at most"),
        ({"congestion_control": "hpcc"}, "telemetry"),
        ({"parameters": {"gian": 1.0}}, "no parameter 'gian'"),
        ({"switch": SwitchSettings(alpha=0.0)}, "alpha"),
        ({"transport": Transport(pull_share=0.0)}, "pull_share"),
        ({"num_paths": 512, "spray": "mixed"}, "too many"),
        ({"ecn": Ecn(kmin_bytes=9, kmax_bytes=3)}, "Kmin comes first"),
    ],
)
def test_what_cannot_be_is_refused_before_the_run(changes: dict[str, object], what: str) -> None:
    with pytest.raises(SpecError, match=what):
        run_packets(TREE, SHUFFLE, replace(BUSY, **changes))  # type: ignore[arg-type]


def test_a_pair_without_a_way_is_refused() -> None:
    tree = leaf_spine(2, 1, 1)
    cut = replace(tree, offsets=np.zeros_like(tree.offsets), links=tree.links[:0])
    with pytest.raises(InfeasibleError, match="no way from v0 to v1"):
        run_packets(cut, transfers([(0, 1)], 1), PacketSettings())


def test_more_than_the_machine_holds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netloom.engines.packet.lower.available_bytes", lambda: 4096)
    with pytest.raises(InfeasibleError, match="run fewer at a time"):
        run_packets(TREE, SHUFFLE, BUSY)


@pytest.mark.parametrize("name", sorted(load_catalog().technologies))
def test_every_technology_brings_its_transfers_home(name: str) -> None:
    technology = load_catalog().technologies[name]
    settings = settings_for(technology)
    tree = leaf_spine(3, 4, 2, rate_bps=technology.rate_bps)
    delivery = run_packets(tree, SHUFFLE, settings, until_ps=1_000_000_000_000)
    assert not delivery.partial, name
    assert delivery.counters["delivered_bytes"] >= 24 * 500_000
