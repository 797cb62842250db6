"""Service levels, virtual lanes and the two tables that say whose turn it is."""

from __future__ import annotations

import pytest
from wires import star, transfers

from netloom.engines.packet import Credits, PacketSettings, Transport, VirtualLanes, run_packets
from netloom.errors import SpecError

SIZE = 4_000_000
# Two senders, one receiver; service levels 0 and 1. Acknowledgements take the same lanes.
WORK = transfers([(0, 2), (1, 2)], SIZE, priority=[0, 1])


def finish_us(lanes: VirtualLanes | None) -> list[float]:
    settings = PacketSettings(
        flow_control="credits",
        credits=Credits(),
        lanes=lanes,
        transport=Transport(ack_on_data_lane=True),
    )
    delivery = run_packets(star(3), WORK, settings)
    assert delivery.counters["drops"] == 0
    return [float(finish) * 1e-6 for finish in delivery.finish_ps]


# 4 MB are 977 packets of 4178 bytes on the wire, 326 us at 100 Gb/s; both together take 653 us.
def test_equal_weights_end_together() -> None:
    first, second = finish_us(VirtualLanes(low=((0, 64), (1, 64))))
    assert first == pytest.approx(second, rel=0.02)
    assert second == pytest.approx(657, rel=0.02)


def test_weights_share_the_link_by_bytes() -> None:
    # Turns of 195 x 64 = 12,480 bytes against 4,160: three packets to one. The heavy lane ends
    # when the light one has sent a third: 4/3 of 326 us.
    heavy, light = finish_us(VirtualLanes(low=((0, 195), (1, 65))))
    assert heavy == pytest.approx(326.5 * 4 / 3, rel=0.03)
    assert light == pytest.approx(657, rel=0.02)


def test_high_priority_without_limit_goes_first() -> None:
    low, high = finish_us(VirtualLanes(high=((1, 64),), low=((0, 64),), high_limit=255))
    assert high == pytest.approx(330, rel=0.03)
    assert low == pytest.approx(657, rel=0.02)


def test_the_limit_lets_a_low_packet_through_after_each_high_one() -> None:
    low, high = finish_us(VirtualLanes(high=((1, 64),), low=((0, 64),), high_limit=0))
    assert low == pytest.approx(high, rel=0.02)


def test_the_limit_counts_in_4096_bytes() -> None:
    # 3 x 4096 bytes are three packets and the last one whole: 3 high to 1 low.
    low, high = finish_us(VirtualLanes(high=((1, 255),), low=((0, 64),), high_limit=3))
    assert high == pytest.approx(326.5 * 4 / 3, rel=0.03)
    assert low == pytest.approx(657, rel=0.02)


def test_service_levels_on_one_lane_share_its_queue() -> None:
    first, second = finish_us(VirtualLanes(lane_of={1: 0}, low=((0, 64),)))
    assert first == pytest.approx(second, rel=0.02)


@pytest.mark.parametrize(
    ("lanes", "message"),
    [
        (lambda: VirtualLanes(low=((0, 64), (1, 0))), "virtual lane 1 is in use .* no weight"),
        (lambda: VirtualLanes(low=((0, 256),)), r"lanes\.low: 256 is no weight; use 0 to 255"),
        (lambda: VirtualLanes(high=((15, 1),)), r"lanes\.high: 15 is no virtual lane"),
        (lambda: VirtualLanes(lane_of={8: 0}), r"lanes\.lane_of: 8 is no service level"),
        (lambda: VirtualLanes(low=((0, 1),) * 65), "65 entries; a table has 64 at most"),
        (lambda: VirtualLanes(high_limit=256), "256 is no limit"),
    ],
)
def test_tables_that_no_port_takes_are_refused(lanes: object, message: str) -> None:
    assert callable(lanes)
    with pytest.raises(SpecError, match=message):
        finish_us(lanes())


def test_pauses_have_no_virtual_lanes() -> None:
    with pytest.raises(SpecError, match="lanes: pfc has no virtual lanes"):
        PacketSettings(flow_control="pfc", lanes=VirtualLanes())
