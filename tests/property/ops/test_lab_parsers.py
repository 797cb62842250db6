"""Device output is hostile: whatever it is, a parser gives a value or a LabError, and quickly."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netloom.errors import LabError
from netloom.formats.frr import state
from netloom.formats.infiniband import diags
from netloom.formats.infiniband import opensm as opensm_format
from netloom.formats.linux import netfilter

if TYPE_CHECKING:
    from collections.abc import Callable

RECORDED = Path(__file__).parents[2] / "data" / "lab"
PARSERS: dict[str, Callable[[str], object]] = {
    "ibnetdiscover_p.txt": diags.parse_ports,
    "ibnetdiscover.txt": diags.parse_topology,
    "iblinkinfo_l.txt": diags.parse_links,
    "perfquery.txt": diags.parse_counters,
    "ibqueryerrors.txt": diags.parse_errors,
    "sminfo.txt": diags.parse_manager,
    "ibroute.txt": diags.parse_forwarding,
    "opensm.log.txt": opensm_format.parse_log,
    "show_ip_route.json": state.parse_routes,
    "ip_route.json": state.parse_fib,
    "show_bgp_summary.json": state.parse_peers,
    "ip_link.json": netfilter.parse_interfaces,
}
TEXTS = {name: (RECORDED / name).read_text(encoding="utf-8")[:3000] for name in PARSERS}


def survives(parse: Callable[[str], object], text: str) -> None:
    with suppress(LabError):
        parse(text)


@pytest.mark.parametrize("name", list(PARSERS))
@given(text=st.text(max_size=300))
@settings(max_examples=50)
def test_any_text_is_survived(name: str, text: str) -> None:
    survives(PARSERS[name], text)


@pytest.mark.parametrize("name", list(PARSERS))
@given(data=st.data())
@settings(max_examples=60)
def test_what_was_really_printed_is_survived_when_cut_and_changed(
    name: str, data: st.DataObject
) -> None:
    text = TEXTS[name]
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    put = data.draw(
        st.text(max_size=6) | st.sampled_from(["9" * 30, "\x00", "null", '"', "{[", "-1"])
    )
    survives(PARSERS[name], text[:start] + put + text[end:])


deep = "[" * 100_000


@pytest.mark.parametrize("name", list(PARSERS))
@pytest.mark.parametrize("text", [deep, '{"a":' * 100_000, "0x" * 50_000, " " * 100_000])
def test_deep_and_long_text_is_survived(name: str, text: str) -> None:
    survives(PARSERS[name], text)
