"""Read the topology, flow and configuration files of the HPCC simulator on ns-3 as they are.

Formats and rules: alibaba-edu/High-Precision-Congestion-Control, simulation/scratch/third.cc.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.engines.rows import read_rows
from netloom.errors import SpecError
from netloom.fabric.wiring.plain import CableList, wire_up
from netloom.formats.simulators.lines import TextLine, lines_of
from netloom.units import RATE, TIME, parse_quantity
from netloom.workload.transfers import Transfers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = ["Ns3Config", "Ns3Topology", "read_config", "read_flows", "read_topology", "write_fct"]

MAX_NODES: Final = 65_536  # what the address 11.x.y.1 of a node has room for
MAX_PORT: Final = 65_535
FIRST_PORT: Final = 10_000  # each host counts its flows' source ports from here
_ORIGIN_S: Final = 2.0  # flows begin here, and so does the clock of LINK_DOWN
CC_MODES: Final = {1: "dcqcn", 3: "hpcc", 7: "timely", 8: "dctcp", 10: "hpcc-pint"}
_NUMBERS: Final = {
    "ALPHA_RESUME_INTERVAL": "us",
    "RATE_DECREASE_INTERVAL": "us",
    "RP_TIMER": "us",
    "EWMA_GAIN": "",
    "FAST_RECOVERY_TIMES": "",
    "CLAMP_TARGET_RATE": "",
    "RATE_AI": "rate",
    "RATE_HAI": "rate",
    "MIN_RATE": "rate",
    "DCTCP_RATE_AI": "rate",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ns3Topology:
    """A topology file.

    Attributes:
        wiring: Hosts in order of their ids as endpoints, then switches likewise.
        node: The id in the file of each vertex.
        loss: Share of packets lost on each cable, each way, as the file says.
        num_unread: Lines behind the links that line 1 announces; the simulator reads none of them.
    """

    wiring: PacketTopology
    node: NDArray[np.int64]
    loss: NDArray[np.float64]
    num_unread: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ns3Config:
    """What a configuration file says, as far as netloom has it.

    Attributes:
        congestion_control: netloom's name for CC_MODE.
        ecn: For each link rate in bit/s: Kmin and Kmax in bytes, and Pmax.
        buffer_bytes: Of a switch.
        payload_bytes: Of a full packet.
        numbers: Keys of congestion control that the file has, in bit/s, seconds or plain.
        stop_s: When the simulator stops its clock.
        loss: Share of packets that every cable loses, each way, whose own share is 0.
        cut: When a link goes down for good, in seconds, and the two nodes it joins.
        words: Every key of the file with its words.
    """

    congestion_control: str = "dcqcn"
    ecn: Mapping[int, tuple[int, int, float]] = field(default_factory=dict)
    buffer_bytes: int = 16 << 20
    payload_bytes: int = 1000
    has_window: bool = True
    variable_window: bool = False
    target_utilisation: float = 0.95
    max_stage: int = 5
    topology_file: str = ""
    flow_file: str = ""
    stop_s: float | None = None
    loss: float = 0.0
    cut: tuple[float, int, int] | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read_topology(text: str, *, name: str) -> Ns3Topology:
    """Return the topology in *text*; *name* opens the messages.

    ``nodes switches links``, the ids of the switches, then ``one other rate delay loss`` a link.
    What follows that number of links is not read, as in the simulator.

    Raises:
        SpecError: the text is wrong; the message names the line and the remedy.
    """
    lines = lines_of(text, name=name)
    head = _next(lines, name, "the line 'nodes switches links'")
    head.expect(3, "nodes switches links")
    num_nodes = head.whole(head.words[0], "number of nodes", least=1, most=MAX_NODES)
    num_switches = head.whole(head.words[1], "number of switches", most=num_nodes - 1)
    num_links = head.whole(head.words[2], "number of links", least=1, most=10_000_000)
    switches = _switches(lines, name, num_switches, num_nodes)
    is_switch = np.zeros(num_nodes, dtype=np.bool_)
    is_switch[switches] = True
    node = np.concatenate([np.flatnonzero(~is_switch), np.flatnonzero(is_switch)])
    place = np.empty(num_nodes, dtype=np.int64)
    place[node] = np.arange(num_nodes)
    rows = [_cable(line, num_nodes) for line in islice(lines, num_links)]
    if len(rows) < num_links:
        raise SpecError(
            file=name,
            what=f"{len(rows)} links, but line 1 says {num_links}",
            remedy="correct one of them",
        )
    one, other, rate_bps, delay_ps, loss = (np.array(column) for column in zip(*rows, strict=True))
    cables = CableList(
        lower=place[one],
        upper=place[other],
        rate_bps=rate_bps.astype(np.float64),
        delay_ps=delay_ps.astype(np.int64),
        up=np.ones(num_links, dtype=np.bool_),
    )
    num_hosts = num_nodes - num_switches
    names = [f"host:{n}" if at < num_hosts else f"switch:{n}" for at, n in enumerate(node.tolist())]
    wiring = wire_up(
        cables,
        num_endpoints=num_hosts,
        name=tuple(names),
        forward_ps=np.zeros(num_nodes, dtype=np.int64),
    )
    return Ns3Topology(
        wiring=wiring,
        node=node,
        loss=loss.astype(np.float64),
        num_unread=sum(1 for _ in lines),
    )


def _next(lines: Iterator[TextLine], name: str, wanted: str) -> TextLine:
    line = next(lines, None)
    if line is None:
        raise SpecError(file=name, what=f"the file ends before {wanted}", remedy="is it complete?")
    return line


def _switches(
    lines: Iterator[TextLine], name: str, num_switches: int, num_nodes: int
) -> NDArray[np.int64]:
    found: list[int] = []
    while len(found) < num_switches:
        line = _next(lines, name, f"the ids of {num_switches} switches")
        found += [line.whole(word, "switch id", most=num_nodes - 1) for word in line.words]
        if len(found) > num_switches or len(set(found)) < len(found):
            line.refuse(f"not {num_switches} different switch ids; correct line 1 or this one")
    return np.array(found, dtype=np.int64)


def _cable(line: TextLine, num_nodes: int) -> tuple[int, int, float, int, float]:
    line.expect(5, "source target rate delay loss")
    one, other = (line.whole(word, "node id", most=num_nodes - 1) for word in line.words[:2])
    if one == other:
        line.refuse(f"node {one} is joined to itself; name two different nodes")
    rate_bps = _rate_bps(line, line.words[2])
    delay_s = parse_quantity(line.words[3], TIME, where=line.where)
    if rate_bps <= 0 or not 0 <= delay_s <= 1:
        line.refuse(f"{line.words[2]} and {line.words[3]}: a rate above 0, a delay up to 1s")
    loss = _loss((line, line.words[4]))
    return one, other, rate_bps, round(delay_s * 1e12), loss


def read_flows(text: str, topology: Ns3Topology, *, name: str) -> Transfers:
    """Return the flows in *text*: their number, then ``source target pg port bytes start``.

    As in the simulator, each host counts source ports from 10000, flow by flow, ``pg`` is
    the priority, and what follows that number of flows is not read.

    Raises:
        SpecError: the text is wrong.
    """
    head = _next(lines_of(text, name=name), name, "the number of flows")
    head.expect(1, "number of flows")
    count = head.whole(head.words[0], "number of flows", most=100_000_000)
    table = _flow_table(text, topology, name=name, head=head, count=count)
    if len(table) < count:
        raise SpecError(
            file=name,
            what=f"{len(table)} flows, but line 1 says {count}",
            remedy="correct one of them",
        )
    if not count:
        raise SpecError(
            file=name, what="no flows", remedy="add a line 'source target pg port bytes start'"
        )
    source = table[:, 0]
    order = np.argsort(source, kind="stable")
    turn = np.empty(count, dtype=np.int64)
    turn[order] = np.arange(count) - np.searchsorted(source[order], source[order])
    return Transfers(
        source=source.astype(np.int32),
        target=table[:, 1].astype(np.int32),
        size_bytes=np.ascontiguousarray(table[:, 4]),
        start_ps=np.ascontiguousarray(table[:, 5]),
        delay_ps=np.zeros(count, dtype=np.int64),
        source_port=((FIRST_PORT + turn) % 65_536).astype(np.uint16),
        priority=table[:, 2].astype(np.uint8),
        job=np.zeros(count, dtype=np.int32),
        wait_offsets=np.zeros(count + 1, dtype=np.int64),
        waits=np.empty(0, dtype=np.int32),
    )


def _flow_table(
    text: str, topology: Ns3Topology, *, name: str, head: TextLine, count: int
) -> NDArray[np.int64]:
    """Return both ends as endpoints, priority, port, size and start in ps of up to *count* flows.

    Raises:
        SpecError: a line is wrong; the message names the first.
    """
    nodes = topology.node[: topology.wiring.num_endpoints]
    hosts = {int(node): at for at, node in enumerate(nodes)}
    endpoint = np.full(MAX_NODES + 1, -1, dtype=np.int64)
    endpoint[nodes] = np.arange(len(nodes))

    def ends(columns: list[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        source, target = (endpoint[np.minimum(column, MAX_NODES)] for column in columns[:2])
        return source, target

    def wrong(columns: list[NDArray[np.int64]]) -> NDArray[np.bool_]:
        source, target = ends(columns)
        _, _, priority, port, size_bytes, _ = columns
        lost = np.maximum(columns[0], columns[1]) > MAX_NODES
        lost |= (source < 0) | (target < 0) | (source == target)
        return lost | (priority > 7) | (port > MAX_PORT) | (size_bytes < 1)

    def read(number: int, line: str) -> tuple[int, ...] | None:
        words = tuple(line.partition("#")[0].split())
        return _flow(TextLine(where=f"{name}:{number}", words=words), hosts) if words else None

    table = read_rows(
        text,
        "iiiiid",
        separator=" ",
        first_line=int(head.where.rpartition(":")[2]),
        read=read,
        wrong=wrong,
        most=count,
    )
    table[:, 0], table[:, 1] = ends([table[:, 0], table[:, 1]])
    return table


def _flow(line: TextLine, hosts: Mapping[int, int]) -> tuple[int, ...]:
    line.expect(6, "source target pg port bytes start")
    ends = []
    for word in line.words[:2]:
        node = line.whole(word, "host id", most=MAX_NODES)
        if node not in hosts:
            line.refuse(f"node {node} is no host of the topology; name another")
        ends.append(node)
    if ends[0] == ends[1]:
        line.refuse(f"host {line.words[0]} sends to itself; name two different hosts")
    priority = line.whole(line.words[2], "priority group (0 to 7)", most=7)
    port = line.whole(line.words[3], "port", most=MAX_PORT)
    size = line.whole(line.words[4], "number of bytes", least=1)
    start_s = line.number(line.words[5], "start in seconds", most=10_000)
    return *ends, priority, port, size, int((start_s * 10**12).to_integral_value())


def read_config(text: str, *, name: str) -> Ns3Config:
    """Return what the configuration in *text*, ``KEY value ...`` a line, says.

    Raises:
        SpecError: a value is wrong, or CC_MODE is none that netloom has.
    """
    words = {line.words[0]: (line, line.words[1:]) for line in lines_of(text, name=name)}

    def one(key: str) -> tuple[TextLine, str] | None:
        if key not in words:
            return None
        line, values = words[key]
        if len(values) != 1:
            line.refuse(f"{key} takes one value, not {len(values)}")
        return line, values[0]

    def whole(key: str, default: int, *, least: int = 0, most: int = 2**31) -> int:
        given = one(key)
        return default if given is None else given[0].whole(given[1], key, least=least, most=most)

    def real(key: str, default: float) -> float:
        given = one(key)
        return default if given is None else float(given[0].number(given[1], key))

    def path(key: str) -> str:
        given = one(key)
        return "" if given is None else given[1]

    plain = Ns3Config()
    mode = whole("CC_MODE", 1)
    if mode not in CC_MODES:
        known = ", ".join(f"{number} {scheme}" for number, scheme in CC_MODES.items())
        words["CC_MODE"][0].refuse(f"CC_MODE {mode} is not known; there are {known}")
    stop = one("SIMULATOR_STOP_TIME")
    return Ns3Config(
        congestion_control=CC_MODES[mode],
        ecn=_ecn(words),
        buffer_bytes=whole("BUFFER_SIZE", 16, least=1, most=1 << 20) << 20,
        payload_bytes=whole("PACKET_PAYLOAD_SIZE", plain.payload_bytes, least=1, most=65_535),
        has_window=bool(whole("HAS_WIN", 1, most=1)),
        variable_window=bool(whole("VAR_WIN", 0, most=1)),
        target_utilisation=real("U_TARGET", plain.target_utilisation),
        max_stage=whole("MI_THRESH", plain.max_stage, most=255),
        topology_file=path("TOPOLOGY_FILE"),
        flow_file=path("FLOW_FILE"),
        stop_s=None if stop is None else float(stop[0].number(stop[1], "SIMULATOR_STOP_TIME")),
        loss=_loss(one("ERROR_RATE_PER_LINK")),
        cut=_cut(words.get("LINK_DOWN")),
        numbers=_numbers(words),
        words={key: values for key, (_, values) in words.items()},
    )


def _loss(given: tuple[TextLine, str] | None) -> float:
    """Return a share of packets that is lost, as the words after its key say."""
    if given is None:
        return 0.0
    line, word = given
    loss = float(line.number(word, "loss rate", most=1))
    if loss == 1:
        line.refuse("cables that lose every packet are none; lower their loss rate")
    return loss


def _cut(given: tuple[TextLine, tuple[str, ...]] | None) -> tuple[float, int, int] | None:
    """Return what LINK_DOWN says: microseconds after 2 s, and two nodes; 0 is never (third.cc)."""
    if given is None:
        return None
    line, _ = given
    line.expect(4, "LINK_DOWN microseconds node node")
    time_us = line.whole(line.words[1], "time in microseconds", most=10**12)
    one, other = (line.whole(word, "node", most=MAX_NODES - 1) for word in line.words[2:])
    return (_ORIGIN_S + time_us * 1e-6, one, other) if time_us else None


def _rate_bps(line: TextLine, word: str) -> float:
    """Return a rate as ns-3 writes it, ``100Gbps`` or ``100Gb/s``: its data-rate.cc has both."""
    return parse_quantity(word.replace("b/s", "bps"), RATE, where=line.where)


def _numbers(words: Mapping[str, tuple[TextLine, tuple[str, ...]]]) -> dict[str, float]:
    """Return the keys of congestion control; third.cc has intervals in microseconds."""
    found = {}
    for key, unit in _NUMBERS.items():
        if key not in words:
            continue
        line, values = words[key]
        if len(values) != 1:
            line.refuse(f"{key} takes one value, not {len(values)}")
        if unit == "rate":
            found[key] = _rate_bps(line, values[0])
        else:
            most, scale = (10**9, 1e-6) if unit == "us" else (255, 1.0)
            found[key] = float(line.number(values[0], key, most=most)) * scale
    return found


def _ecn(
    words: Mapping[str, tuple[TextLine, tuple[str, ...]]],
) -> dict[int, tuple[int, int, float]]:
    """Return the marking thresholds by link rate; the file's are in 1000 bytes."""
    maps = {key: _map(*words[key]) for key in ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP") if key in words}
    if not maps:
        return {}
    if len(maps) < 3 or len({tuple(sorted(found)) for found in maps.values()}) > 1:
        line = words[next(iter(maps))][0]
        line.refuse("KMIN_MAP, KMAX_MAP and PMAX_MAP go together, for the same rates")
    low, high, most = maps["KMIN_MAP"], maps["KMAX_MAP"], maps["PMAX_MAP"]
    return {rate: (round(low[rate] * 1000), round(high[rate] * 1000), most[rate]) for rate in low}


def _map(line: TextLine, values: tuple[str, ...]) -> dict[int, float]:
    count = line.whole(values[0], "number of entries", most=1000) if values else -1
    if len(values) != 1 + 2 * count:
        line.refuse(f"{line.words[0]} has not the form 'n rate value rate value ...'")
    return {
        line.whole(rate, "rate in bit/s", least=1): float(line.number(value, "value"))
        for rate, value in zip(values[1::2], values[2::2], strict=True)
    }


def write_fct(
    transfers: Transfers,
    node: NDArray[np.int64],
    *,
    start_ps: NDArray[np.int64],
    finish_ps: NDArray[np.int64],
    ideal_ps: NDArray[np.int64],
) -> str:
    """Return the flows that finished, in the columns of the simulator's ``fct.txt``.

    ``source target sport dport bytes start fct ideal``, addresses in hex, times in ns, in order
    of completion.
    """
    done = np.flatnonzero(finish_ps >= 0)
    done = done[np.argsort(finish_ps[done], kind="stable")]
    rows = [
        f"{_address(node[transfers.source[i]])} {_address(node[transfers.target[i]])} "
        f"{transfers.source_port[i]} 100 {transfers.size_bytes[i]} {start_ps[i] // 1000} "
        f"{(finish_ps[i] - start_ps[i]) // 1000} {ideal_ps[i] // 1000}"
        for i in done.tolist()
    ]
    return "".join(row + "\n" for row in rows)


def _address(node: int) -> str:
    number = int(node)
    return f"{0x0B000001 + (number // 256) * 0x10000 + (number % 256) * 0x100:08x}"
