from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.fabric.wire.framing import efficiency, headers, overhead_bytes


def test_a_rocev2_packet_lists_its_headers_in_wire_order() -> None:
    listed = [(header.name, header.size_bytes) for header in headers("rocev2-rc")]
    assert listed == [
        ("Ethernet", 14),
        ("IPv4", 20),
        ("UDP", 8),
        ("BTH", 12),
        ("ICRC", 4),
        ("FCS", 4),
        ("preamble and inter-frame gap", 20),
    ]


def test_the_bytes_on_the_wire_are_those_of_the_packet_formats() -> None:
    gap = 20
    assert overhead_bytes("rocev2-rc") == 62 + gap  # 14 + 20 + 8 + 12 + 4 + 4
    assert overhead_bytes("rocev2-rc", ip_version=6) == 82 + gap
    assert overhead_bytes("rocev1-rc") == 74 + gap  # 14 + 40 + 12 + 4 + 4
    assert overhead_bytes("ib-rc") == 26  # 8 + 12 + 4 + 2; no gap on InfiniBand
    assert overhead_bytes("ib-rc", routed=True) == 66
    assert overhead_bytes("tcp") == 70 + gap  # 14 + 20 + 32 + 4
    assert overhead_bytes("iwarp") == 90 + gap  # TCP and 2 + 14 + 4
    assert overhead_bytes("mrc") == 138 + gap  # 14 + 2 x 40 + 8 + 12 + 16 + 4 + 4
    assert overhead_bytes("uet") == 102 + gap  # 14 + 20 + 8 + 12 + 44 + 4


@pytest.mark.parametrize("transport", ["rocev2-rc", "tcp", "iwarp", "uet"])
def test_version_6_costs_twenty_bytes_more_than_version_4(transport: str) -> None:
    six = overhead_bytes(transport, ip_version=6)  # type: ignore[arg-type]
    assert six - overhead_bytes(transport) == 20  # type: ignore[arg-type]


def test_every_header_says_where_its_size_was_read() -> None:
    everything = [
        header
        for transport in ("ib-rc", "rocev1-rc", "rocev2-rc", "iwarp", "tcp", "uet", "mrc")
        for header in headers(transport)
    ]
    assert all(header.source.citation for header in everything)


@given(st.floats(1, 1e5), st.floats(0, 1e3))
def test_efficiency_is_a_share_that_grows_with_the_payload(payload: float, overhead: float) -> None:
    share = efficiency(payload, overhead)
    assert 0 < share <= 1
    assert efficiency(2 * payload, overhead) >= share
