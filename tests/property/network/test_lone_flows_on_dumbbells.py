"""A flow alone on a dumbbell is as fast as alone, whatever its packets might do elsewhere."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netloom.app.cases import import_case
from netloom.parts.load import load_catalog
from netloom.study.simulate.choices import Choices
from netloom.study.simulate.run import SimulationCase, run_case, runner_on

if TYPE_CHECKING:
    from collections.abc import Sequence

CATALOG = load_catalog()


def lone_slowdown(technology: str, qps: int, size_bytes: int, rates_gbps: Sequence[int]) -> float:
    """Return it between two hosts of 100 Gb/s, whose switches so many cables of 200 m join."""
    ends = [("0 2", 100), *(("2 3", rate) for rate in rates_gbps), ("3 1", 100)]
    cables = [f"{pair} {rate}Gbps 1us 0" for pair, rate in ends]
    with TemporaryDirectory() as folder:
        topology, flows = Path(folder, "topology.txt"), Path(folder, "flow.txt")
        topology.write_text("\n".join([f"4 2 {len(cables)}", "2 3", *cables]))
        flows.write_text(f"1\n0 1 3 100 {size_bytes} 0\n")
        brought = import_case(topology, flows)
    part = CATALOG.technology(technology)
    choices = Choices(congestion_control="none", qps=qps)
    runner = runner_on(brought.wiring, part, engine="packet", choices=choices)
    case = SimulationCase(
        title="", technology="", runner=runner, traffic=lambda _: brought.transfers
    )
    return float(run_case(case).first.slowdown[0])


@pytest.mark.parametrize("qps", [1, 4])
@pytest.mark.parametrize(
    ("technology", "at_most"),
    [
        ("rocev2-400g", 1.001),
        ("spectrum-x-400g", 1.001),
        ("infiniband-ndr", 1.001),
        ("scheduled-400g", 1.08),  # cells have headers, which the ideal of a single link leaves out
    ],
)
def test_a_slow_cable_between_switches_slows_the_ideal_as_well(
    technology: str, at_most: float, qps: int
) -> None:
    # 100 Gb/s to the switches and 10 between them. Where packets could part in a larger network,
    # or connections could, each was taken to have a cable for itself: slowdowns of 9.
    assert 1 <= lone_slowdown(technology, qps, 262_144, [10]) < at_most


@pytest.mark.parametrize(
    "technology", ["rocev2-400g", "spectrum-x-400g", "scheduled-400g", "infiniband-ndr"]
)
@settings(max_examples=15)
@given(
    qps=st.sampled_from([1, 2, 5]),
    size_bytes=st.integers(1, 200_000),
    rate_gbps=st.sampled_from([10, 25, 40, 100, 400]),
    cables=st.integers(1, 4),
)
def test_no_flow_is_faster_than_its_ideal_over_any_cables(
    technology: str, qps: int, size_bytes: int, rate_gbps: int, cables: int
) -> None:
    assert lone_slowdown(technology, qps, size_bytes, [rate_gbps] * cables) >= 1
