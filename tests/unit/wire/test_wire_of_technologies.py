"""What a technology's numbers amount to on the wire: bytes, latency, loss."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.fabric.wire import recovery
from netloom.fabric.wire.framing import wire_bytes
from netloom.fabric.wire.latency import budget, one_way_s, why
from netloom.parts.parts import LatencyBudget, Technology
from netloom.provenance import Source

# Component times in us, in the order of LatencyBudget: typical deployed stacks, three switches.
_TCP_US = (1.5, 7, 0.9, 1.0, 0.8, 1.2, 12, 8, 12)
_ROCE_US = (0.15, 0, 0.7, 0.45, 0.65, 0.9, 0, 0, 0.2)
_IB_US = (0.15, 0, 0.5, 0.25, 0.13, 0.4, 0, 0, 0.1)


def technology(transport: str, times_us: tuple[float, ...], **changes: Any) -> Technology:
    names = [name for name, field in LatencyBudget.model_fields.items() if field.is_required()]
    times = dict(zip(names, (f"{t}us" for t in times_us), strict=True))
    fields: dict[str, Any] = {
        "name": transport,
        "family": transport,
        "protocol": "infiniband" if transport == "ib-rc" else "ethernet",
        "transport": transport,
        "rate_bps": "400Gbps",
        "nic": "nic",
        "switch": "switch",
        "flow_control": "none",
        "congestion_control": "none",
        "recovery": "go-back-n",
        "load_balancing": "ecmp",
        "path_efficiency": "90%",
        "flows_per_rank": 1,
        "payload_bytes": "4096B",
        "header_bytes": "82B",
        "loss": "0%",
        "latency": LatencyBudget.model_validate(times),
        "status": "shipping",
        "sources": {"*": Source(citation="typical deployed stacks", confidence="derived")},
    }
    return Technology.model_validate(fields | changes)


TCP = technology(
    "tcp",
    _TCP_US,
    payload_bytes="8948B",
    header_bytes="90B",
    recovery="selective-repeat",
    host_rate_bps="100Gbps",
)
ROCE = technology("rocev2-rc", _ROCE_US)
IB = technology("ib-rc", _IB_US, header_bytes="26B")
UET = technology("uet", _ROCE_US, header_bytes="122B", recovery="selective-repeat")


# --- bytes -------------------------------------------------------------------------------------


def test_a_write_carries_its_address_in_the_first_packet_only() -> None:
    # Two full packets and one byte, padded to a word: 2 (4096 + 82) + (4 + 82) + RETH 16.
    assert wire_bytes(8193, ROCE) == 2 * 4178 + 86 + 16


def test_a_message_of_one_packet_is_first_and_last() -> None:
    assert wire_bytes(4096, IB) == 4096 + 26 + 16
    assert wire_bytes(0, ROCE) == 82 + 16


def test_a_short_ethernet_frame_is_padded_to_64_bytes_and_its_gap() -> None:
    tiny = technology("uet", _ROCE_US, header_bytes="60B")
    assert wire_bytes(1, tiny) == 84


def test_infiniband_has_no_minimum_frame() -> None:
    assert wire_bytes(0, IB) == 26 + 16


@given(st.integers(1, 10**9))
def test_no_message_beats_the_efficiency_of_full_packets(message: int) -> None:
    for part in (ROCE, IB, TCP, UET):
        full = 1 + part.header_bytes / part.payload_bytes
        assert wire_bytes(message, part) >= message * full * (1 - 1e-12)


# --- latency -----------------------------------------------------------------------------------


def seconds(part: Technology, *, num_hops: int = 3, message_bytes: float = 256) -> float:
    return one_way_s(
        part, num_hops=num_hops, cable_m=60, message_bytes=message_bytes, rate_bps=400e9
    )


@pytest.mark.parametrize(
    ("part", "expected_us"),
    [
        # Host 1.5 + 7 + 0.9 + 1 + 1.2 + 12 + 8 + 12 = 43.6; 3 x 0.8; 60 m x 5 ns = 0.3;
        # 4 links x (256 + 90) B x 8 / 400G = 0.0277.
        (TCP, 43.6 + 2.4 + 0.3 + 0.02768),
        # 0.15 + 0.7 + 0.45 + 0.9 + 0.2 = 2.4; 3 x 0.65; 0.3; 4 x (256 + 82 + 16) B.
        (ROCE, 2.4 + 1.95 + 0.3 + 0.02832),
        # 0.15 + 0.5 + 0.25 + 0.4 + 0.1 = 1.4; 3 x 0.13; 0.3; cut through: once (256 + 26 + 16) B.
        (IB, 1.4 + 0.39 + 0.3 + 0.00596),
    ],
    ids=["tcp", "rocev2", "infiniband"],
)
def test_a_small_message_over_three_switches(part: Technology, expected_us: float) -> None:
    assert seconds(part) * 1e6 == pytest.approx(expected_us, rel=1e-9)


def test_the_order_of_the_technologies_is_fifty_to_five_to_two() -> None:
    rounded = [float(f"{seconds(part) * 1e6:.1g}") for part in (TCP, ROCE, IB)]
    assert rounded == [50, 5, 2]


def test_a_switch_that_stores_repeats_one_packet_and_not_the_message() -> None:
    # 1 MiB is 256 packets of 4178 B and RETH; each of 3 Ethernet switches adds one with RETH.
    serialisation = next(
        part.time_s
        for part in budget(ROCE, num_hops=3, cable_m=0, message_bytes=2**20, rate_bps=400e9)
        if part.name == "serialisation"
    )
    assert serialisation == pytest.approx((256 * 4178 + 16 + 3 * 4194) * 8 / 400e9, rel=1e-12)


def test_the_explanation_adds_up_and_every_leaf_has_a_source() -> None:
    tree = why(ROCE, num_hops=3, cable_m=60, message_bytes=256, rate_bps=400e9)
    assert tree.value == seconds(ROCE)
    assert sum(float(leaf.value) for leaf in tree.parts) == pytest.approx(seconds(ROCE))
    assert all(leaf.source is not None for leaf in tree.parts)


# --- loss --------------------------------------------------------------------------------------


def share(part: Technology, loss: float, *, rtt_s: float = 10e-6, num_links: int = 4) -> float:
    return recovery.efficiency(part, loss=loss, num_links=num_links, rtt_s=rtt_s)


@pytest.mark.parametrize("part", [TCP, ROCE, IB, UET], ids=["tcp", "rocev2", "ib", "uet"])
def test_without_loss_the_whole_line_is_left(part: Technology) -> None:
    assert share(part, 0.0) == 1.0


def test_go_back_n_resends_the_window_behind_every_loss() -> None:
    # 400G x 10 us = 500,000 B in flight = 119.67 packets of 4178 B, and the lost one: W = 120.67.
    # p = 1 - (1 - 1e-3)^4 = 3.994e-3; (1 - p) / (1 - p + p W) = 0.996006 / 1.477955 = 0.6739.
    assert share(ROCE, 1e-3) == pytest.approx(0.6739, abs=1e-4)


def test_selective_repeat_resends_the_lost_packet_alone() -> None:
    assert share(UET, 1e-3) == pytest.approx((1 - 1e-3) ** 4, rel=1e-12)


def test_tcp_is_held_by_its_window_where_loss_is_frequent() -> None:
    # sqrt(3 / (2 x 3.994e-3)) = 19.38 packets of the 55.32 (of 9038 B) that 10 us hold; 1 - p.
    assert share(TCP, 1e-3) == pytest.approx(19.38 / 55.32 * 0.996, rel=1e-3)


def test_cubic_equals_reno_in_a_data_centre_and_beats_it_on_a_long_path() -> None:
    assert recovery.cubic_window_packets(1e-4, rtt_s=50e-6) == recovery.reno_window_packets(1e-4)
    # RFC 9438 table 1: 0.1 s and p = 1e-4 give about 187 packets; Reno about 122 (120 there).
    assert recovery.cubic_window_packets(1e-4, rtt_s=0.1) == pytest.approx(187, abs=1)
    assert recovery.reno_window_packets(1e-4) == pytest.approx(122.5, abs=0.1)


def test_a_cubic_sender_is_recognised_by_its_congestion_control() -> None:
    # p = 4e-5 over 0.1 s: CUBIC 1.054 (0.1 / 4e-5)^(3/4) = 372 packets, Reno sqrt(1.5 / p) = 194.
    cubic = technology("tcp", _TCP_US, congestion_control="CUBIC")
    reno = technology("tcp", _TCP_US, congestion_control="reno")
    assert share(cubic, 1e-5, rtt_s=0.1) > 1.9 * share(reno, 1e-5, rtt_s=0.1)


def test_flows_share_the_burden_of_loss() -> None:
    many = technology("tcp", _TCP_US, flows_per_rank=2)
    one = technology("tcp", _TCP_US)
    assert share(many, 1e-3) == pytest.approx(2 * share(one, 1e-3))


@given(st.floats(0, 0.5), st.floats(0, 0.5), st.floats(1e-7, 1e-1))
def test_more_loss_never_leaves_more(first: float, second: float, rtt_s: float) -> None:
    low, high = sorted((first, second))
    for part in (TCP, ROCE, IB, UET):
        less, more = share(part, high, rtt_s=rtt_s), share(part, low, rtt_s=rtt_s)
        assert 0 < less <= more * (1 + 1e-12) <= 1 + 1e-12


def test_the_host_limits_what_a_line_is_fed() -> None:
    assert recovery.rate_limit_bps(TCP, rate_bps=400e9) == 100e9
    assert recovery.rate_limit_bps(TCP, rate_bps=25e9) == 25e9
    assert recovery.rate_limit_bps(ROCE, rate_bps=400e9) == 400e9


def test_nccl_waits_over_four_seconds_for_a_lost_last_packet() -> None:
    assert recovery.timeout_s(ROCE) == pytest.approx(4.29, abs=0.005)  # 4.096 us x 2^20
    assert recovery.timeout_s(UET) == 100e-6


def test_a_message_is_lost_in_part_with_the_chance_of_any_packet_on_any_link() -> None:
    # 1 MiB = 256 packets over 4 links: 1,024 chances.
    lost = recovery.message_loss(2**20, ROCE, loss=1e-6, num_links=4)
    assert lost == pytest.approx(1 - (1 - 1e-6) ** 1024, rel=1e-9)


def test_the_slowest_of_many_messages_waits_for_the_timeout_of_any() -> None:
    # p = 4e-9 a packet; 10,000 messages of one packet: 4e-5 of a timeout of 4.29 s = 172 us.
    added = recovery.added_s(4096, ROCE, loss=1e-9, num_links=4, rtt_s=10e-6, num_messages=10_000)
    assert added == pytest.approx(4e-5 * 4.2949673, rel=1e-4)


@given(st.floats(1, 1e6), st.floats(1, 1e6))
def test_the_tail_grows_with_the_group(first: float, second: float) -> None:
    small, large = (
        recovery.added_s(2**20, IB, loss=1e-10, num_links=6, rtt_s=4e-6, num_messages=count)
        for count in sorted((first, second))
    )
    assert small <= large * (1 + 1e-12) <= recovery.timeout_s(IB) + 4e-6
    assert math.isfinite(large)
