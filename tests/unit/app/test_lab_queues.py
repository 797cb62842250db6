"""What a port of a lab did while probes were sent, from what its queue counted."""

from __future__ import annotations

import pytest

from netloom.app.lab.queues import QueueCensus, QueueLook
from netloom.drivers.netns import End
from netloom.formats.linux.rtnetlink import QueueCounts
from netloom.ops.plant import Cable, Device, Plant, Port

PLANT = Plant(
    devices=(
        Device(name="nic:0", role="host", tier=0, num_ports=1),
        Device(name="leaf:0", role="switch", tier=1, num_ports=1),
    ),
    cables=(Cable(number=0, lower=Port(0, 1), upper=Port(1, 1), rate_bps=400e9),),
)
END = End(namespace="leaf", interface="swp1")


def counted(sent: int, dropped: int, waiting: int = 0) -> QueueCounts:
    return QueueCounts(
        sent_bytes=1000 * sent,
        sent_packets=sent,
        dropped_packets=dropped,
        waiting_bytes=waiting,
    )


def shares(sent: int, dropped: int, probes: int) -> tuple[float, float, float]:
    """Return the share of all, of small at most, and of full packets at most."""
    (cable,) = PLANT.cables
    census = QueueCensus(plant=PLANT, ports={END: (cable, cable.upper)})
    looks = [(0.0, counted(0, 0)), (1.0, counted(sent, dropped, 9)), (1.2, counted(sent, dropped))]
    first, busy, last = (QueueLook(at_s=at_s, counts={END: one}) for at_s, one in looks)
    (use,) = census.uses((first, busy, last), {(cable, cable.upper): probes})
    return use.dropped_share, use.dropped_small_share, use.dropped_large_share


def test_a_queue_that_is_always_full_throws_away_half_as_many_small_packets_at_most() -> None:
    """3 x 45 Mbit/s to a port of 100: probes lost 3.7 % of small and 69.5 % of full packets."""
    share, small, large = shares(sent=7945, dropped=3719, probes=1200)
    assert share == pytest.approx(3719 / 11664)
    assert small == pytest.approx(share / 2)
    assert large == pytest.approx(1.0)
    assert small > 0.037
    assert large > 0.695


def test_a_queue_that_is_full_for_short_times_may_throw_away_probes_alone() -> None:
    """4 x 45 Mbit/s in bursts: it threw away 275 of 10,185, probes lost 1.5 and 35.5 % on it."""
    share, small, large = shares(sent=9910, dropped=275, probes=1200)
    assert share == pytest.approx(275 / 10185)
    assert small == pytest.approx(0.5 * 275 / 1200)
    assert large == pytest.approx(275 / 600)


def test_a_queue_that_throws_nothing_away_explains_no_loss() -> None:
    assert shares(sent=9910, dropped=0, probes=1200) == (0.0, 0.0, 0.0)


def test_a_queue_that_was_replaced_meanwhile_tells_nothing() -> None:
    (cable,) = PLANT.cables
    census = QueueCensus(plant=PLANT, ports={END: (cable, cable.upper)})
    before, after = (QueueLook(at_s=0.0, counts={END: counted(n, 0)}) for n in (9, 1))
    assert list(census.uses((before, after, after), {})) == []
