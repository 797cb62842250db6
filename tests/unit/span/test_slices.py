"""FlexE and MTN slices: slots, failures, protection, and clients in the packet engine."""

from __future__ import annotations

import numpy as np
import pytest

from netloom.engines.packet.slices import slice_faults
from netloom.engines.packet.streams import FrameTrain, StreamDelays, run_streams
from netloom.errors import SpecError
from netloom.fabric.span.calendar import MULTIFRAME_S, SLOT_PAYLOAD_BPS
from netloom.fabric.span.slices import failure_changes, slice_calendar
from netloom.fabric.wiring.routed import RoutedCable, routed_wiring

MS = 1_000_000_000


def test_clients_fill_phys_in_order_and_what_is_left_is_stranded() -> None:
    found = slice_calendar({"a": 150e9, "b": 30e9}, [100e9, 100e9])
    assert found.clients == {"a": (20, 10), "b": (0, 6)}
    assert found.rate_bps("a") == pytest.approx(30 * 4.99945e9, rel=1e-5)
    assert found.stranded_share == pytest.approx(4 / 40)


def test_slots_beyond_all_phys_are_refused() -> None:
    with pytest.raises(SpecError, match=r"take 42 slots of 5 Gb/s, the PHYs have 40; leave out 10"):
        slice_calendar({"a": 150e9, "b": 60e9}, [100e9, 100e9])


def test_a_failed_phy_takes_its_slots_from_every_client() -> None:
    whole = slice_calendar({"a": 150e9, "b": 30e9}, [100e9, 100e9])
    left = whole.without(1)
    assert left.clients == {"a": (20, 0), "b": (0, 0)}
    assert left.rate_bps("b") == 0


def test_protection_changes_the_calendar_at_the_next_multiframe() -> None:
    whole = slice_calendar({"a": 60e9, "b": 30e9}, [100e9, 100e9])
    lost, back = failure_changes(whole, phy=0, when_ps=MS, within_ps=50 * MS)
    assert lost.when_ps == MS
    assert back.calendar.clients == {"a": (0, 12), "b": (0, 6)}
    turns = back.when_ps / 1e12 / MULTIFRAME_S
    assert back.when_ps >= 51 * MS
    assert turns == pytest.approx(round(turns), abs=1e-6)
    assert back.when_ps < 51 * MS + MULTIFRAME_S * 1e12


def _run(*, fails: bool, others: int = 100) -> StreamDelays:
    """Return frames of two clients on slices of 50 Gb/s, one half on each PHY."""
    calendar = slice_calendar({"a": 100e9, "b": 50e9}, [100e9, 100e9])
    rates = [calendar.rate_bps("a"), calendar.rate_bps("b")]
    # Endpoints 0, 1 send to 2, 3 through switches of their own: nothing of a client is shared.
    cables = [RoutedCable(one=at, other=4 + at, rate_bps=400e9) for at in (0, 1)]
    cables += [
        RoutedCable(one=4 + at, other=2 + at, rate_bps=rates[at], delay_ps=MS) for at in (0, 1)
    ]
    wiring = routed_wiring(4, cables, [(at, 4 + at, 2 + at) for at in (0, 1)])
    changes = failure_changes(calendar, phy=0, when_ps=0, within_ps=MS) if fails else ()
    trains = [
        FrameTrain(
            source=at,
            target=2 + at,
            priority=0,
            size_bytes=4_174,
            start_ps=np.append(np.arange(count, dtype=np.int64) * 1_000_000, 10 * MS),
        )
        for at, count in ((0, others), (1, 100))
    ]
    faults = slice_faults(calendar, changes, {"a": 4, "b": 6})
    return run_streams(wiring, trains, faults=faults, until_ps=100 * MS)


def test_a_slice_does_not_notice_what_others_do() -> None:
    calm, busy, failed = _run(fails=False, others=1), _run(fails=False), _run(fails=True)
    assert (calm.delay_ps[1] == busy.delay_ps[1]).all()
    assert (failed.delay_ps[1] == busy.delay_ps[1]).all()  # its slots are on the other PHY


def test_a_slice_without_slots_carries_nothing_until_it_is_protected() -> None:
    # Client a has all 20 slots of PHY 0, which fails at once; 10 slots of PHY 1 are free, and are
    # its own from the multiframe after 1 ms on.
    own_ps, frame_bits = 83_880, 4_194 * 8
    whole, failed = _run(fails=False), _run(fails=True)
    assert (failed.delay_ps[0][:-1] < 0).all()
    for shown, slots in ((whole, 20), (failed, 10)):
        wire_ps = frame_bits / (slots * SLOT_PAYLOAD_BPS) * 1e12
        assert shown.delay_ps[0][-1] == pytest.approx(MS + own_ps + wire_ps, abs=2)
