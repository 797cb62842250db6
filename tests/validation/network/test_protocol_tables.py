"""Framing, credits, headroom and hashing against reference tables computed apart from netloom."""

from __future__ import annotations

import pytest

from netloom.fabric.contention import (
    busy_share,
    expected_max_load,
    no_collision_probability,
)
from netloom.fabric.wire.credits import reach_m, usable_rate_bps
from netloom.fabric.wire.framing import efficiency, overhead_bytes
from netloom.fabric.wire.headroom import PLATFORMS, sonic, textbook_bytes

pytestmark = pytest.mark.validation


@pytest.mark.parametrize(
    ("overhead", "payload", "expected_pct"),
    [
        (overhead_bytes("rocev2-rc"), 4096, 98.04),
        (overhead_bytes("rocev2-rc", ip_version=6), 4096, 97.57),
        (overhead_bytes("rocev1-rc"), 4096, 97.76),
        (overhead_bytes("ib-rc"), 4096, 99.37),
        (overhead_bytes("ib-rc", routed=True), 4096, 98.41),
        (overhead_bytes("uet"), 4096, 97.11),
        (overhead_bytes("tcp"), 1448, 94.15),
        (overhead_bytes("tcp"), 8948, 99.00),
        (overhead_bytes("rocev2-rc"), 1024, 92.59),
        (overhead_bytes("ib-rc"), 1024, 97.52),
    ],
)
def test_efficiency_on_the_wire(overhead: int, payload: int, expected_pct: float) -> None:
    """Sizes: Linux include/rdma/ib_pack.h @0b11904; IEEE 802.3 preamble and gap."""
    assert 100 * efficiency(payload, overhead) == pytest.approx(expected_pct, abs=0.01)


@pytest.mark.parametrize(
    ("rate_gbps", "expected_m"), [(100, 1049), (200, 524), (400, 262), (800, 131)]
)
def test_reach_of_infiniband_credits(rate_gbps: float, expected_m: float) -> None:
    """2048 blocks of 64 B over a round trip of 10 ns/m."""
    assert round(reach_m(rate_gbps * 1e9)) == expected_m


def test_infiniband_over_a_kilometre() -> None:
    # 128 KiB x 8 / 10 us = 104.9 Gb/s.
    assert usable_rate_bps(400e9, length_m=1000) == pytest.approx(104.9e9, rel=1e-3)


_LENGTHS_M = (5, 100, 300, 10e3, 100e3, 1500e3)
# Bytes, and half a unit of the last digit given: 9216 B frames on both sides.
_TEXTBOOK = {
    100: ((44e3, 56e3, 81e3, 1.29e6, 12.5e6, 188e6), (500, 500, 500, 5e3, 5e4, 5e5)),
    400: ((79e3, 126e3, 226e3, 5.1e6, 50e6, 750e6), (500, 500, 500, 5e4, 5e5, 5e5)),
    800: ((81e3, 176e3, 376e3, 10.1e6, 100e6, 1.50e9), (500, 500, 500, 5e4, 5e5, 5e6)),
}
# The same by SONiC's formula with 144 B cells and small packets only.
_SONIC = {
    100: ((83e3, 110e3, 167e3, 2.9e6, 28.5e6, 426e6), (500, 500, 500, 5e4, 5e4, 5e5)),
    400: ((161e3, 269e3, 496e3, 11.5e6, 114e6, 1.70e9), (500, 500, 500, 5e4, 5e5, 5e6)),
    800: ((167e3, 383e3, 837e3, 22.9e6, 227e6, 3.41e9), (500, 500, 500, 5e4, 5e5, 5e6)),
}


@pytest.mark.parametrize("rate_gbps", [100, 400, 800])
def test_textbook_headroom_by_rate_and_length(rate_gbps: int) -> None:
    for length_m, expected, half_unit in zip(_LENGTHS_M, *_TEXTBOOK[rate_gbps], strict=True):
        got = textbook_bytes(rate_bps=rate_gbps * 1e9, length_m=length_m)
        assert got == pytest.approx(expected, abs=half_unit)


@pytest.mark.parametrize("rate_gbps", [100, 400, 800])
def test_sonic_headroom_by_rate_and_length(rate_gbps: int) -> None:
    """sonic-swss buffer_headroom_mellanox.lua @18913fa and asic_table.j2 @4a9bf64, Spectrum-2.

    The table was computed with the bytes a cable really holds; the file itself divides megabits by
    8 x 1024 and so has 1000/1024 of them. Once these are added, table and file differ by less than
    2 KiB (the assumed MAC delay and lossless MTU) and the digits given; as it stands, the file is
    up to 2.6 % under the table and never above.
    """
    for length_m, expected, half_unit in zip(_LENGTHS_M, *_SONIC[rate_gbps], strict=True):
        rate_bps = rate_gbps * 1e9
        got = sonic(
            PLATFORMS["spectrum-2"], rate_bps=rate_bps, length_m=length_m, port_mtu_bytes=9216
        ).xoff_bytes
        assert 0.974 * expected <= got <= expected
        unit_error = 2.25 * 2 * length_m * rate_bps / 8 / 1.98e8 * (1 - 1000 / 1024)
        assert got + unit_error == pytest.approx(expected, abs=2048 + half_unit)


@pytest.mark.parametrize(
    ("flows", "links", "expected"),
    [
        (4, 4, 2.13),
        (8, 8, 2.61),
        (16, 16, 3.08),
        (32, 32, 3.53),
        (64, 64, 3.96),
        (64, 16, 1.98),
        (256, 16, 1.47),
        (1000, 16, 1.224),
    ],
)
def test_fullest_link_over_the_mean_under_ecmp(flows: int, links: int, expected: float) -> None:
    """Monte Carlo means of equal flows on equal links, two to three digits."""
    assert expected_max_load(flows, links) / (flows / links) == pytest.approx(expected, rel=0.01)


def test_meta_reports_an_imbalance_over_one_fifth() -> None:
    """Gangidi et al., SIGCOMM 2024: more than 1.2 for 1,000 flows on 16 links."""
    assert expected_max_load(1000, 16) / (1000 / 16) > 1.2


def test_as_many_flows_as_links_leave_a_third_of_them_idle() -> None:
    # Busy 65.6 % for 8 on 8, 63.4 % for 128 on 128, 1 - 1/e = 63.2 % in the limit.
    assert busy_share(8, 8) == pytest.approx(0.656, abs=0.001)
    assert busy_share(128, 128) == pytest.approx(0.634, abs=0.001)
    assert no_collision_probability(8, 8) == pytest.approx(0.0024, abs=5e-5)
