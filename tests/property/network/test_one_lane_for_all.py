"""One of equal lanes gives the picoseconds of all; lanes that are not equal have their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

import netloom as nl
from netloom.errors import InfeasibleError
from netloom.parts.load import load_catalog
from netloom.study.packet_step import unrolled
from netloom.study.packet_step.case import step_case
from netloom.study.simulate.choices import Choices
from netloom.study.simulate.run import run_case

if TYPE_CHECKING:
    from netloom.spec.scenario import Scenario
    from netloom.study.simulate.simulation import Simulation

CATALOG = load_catalog()
NEVER = 10**12
LANES = 8
PLANS = (
    {"tensor": 8, "data": 4, "zero": 1},
    {"tensor": 8, "pipeline": 2, "data": 2},
    {"tensor": 8, "pipeline": 4, "virtual_pipeline": 2},
    {"tensor": 8, "context": 2, "data": 2, "zero": 1},
)


def job(
    parallel: dict[str, int],
    *,
    technology: str = "infiniband-ndr",
    topology: dict[str, Any] | None = None,
    gpus: int = 32,
    **more: Any,
) -> Scenario:
    """Return Llama 3.2 1B on nodes of eight GPUs."""
    fabric = {"technology": technology, "topology": topology or {"kind": "rail-only"}}
    training = {"sequence": 2048, "global_batch": gpus // 4, "precision": "bf16"}
    return nl.load(
        {
            "cluster": {"gpus": gpus, "node": "dgx-h100", "fabric": fabric},
            "job": {"model": "llama-3.2-1b", "training": training, "parallel": parallel},
            **more,
        }
    )


def both(scenario: Scenario, **how: Any) -> tuple[Simulation, Simulation]:
    """Return the step with one lane for all where they are equal, and with all lanes."""
    found = [run_case(step_case(scenario, CATALOG, lanes_from=most, **how)) for most in (0, NEVER)]
    return found[0], found[1]


def check_equal(one: Simulation, every: Simulation) -> None:
    lane, whole = one.first, every.first
    assert (lane.copies, whole.copies) == (LANES, 1)
    assert lane.step == whole.step
    assert lane.goodput_bps == pytest.approx(whole.goodput_bps, rel=1e-12)
    np.testing.assert_array_equal(lane.delivery.link_bytes, whole.delivery.link_bytes)
    for number in range(LANES):
        mine = whole.transfers.source % LANES == number
        np.testing.assert_array_equal(lane.transfers.source + number, whole.transfers.source[mine])
        np.testing.assert_array_equal(lane.delivery.finish_ps, whole.delivery.finish_ps[mine])
    told, expected = one.to_json(), every.to_json()
    assert [told[key] for key in ("flows", "span_s")] == [
        expected[key] for key in ("flows", "span_s")
    ]
    assert [row["flows"] for row in one.by_job()] == [row["flows"] for row in every.by_job()]


@settings(max_examples=6, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(
    parallel=st.sampled_from(PLANS),
    technology=st.sampled_from(["infiniband-ndr", "spectrum-x-400g", "rocev2-400g"]),
    slow=st.dictionaries(st.integers(0, 31), st.floats(1.0, 2.0), max_size=2),
)
def test_one_lane_is_all_of_them_to_the_picosecond(
    parallel: dict[str, int], technology: str, slow: dict[int, float]
) -> None:
    # A straggler holds up its node, and so all lanes alike.
    one, every = both(job(parallel, technology=technology), stragglers=slow)
    assume(not every.first.delivery.num_draws)  # of marks: then lanes differ by their draws
    check_equal(one, every)


def test_rails_of_128_gpus_under_shared_spines_are_equal_where_credits_rule() -> None:
    scenario = job(
        {"tensor": 8, "pipeline": 4, "data": 4},
        gpus=128,
        topology={"kind": "rail-fat-tree", "tiers": 2},
    )
    check_equal(*both(scenario))


def test_one_lane_of_every_packet_is_all_packets() -> None:
    one = run_case(step_case(job(PLANS[1]), CATALOG, lanes_from=0, skips=False))
    every = run_case(step_case(job(PLANS[1]), CATALOG, folds=False, skips=False))
    check_equal(one, every)


SLOW = {"kind": "slow", "part": "gpu:3", "rate": "40Gbps"}


@pytest.mark.parametrize(
    ("scenario", "why"),
    [
        (job(PLANS[1], faults=[SLOW]), "differ"),
        (job(PLANS[1], technology="uet-400g"), "draw the path"),
        (job(PLANS[1], technology="spectrum-x-400g", topology={"kind": "fat-tree"}), "share"),
        (
            job(
                {"tensor": 8, "pipeline": 2},
                technology="rocev2-400g",
                gpus=128,
                topology={"kind": "fat-tree", "tiers": 2},
            ),
            "hashed",
        ),
    ],
    ids=["a fault", "sprayed", "shared switches", "hashed"],
)
def test_lanes_that_differ_have_their_own_messages(scenario: Scenario, why: str) -> None:
    case = step_case(scenario, CATALOG, lanes_from=0)
    assert case.lanes is None
    assert why in case.notes[-1]


def test_a_run_that_draws_marks_has_all_lanes() -> None:
    # Hops and rings of one NIC meet, and every queue is marked from its first byte on.
    marks = Choices(ecn="1B-10MB-50%")
    one, every = both(job(PLANS[1], technology="rocev2-400g"), choices=marks)
    assert every.first.delivery.num_draws > 0
    assert one.first.copies == 1
    assert "drawn" in one.first.delivery.notes[0]
    np.testing.assert_array_equal(one.first.delivery.finish_ps, every.first.delivery.finish_ps)


def test_too_many_messages_are_refused_with_what_keeps_lanes_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unrolled, "MAX_MESSAGES", 100)
    with pytest.raises(InfeasibleError, match=r"fit in memory \(one lane .* differ in their"):
        step_case(job(PLANS[1], faults=[SLOW]), CATALOG, lanes_from=0)
