"""What devices say is hostile: a parser gives finite numbers or a NetloomError, and quickly."""

from __future__ import annotations

import math
import struct
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from netloom.errors import LabError, NetloomError
from netloom.formats.eos import eapi
from netloom.formats.linux import adapters
from netloom.formats.nvue import state as nvue
from netloom.formats.prometheus import exporters
from netloom.formats.prometheus.exposition import Exposition, Sample
from netloom.formats.sflow import datagram
from netloom.formats.snmp import walk
from netloom.formats.sonic.databases import SonicTables, report_of
from netloom.formats.sonic.redis_protocol import command, pairs_of, read_reply
from netloom.ops.observe.devices import DeviceReport
from netloom.ops.observe.metrics import BY_NAME

WORDS = st.text(max_size=30) | st.sampled_from(["N/A", "1e999", "-1", "0x10", "1_0", "inf", "up"])


def check(report: DeviceReport) -> None:
    """Every number is finite and has a name that netloom knows."""
    assert all(math.isfinite(one.value) for one in report.values)
    assert {one.metric for one in report.values} <= set(BY_NAME)


class Bytes:
    """A source of replies that ends."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def line(self) -> bytes:
        line, end, self.data = self.data.partition(b"\r\n")
        if not end:
            msg = "ended"
            raise LabError(msg)
        return line

    def exactly(self, num_bytes: int) -> bytes:
        if len(self.data) < num_bytes + 2:
            msg = "ended"
            raise LabError(msg)
        taken, self.data = self.data[:num_bytes], self.data[num_bytes + 2 :]
        return taken


PIECES = st.sampled_from(
    [b"*2\r\n", b"$3\r\nabc\r\n", b":7\r\n", b"$-1\r\n", b"+OK\r\n", b"*-1\r\n"]
)
HOSTILE = st.binary(max_size=60) | st.sampled_from(
    [b"*999999999\r\n", b"$99999999999999999999\r\n"]
)


@given(st.lists(PIECES | HOSTILE, max_size=20).map(b"".join))
def test_redis_replies(data: bytes) -> None:
    with suppress(NetloomError):
        pairs_of(read_reply(Bytes(data)))


def test_replies_within_replies_end() -> None:
    with suppress(NetloomError):
        read_reply(Bytes(b"*1\r\n" * 100_000))


@given(st.lists(st.text(max_size=20), max_size=5))
def test_a_command_is_read_back_as_it_was(words: list[str]) -> None:
    assert read_reply(Bytes(command(*words))) == [word.encode() for word in words]


FIELDS = st.sampled_from(
    [
        *("oper_status", "admin_status", "mtu", "speed", "alias", "state", "FEC_PRE_BER"),
        *("SAI_PORT_STAT_IF_IN_OCTETS", "SAI_PORT_STAT_IF_IN_UCAST_PKTS", "temperature"),
        *("SAI_PORT_STAT_PFC_3_RX_PKTS", "SAI_QUEUE_STAT_PACKETS", "rx1power", "tx8bias"),
        *("lldp_rem_sys_name", "lldp_rem_port_id", "lldp_rem_port_id_subtype"),
    ]
)
ROWS = st.dictionaries(
    st.text(max_size=12) | st.sampled_from(["Ethernet0", "Ethernet0:3", "10.0.0.1"]),
    st.dictionaries(FIELDS | st.text(max_size=8), WORDS, max_size=6),
    max_size=3,
)


@given(ROWS, ROWS, st.tuples(WORDS, WORDS | st.just("10.0.0.0/31")))
def test_sonic_tables(
    one: dict[str, dict[str, str]], other: dict[str, dict[str, str]], address: tuple[str, str]
) -> None:
    check(
        report_of(
            SonicTables(
                configured=one,
                applied=other,
                state=one,
                counters=other,
                rates=one,
                queues=other,
                optics=one,
                neighbours=other,
                sessions=one,
                addresses=(address,),
            )
        )
    )


OIDS = st.sampled_from(
    [
        *(f"{walk.IF}.{n}.1" for n in (4, 7, 8, 14)),
        *(f"{walk.IF_X}.{n}.1" for n in (1, 6, 7, 15)),
        *(f"{walk.LLDP_LOCAL}.{n}.2" for n in (2, 3, 4)),
        *(f"{walk.LLDP_REMOTE}.{n}.0.2.1" for n in (6, 7, 8, 9)),
        *(f"{walk.SENSOR}.{n}.1" for n in (1, 2, 3, 4, 5)),
        *(f"{walk.PHYSICAL}.{n}.1" for n in (2, 4)),
        f"{walk.ALIAS}.2.1.0",
    ]
)
READINGS = st.sampled_from([f"{walk.IF}.1.1", "9", "14", "6", "-40", "Rx Power Lane 1", "1"])
LINES = st.tuples(OIDS, WORDS | READINGS).map(" = ".join) | st.text(max_size=60)


@given(st.lists(LINES, max_size=20).map("\n".join))
def test_snmp_walks(text: str) -> None:
    check(walk.report_of(walk.parse_walk(text)))


NAMES = st.sampled_from(
    [
        *("node_network_up", "node_network_speed_bytes", "node_infiniband_state_id"),
        *("node_infiniband_link_downed_total", "node_ethtool_received_prio3_pause"),
        *("node_ethtool_transmitted_discards_phy", "DCGM_FI_DEV_XID_ERRORS"),
    ]
)
SAMPLES = st.builds(
    Sample,
    name=NAMES | st.text(max_size=10),
    labels=st.dictionaries(st.sampled_from(["device", "port", "gpu"]), st.text(max_size=9)),
    value=st.floats(),
)


@given(st.lists(SAMPLES, max_size=10))
def test_exporters(samples: list[Sample]) -> None:
    check(exporters.report_of(Exposition(samples=tuple(samples), num_odd=0)))


MARKED = st.sampled_from(
    [
        *(f"{adapters.MARK} {kind} eth2" for kind in ("state", "stats", "module", "mlxlink")),
        *("up", "400000", "     rx_prio3_pause: 5", "\tModule voltage : 3.2800 V", "{", "}"),
        '{"result": {"output": {"Module Info": {"Temperature [C]": "45 [1..2]"}}}}',
        '{"result": {"output": {"Physical Counters and BER Info": {"Raw Physical BER": "1E-9"}}}}',
    ]
)


@given(st.lists(MARKED | st.text(max_size=60), max_size=20).map("\n".join))
def test_adapters(text: str) -> None:
    check(adapters.ethtool_report(text))
    check(adapters.mlxlink_report(text))


KEYS = st.sampled_from(
    [
        *("interfaces", "Ethernet1/1", "lineProtocolStatus", "interfaceCounters", "inOctets"),
        *("inUcastPkts", "interfaceAddress", "primaryIp", "address", "maskLen", "lldpNeighbors"),
        *("port", "neighborDevice", "neighborPort", "vrfs", "default", "peers", "peerState"),
        *("bandwidth", "mtu", "rxPower", "error", "message", "result"),
        *("link", "state", "up", "speed", "stats", "in-bytes", "lldp", "neighbor", "chassis"),
        *("counters", "qos", "pfc-stats", "3", "rx-pause-frames", "channel", "channel-1"),
        *("rx-power", "power", "parameters", "channels", "-", "swp1", "ip"),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=15,
)


@given(st.lists(JSON, max_size=5), JSON)
def test_eapi(rows: list[object], answer: object) -> None:
    names = (*eapi.COMMANDS, *eapi.OPTIONAL)[: len(rows)]
    check(eapi.report_of(eapi.answers_of({"result": rows}, names)))
    with suppress(NetloomError):
        eapi.answers_of(answer, names)


SFLOW = struct.pack(">II4sIIII", 5, 1, b"\x0a\0\0\1", 0, 1, 9, 1)
PARTS = st.binary(max_size=80) | st.integers(0, 12).map(lambda n: struct.pack(">I", n))


@given(st.lists(PARTS, max_size=12).map(b"".join), st.booleans())
def test_sflow(data: bytes, has_head: bool) -> None:  # noqa: FBT001
    with suppress(NetloomError):
        found = datagram.parse_datagram(SFLOW + data if has_head else data)
        check(DeviceReport(values=found.values))


@given(
    JSON | st.dictionaries(KEYS, st.dictionaries(KEYS, JSON), max_size=3),
    JSON | st.dictionaries(KEYS, st.dictionaries(KEYS, JSON), max_size=3),
    JSON,
)
def test_nvue(answer: object, optics: object, sessions: object) -> None:
    check(nvue.report_of(answer, optics, sessions))
