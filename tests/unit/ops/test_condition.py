from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.errors import SpecError
from netloom.ops.condition import Condition, check_fault, condition_of
from netloom.ops.lab import FaultKind, InjectedFault
from netloom.ops.plant import Cable, Device, Plant, Port

# nic:0 - leaf:0 - spine:0 and spine:1, one cable each: cables 0, 1 and 2.
PLANT = Plant(
    devices=(
        Device(name="nic:0", role="host", tier=0, num_ports=1),
        Device(name="leaf:0", role="switch", tier=1, num_ports=4),
        Device(name="spine:0", role="switch", tier=2, num_ports=4),
        Device(name="spine:1", role="switch", tier=2, num_ports=4),
    ),
    cables=(
        Cable(number=0, lower=Port(0, 1), upper=Port(1, 1), rate_bps=1.0),
        Cable(number=1, lower=Port(1, 2), upper=Port(2, 1), rate_bps=1.0),
        Cable(number=2, lower=Port(1, 3), upper=Port(3, 1), rate_bps=1.0),
    ),
)


def fault(kind: FaultKind, *parts: str, number: int = 1, **settings: float) -> InjectedFault:
    return InjectedFault(number=number, kind=kind, parts=parts, settings=settings)


def test_without_faults_everything_is_healthy() -> None:
    assert condition_of([], PLANT) == Condition()


def test_a_cable_stays_unlinked_while_one_of_two_reasons_is_left() -> None:
    alone, dead = fault("unlink", "cable:1"), fault("dead-switch", "spine:0")
    for faults in ([alone, dead], [alone], [dead]):
        assert not condition_of(faults, PLANT).cable(1).is_linked
    assert condition_of([], PLANT).cable(1).is_linked


def test_a_dead_switch_takes_all_its_cables() -> None:
    assert list(condition_of([fault("dead-switch", "leaf:0")], PLANT).cables) == [0, 1, 2]


def test_loss_in_one_direction_is_at_the_receiving_port() -> None:
    found = condition_of([fault("silent-drop", "leaf:0->spine:0", share=1.0)], PLANT)
    assert [loss.port for loss in found.cable(1).losses] == [Port(2, 1)]
    both = condition_of([fault("error-rate", "cable:1", share=0.1)], PLANT)
    assert [loss.port for loss in both.cable(1).losses] == [Port(1, 2), Port(2, 1)]


def test_miswired_cables_have_one_anothers_upper_ends() -> None:
    found = condition_of([fault("miswire", "cable:1", "cable:2")], PLANT)
    assert (found.cable(1).upper, found.cable(2).upper) == (Port(3, 1), Port(2, 1))
    with pytest.raises(SpecError, match="miswired already"):
        condition_of([fault("miswire", "cable:1", "cable:2")] * 2, PLANT)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (fault("miswire", "cable:1"), "takes 2 parts"),
        (fault("miswire", "cable:1", "cable:1"), "two different"),
        (fault("miswire", "cable:0", "cable:1"), "different tiers"),
        (fault("dead-switch", "nic:0"), "no switch"),
        (fault("unlink", "leaf:0->spine:0"), "not in this network"),
        (fault("unlink"), "takes 1 part"),
        (fault("error-rate", "cable:1", share=1.5), "--share: 1.5 is not between 0 and 1"),
        (fault("error-rate", "cable:1", share=float("nan")), "--share"),
        (fault("slow-link", "cable:1", factor=0.5), "--factor"),
    ],
)
def test_a_fault_that_cannot_be_is_refused(wrong: InjectedFault, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        check_fault(wrong, PLANT)


one_fault = st.one_of(
    st.builds(lambda n: fault("unlink", f"cable:{n}"), st.integers(0, 2)),
    st.builds(lambda n: fault("dead-switch", n), st.sampled_from(["leaf:0", "spine:1"])),
    st.builds(
        lambda n, s: fault("error-rate", f"cable:{n}", share=s), st.integers(0, 2), st.floats(0, 1)
    ),
    st.builds(lambda n: fault("slow-link", f"cable:{n}", factor=2.0), st.integers(0, 2)),
)


@given(st.lists(one_fault, max_size=5), one_fault)
def test_a_fault_and_its_end_leave_the_condition_as_it_was(
    faults: list[InjectedFault], one: InjectedFault
) -> None:
    before = condition_of(faults, PLANT)
    check_fault(one, PLANT)
    condition_of([*faults, one], PLANT)
    assert condition_of(faults, PLANT) == before
    # Order does not matter for whether a cable is linked.
    turned = condition_of(faults[::-1], PLANT)
    assert [before.cable(n).is_linked for n in range(3)] == [
        turned.cable(n).is_linked for n in range(3)
    ]
