from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.errors import CatalogError, InfeasibleError, SpecError
from netloom.fabric.wire import headroom
from netloom.fabric.wire.headroom import PLATFORMS, LosslessTraffic, Platform, sonic
from netloom.parts.parts import PortMode, Switch

RATES = st.sampled_from([10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9, 800e9])


def switch(**changes: object) -> Switch:
    fields: dict[str, object] = {
        "name": "box",
        "vendor": "v",
        "asic": "a",
        "protocol": "ethernet",
        "modes": (PortMode(count=64, rate_bps="800Gbps"), PortMode(count=128, rate_bps="400Gbps")),  # type: ignore[arg-type]
        "buffer_bytes": "160MB",
    }
    return Switch.model_validate(fields | changes)


def test_the_peer_may_go_on_for_its_quanta() -> None:
    assert headroom.peer_response_bytes(100e9) == 394 * 64
    assert headroom.peer_response_bytes(400e9) == 57_920


def test_a_rate_without_a_known_response_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SpecError, match=r"1\.6Tbps.*use one of 10G.*800G"):
        headroom.peer_response_bytes(1.6e12)


def test_a_pause_lasts_65535_quanta_at_most() -> None:
    assert headroom.max_pause_s(100e9) == pytest.approx(335.5e-6, rel=1e-3)
    assert headroom.max_pause_s(400e9) == pytest.approx(83.9e-6, rel=1e-3)


def test_sonic_rounds_each_threshold_up_to_whole_kibibytes() -> None:
    # 100G, 5 m, Spectrum-2: cable 2 x 5 x 1e5 x 1e9 / 1.98e8 / 8192 = 616.52 B;
    # 9100 + 616.52 + 819.2 + 25216 = 35751.72, x 144/64 = 80441.37, + 1024 = 81465.37 B
    # = 79.56 KiB -> 80 KiB. Pipeline 19 KiB.
    got = sonic(PLATFORMS["spectrum-2"], rate_bps=100e9, length_m=5)
    assert (got.xoff_bytes, got.xon_bytes) == (80 * 1024, 19 * 1024)
    assert got.size_bytes == 99 * 1024
    assert got.pooled_size_bytes == 19 * 1024


def test_sonic_gives_eight_lane_ports_more_pipeline_and_a_frame() -> None:
    # Pipeline 2 x 19 - 1 = 37 KiB. 800G, 40 m, Spectrum-4 (192 B cells, factor 3):
    # cable 2 x 40 x 8e5 x 1e9 / 1.98e8 / 8192 = 39457.07 B;
    # 9100 + 39457.07 + 819.2 + 57920 = 107296.27, x 3 + 1024 = 322912.8 B -> 316 KiB.
    # 316 + 37 KiB + 9100 B = 361.89 KiB -> 362 KiB.
    got = sonic(PLATFORMS["spectrum-4"], rate_bps=800e9, length_m=40, num_lanes=8)
    assert got.xoff_bytes == 316 * 1024
    assert got.xon_bytes == 37 * 1024
    assert got.size_bytes == 362 * 1024


def test_small_cells_waste_at_most_twice_the_packet() -> None:
    # 96 B cells: 2 x 96 / 97 = 1.97938. 9100 + 616.52 + 819.2 + 25216 = 35751.72 -> 70766.3,
    # + 1024 = 71790.3 B = 70.1 KiB -> 71 KiB.
    assert sonic(PLATFORMS["spectrum"], rate_bps=100e9, length_m=5).xoff_bytes == 71 * 1024


def test_large_packets_waste_no_cells() -> None:
    # 35751.72 + 1024 = 36775.72 B = 35.9 KiB -> 36 KiB.
    large = LosslessTraffic(small_packet_pct=0)
    got = sonic(PLATFORMS["spectrum-2"], rate_bps=100e9, length_m=5, traffic=large)
    assert got.xoff_bytes == 36 * 1024


def test_a_gearbox_counts_on_the_way_out_and_back() -> None:
    # 100 ns at 100G: 1e5 x 100 / 8192 = 1220.7 B, twice, x 2.25 = 5493.2 B more:
    # 81465.37 + 5493.16 = 86958.5 B = 84.92 KiB -> 85 KiB.
    with_gearbox = Platform(
        cell_bytes=144, pipeline_bytes=19 * 1024, mac_phy_bytes=0.8 * 1024, gearbox_delay_ns=100
    )
    assert sonic(with_gearbox, rate_bps=100e9, length_m=5).xoff_bytes == 85 * 1024


@given(RATES, st.floats(0, 2e6), st.floats(0, 2e6))
def test_a_longer_cable_never_needs_less(rate_bps: float, first: float, second: float) -> None:
    short, long = sorted((first, second))
    platform = PLATFORMS["spectrum-4"]
    less = sonic(platform, rate_bps=rate_bps, length_m=short)
    more = sonic(platform, rate_bps=rate_bps, length_m=long)
    assert less.xoff_bytes <= more.xoff_bytes
    assert more.size_bytes % 1024 == more.xoff_bytes % 1024 == 0


@given(RATES, st.floats(1, 1e6))
def test_the_longest_cable_is_the_one_whose_headroom_is_there(
    rate_bps: float, length_m: float
) -> None:
    needed = headroom.textbook_bytes(rate_bps=rate_bps, length_m=length_m)
    reached = headroom.longest_cable_m(rate_bps=rate_bps, available_bytes=needed)
    assert reached == pytest.approx(length_m, rel=1e-6)
    assert headroom.longest_cable_m(rate_bps=rate_bps, available_bytes=0) == 0


def test_headroom_is_reserved_for_every_port_and_priority() -> None:
    # 64 ports x 2 priorities x 0.4 MB = 51.2 MB of 160 MB.
    fit = headroom.fits(0.4e6, switch(), rate_bps=800e9, num_priorities=2)
    assert fit.num_reservations == 128
    assert fit.fits
    assert fit.share == pytest.approx(0.32)


def test_a_hundred_kilometres_do_not_fit_a_shallow_switch() -> None:
    # 50 MB for each of 128 ports is 6.4 GB; the switch has 160 MB.
    far = headroom.textbook_bytes(rate_bps=400e9, length_m=100e3)
    fit = headroom.fits(far, switch(), rate_bps=400e9)
    assert not fit.fits
    assert fit.needed_bytes == pytest.approx(6.4e9, rel=0.01)


def test_an_unknown_buffer_and_an_impossible_rate_say_what_to_do() -> None:
    with pytest.raises(CatalogError, match="buffer is not known; add"):
        headroom.fits(1e5, switch(buffer_bytes=None), rate_bps=800e9)
    with pytest.raises(
        InfeasibleError, match="no ports of 200Gbps; choose one of 800Gbps, 400Gbps"
    ):
        headroom.fits(1e5, switch(), rate_bps=200e9)


def test_the_dynamic_threshold_settles_where_queues_and_free_space_balance() -> None:
    # alpha 1/8 of 32 MB, 4 queues: 4 / (1 + 0.5) = 2.667 MB each; free 21.33 MB, and 1/8 of it.
    at = headroom.thresholds(shared_bytes=32e6, alpha=1 / 8, num_congested=4)
    assert at.xoff_at_bytes == pytest.approx(32e6 / 12)
    assert at.xoff_at_bytes == pytest.approx((32e6 - 4 * at.xoff_at_bytes) / 8)
    assert at.xoff_at_bytes - at.xon_at_bytes == 3072
