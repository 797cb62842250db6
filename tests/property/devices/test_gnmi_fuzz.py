"""What a gNMI server says is hostile: leaves that are finite, or a NetloomError."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.errors import NetloomError
from netloom.formats.gnmi.messages import leaves_of, values_of
from netloom.formats.gnmi.openconfig import report_of
from netloom.formats.sonic import gnmi_tables
from netloom.formats.sonic.databases import report_of as sonic_report
from netloom.ops.observe.metrics import BY_NAME

if TYPE_CHECKING:
    from netloom.ops.observe.devices import DeviceReport

pb = pytest.importorskip("pygnmi.spec.v080.gnmi_pb2", reason="needs netloom[gnmi]")

NAMES = st.sampled_from(
    [
        *("interfaces", "interface", "state", "counters", "oper-status", "in-octets", "ethernet"),
        *("subinterfaces", "subinterface", "ipv4", "addresses", "address", "prefix-length"),
        *("lldp", "neighbors", "neighbor", "system-name", "port-id", "components", "component"),
        *("transceiver", "physical-channels", "channel", "input-power", "instant", "temperature"),
        *("qos", "output", "queues", "queue", "transmit-pkts", "port-speed", "openconfig-x:name"),
        *("network-instances", "network-instance", "protocols", "protocol", "bgp"),
    ]
)
WORDS = st.text(max_size=12) | st.sampled_from(
    ["UP", "SPEED_400GB", "1e999", "-1", "0", "10.0.0.1", "ESTABLISHED", "\u0663", "9" * 400]
)
KEYS = st.dictionaries(
    st.sampled_from(["name", "index", "ip", "id", "identifier"]), WORDS, max_size=2
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | WORDS, inner, max_size=4),
    max_leaves=12,
)
VALUES = (
    JSON.map(lambda tree: pb.TypedValue(json_ietf_val=json.dumps(tree).encode()))
    | st.binary(max_size=20).map(lambda data: pb.TypedValue(json_val=data))
    | st.floats(width=32).map(lambda value: pb.TypedValue(float_val=value))
    | st.integers(0, 2**64 - 1).map(lambda value: pb.TypedValue(uint_val=value))
    | WORDS.map(lambda text: pb.TypedValue(string_val=text))
    | st.builds(
        lambda d, p: pb.TypedValue(decimal_val=pb.Decimal64(digits=d, precision=p)),
        st.integers(-(2**63), 2**63 - 1),
        st.integers(0, 2**32 - 1),
    )
    | st.just(pb.TypedValue())
)
WHOLE = [
    (("interfaces", {}), ("interface", {"name": "e1"}), ("state", {}), ("counters", {})),
    (("interfaces", {}), ("interface", {"name": "e1"}), ("ethernet", {}), ("state", {})),
    (("components", {}), ("component", {"name": "x"}), ("transceiver", {}), ("state", {})),
    (
        *(("components", {}), ("component", {"name": "x"}), ("transceiver", {})),
        *(("physical-channels", {}), ("channel", {"index": "0"}), ("state", {})),
    ),
]
PATHS = st.lists(st.tuples(NAMES, KEYS), max_size=6).map(tuple) | st.sampled_from(WHOLE)


def notification(rows: list[tuple[Any, Any]]) -> Any:
    return pb.Notification(
        update=[
            pb.Update(
                path=pb.Path(elem=[pb.PathElem(name=name, key=key) for name, key in path]), val=val
            )
            for path, val in rows
        ]
    )


def check(report: DeviceReport) -> None:
    assert all(math.isfinite(one.value) for one in report.values)
    assert {one.metric for one in report.values} <= set(BY_NAME)


@given(st.lists(st.tuples(PATHS, VALUES), max_size=6).map(notification))
def test_openconfig(said: Any) -> None:
    with suppress(NetloomError):
        check(report_of(dict(leaves_of(said))))


def test_trees_within_trees_end() -> None:
    tree = b'{"a":' * 5000 + b"1" + b"}" * 5000
    with pytest.raises(NetloomError):
        list(leaves_of(notification([((), pb.TypedValue(json_ietf_val=tree))])))


@given(st.dictionaries(st.sampled_from([*gnmi_tables.TABLES]), JSON), VALUES)
def test_databases_of_sonic(answers: dict[str, Any], value: Any) -> None:
    check(sonic_report(gnmi_tables.tables_of(answers)))
    with suppress(NetloomError):
        list(values_of(notification([((), value)])))
