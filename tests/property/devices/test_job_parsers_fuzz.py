"""What jobs and managers say is hostile too: finite numbers of known names, or a NetloomError."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from netloom.errors import NetloomError
from netloom.formats.nccl import ras
from netloom.formats.ufm import resources
from netloom.ops.observe.metrics import BY_NAME

if TYPE_CHECKING:
    from netloom.ops.observe.devices import DeviceReport

RECORDED = Path(__file__).parents[2] / "data" / "watch" / "nccl_ras"
TEXTS = [path.read_text("utf-8") for path in sorted(RECORDED.iterdir())]


def check(report: DeviceReport) -> None:
    assert all(math.isfinite(one.value) for one in report.values)
    assert {one.metric for one in report.values} <= set(BY_NAME)


@given(
    st.sampled_from(TEXTS),
    st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 40), st.text(max_size=8) | st.just("9" * 30)),
        max_size=6,
    ),
)
def test_ras_with_pieces_put_in_and_taken_out(
    text: str, changes: list[tuple[float, int, str]]
) -> None:
    for where, cut, put in changes:
        place = int(where * len(text))
        text = text[:place] + put + text[place + cut :]
    with suppress(NetloomError):
        found = ras.parse_status(text)
        check(ras.report_of(found, found))


@given(st.text(max_size=200).map(lambda text: "Job summary" + text) | st.text(max_size=200))
def test_ras_with_anything(text: str) -> None:
    with suppress(NetloomError):
        check(ras.report_of(ras.parse_status(text)))


WORDS = st.text(max_size=12) | st.sampled_from(
    ["Active", "NDR", "4x", "99x", "a_1", "Switch: a / 1", "Computer IB Port"]
)
KEYS = st.sampled_from(
    [
        *("name", "number", "system_name", "node_description", "description", "logical_state"),
        *("physical_state", "active_speed", "active_width", "peer", "data", "Ports", "a_1"),
        *("statistics", "SymbolErrorCounterExtended", "object_name", "object_path", "severity"),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=20,
)


@given(JSON | st.lists(st.dictionaries(KEYS, JSON, max_size=8)), JSON, JSON)
def test_ufm(ports: Any, alarms: Any, telemetry: Any) -> None:
    check(resources.report_of(ports, alarms, telemetry))
