"""A simulation that memory would not suffice for is refused before it takes any."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
import pytest

import netloom as nl
from netloom.errors import InfeasibleError
from netloom.parts.load import load_catalog
from netloom.study.simulate import memory as simulate_memory
from netloom.study.simulate.memory import Need, need_of
from netloom.study.simulate.run import case_of, run_case, traced
from netloom.study.simulate.traffic import TrafficContext, transfers_of
from netloom.study.simulate.traffic_size import size_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from netloom.spec.scenario import Scenario
    from netloom.study.simulate.run import EngineName

CATALOG = load_catalog()
MIB = 1 << 20
ALL_TO_ALL = {"kind": "collective", "operation": "all-to-all", "size": "1GB"}


def scenario(gpus: int, *traffic: Mapping[str, object]) -> Scenario:
    fabric = {"technology": "rocev2-400g", "topology": {"kind": "fat-tree"}}
    return nl.load({"cluster": {"gpus": gpus, "fabric": fabric}, "traffic": list(traffic)})


def have(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(simulate_memory, "available_bytes", lambda: count)


@pytest.mark.parametrize("engine", ["packet", "flow"])
def test_an_exchange_of_too_many_messages_is_refused_before_it_is_drawn(
    engine: EngineName, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 16,384 x 16,383 messages: tens of gigabytes before the first one is sent. The network itself
    # has a few hundred thousand links; a byte for each message would be more than all of it.
    have(monkeypatch, 20 << 30)
    tracemalloc.start()
    try:
        with pytest.raises(InfeasibleError, match=r": 268,419,072 transfers need about .* free"):
            nl.simulate(scenario(16_384, ALL_TO_ALL), CATALOG, engine=engine)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 16_384 * 16_383


def test_a_table_of_ways_that_is_too_large_is_refused_before_it_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    have(monkeypatch, 100 * MIB)
    permutation = {"kind": "permutation", "size": "1MB"}
    with pytest.raises(InfeasibleError, match=r"cluster: ways from .* keep traffic out of nodes"):
        nl.simulate(scenario(4096, permutation), CATALOG)


@pytest.mark.parametrize("engine", ["packet", "flow"])
def test_a_run_that_would_not_fit_is_refused_with_need_have_and_remedy(
    engine: EngineName, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = case_of(scenario(64, ALL_TO_ALL), CATALOG, engine=engine)
    have(monkeypatch, MIB)
    with pytest.raises(InfeasibleError, match=r"^memory: the run would need about .* fewer"):
        run_case(case)


def test_a_trace_counts_by_what_it_may_hold() -> None:
    # 64 x 1 GB in packets of 4 KiB depart many million times, and 10 KB thrice over a few links.
    # Measured on 128 GPUs: 120 bytes a departure, from 500 thousand to 1.5 million of them.
    def more_bytes(size: str) -> int:
        case = case_of(scenario(64, {"kind": "permutation", "size": size}), CATALOG)
        plain, kept = (
            need_of(one.runner, one.traffic(0)).run_bytes
            for one in (case, traced(case, 10_000_000))
        )
        return kept - plain

    assert 1e9 < more_bytes("1GB") < 1.5e9
    assert more_bytes("10KB") < 1e6


def test_seeds_that_do_not_fit_together_are_told_how_many_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = case_of(scenario(64, {**ALL_TO_ALL, "size": "64KB"}), CATALOG)
    need = need_of(case.runner, case.traffic(0))
    have(monkeypatch, need.peak_bytes(num_runs=8, num_workers=3) - need.held_bytes)
    with pytest.raises(
        InfeasibleError, match=r"8 runs, 4 at a time would need .*; run 3 at a time"
    ):
        run_case(case, seeds=range(8), num_workers=4)
    assert len(run_case(case, seeds=range(3), num_workers=3).runs) == 3


def test_workers_and_results_add_up() -> None:
    need = Need(fixed_bytes=100, run_bytes=50, kept_bytes=10)
    # The network once, two runs at a time, and the results of the other three.
    assert need.peak_bytes(num_runs=5, num_workers=2) == 100 + 2 * 50 + 3 * 10
    assert need.most_workers(need.peak_bytes(num_runs=5, num_workers=2), num_runs=5) == 2
    assert need.most_workers(need.peak_bytes(num_runs=5, num_workers=2) - 1, num_runs=5) == 1
    assert need.most_workers(120, num_runs=5) == 0


FINER: dict[str, dict[str, object]] = {  # what each of them can be divided by
    "all-reduce": {"channels": 4, "slices": 3},
    "all-gather": {"channels": 4, "slices": 3},
    "all-to-all": {},
    "broadcast": {"slices": 3},
    "reduce": {"slices": 3},
    "gather": {},
    "scatter": {},
    "send-recv": {},
}
COLLECTIVES = [
    {"operation": operation, **more}
    for operation, finer in FINER.items()
    for more in ({}, {"group": 16}, {**finer, "repeats": 2})
]
TREES = [
    {"operation": "all-reduce", "algorithm": algorithm, **more}
    for algorithm in ("tree", "halving-doubling", "hierarchical")
    for more in ({}, {"slices": 4}, {"repeats": 3})
    if (algorithm, "slices" in more) != ("halving-doubling", True)
]


@pytest.mark.parametrize(
    "piece",
    [
        *({"kind": "collective", "size": "10MB", **more} for more in COLLECTIVES + TREES),
        {"kind": "collective", "size": "10MB", "operation": "all-to-all", "in_flight": 4},
        {"kind": "permutation", "size": "1MB"},
        {"kind": "incast", "size": "1MB", "fan_in": 9},
        {"kind": "one-to-one", "size": "1MB", "source": 0, "target": 1},
        {"kind": "storage", "size": "1MB", "servers": 8, "bursts": 3},
        {"kind": "poisson", "duration": "3ms"},
    ],
    ids=str,
)
def test_transfers_are_counted_before_they_are_drawn(piece: Mapping[str, object]) -> None:
    traffic = scenario(64, piece).traffic
    assert traffic is not None
    place = TrafficContext(num_endpoints=64, per_node=8, rate_bps=400e9)
    drawn = transfers_of(traffic, place, rng=np.random.default_rng(0))
    size = size_of(traffic, place)
    if piece["kind"] == "poisson":  # but for chance
        assert len(drawn) <= size.transfers < 1.3 * len(drawn)
        return
    assert size.transfers == len(drawn)
    assert len(drawn.waits) <= size.waits <= 2 * len(drawn.waits) + 64


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
from netloom.cli.main import main
sys.exit(main(["simulate", sys.argv[1], "--until", "1us"]))
"""


def test_a_process_with_a_small_address_space_is_told_so(tmp_path: Path) -> None:
    # 2048 x 2047 messages are some 6 GiB in packets; the limit is 3 GiB.
    path = tmp_path / "large.yaml"
    path.write_text(
        "cluster: {gpus: 2048, fabric: {technology: rocev2-400g, topology: {kind: fat-tree}}}\n"
        "traffic: [{kind: collective, operation: all-to-all, size: 1GB}]\n"
    )
    done = subprocess.run(  # noqa: S603  (this interpreter)
        [sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert "4,192,256 transfers need about" in done.stderr
    assert "MemoryError" not in done.stderr
