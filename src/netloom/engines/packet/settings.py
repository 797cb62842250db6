"""Everything the packet simulator can be told about switches, links and endpoints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from netloom.engines.balancing import LOAD_BALANCINGS
from netloom.engines.packet.ecn import Ecn
from netloom.engines.packet.schedule import CellSchedule
from netloom.engines.packet.scheme import SCHEMES
from netloom.errors import SpecError
from netloom.fabric.wire.lossless_ethernet import ALPHA
from netloom.spec.problems import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from netloom.engines.packet.lanes import VirtualLanes
    from netloom.engines.packet.receiver_throttle import ReceiverThrottle
    from netloom.engines.packet.timing import PacketTiming
    from netloom.engines.packet.vertex import VertexSettings

__all__ = [
    "FLOW_CONTROLS",
    "Credits",
    "Ecn",
    "PacketSettings",
    "Pfc",
    "SwitchSettings",
    "Transport",
]

FLOW_CONTROLS: Final = ("pfc", "credits", "lossy", "trimming", "scheduled")
_BY_INPUT: Final = ("pfc", "lossy")
_US: Final = 1_000_000
_MAX_BLOCK: Final = 64  # packets of an erasure code's block, a bit each in the core
_MAX_PACKET_BYTES: Final = 65_535  # a field of 16 bits, in IP as in the core


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchSettings:
    """A switch's buffer, queues and pipeline.

    Attributes:
        buffer_bytes: Shared by all ports, of every switch or of each vertex; 0 for 32 MB at 100
            Gb/s ports and more in proportion (HPCC-ns3 run.py: 16 MB x bw/50).
        alpha: Share of the free buffer that one ingress (PFC) or egress (lossy) queue may take, at
            the rate of the endpoints' ports; faster ports take more in proportion, up to 1
            (HPCC-ns3 third.cc: 1/8, doubled with the rate).
        reserve_bytes: Each ingress link and priority has for itself (HPCC-ns3 switch-mmu: 4 KB).
        queue_bytes: Fixed bound of each egress queue instead of a share, or of each link's; 0 for
            none.
        ingress_bytes: Fixed buffer of each ingress link in place of a shared one; with PFC of each
            of its priorities, headroom included. 0 for none.
        input_turns: Whether a port serves the links that packets came by in turn (virtual output
            queues) rather than first come, first served.
        return_headers: Whether a trimmed packet that does not fit goes back to its sender (NDP).
        weights: Bytes a round that each priority may send (deficit round robin), by priority;
            empty for strict priority, the highest number first.
        cut_through: Whether a packet leaves while its tail still comes in.
        seeds_equal: Whether all switches hash alike, so that choices repeat tier by tier.
        flowlet_gap_ps: Silence after which a flow may change its path (Meta, SIGCOMM 2024: 256 to
            512 us; secondary).
    """

    buffer_bytes: int | tuple[int, ...] = 0
    alpha: float = ALPHA
    reserve_bytes: int = 4096
    queue_bytes: int | tuple[int, ...] = 0
    ingress_bytes: int = 0
    input_turns: bool = False
    return_headers: bool = False
    weights: Mapping[int, int] = field(default_factory=dict)
    cut_through: bool = False
    seeds_equal: bool = False
    flowlet_gap_ps: int = 256 * _US


@dataclass(frozen=True, slots=True, kw_only=True)
class Pfc:
    """Pauses: IEEE 802.1Qbb.

    Attributes:
        headroom_bytes: Behind the threshold of each ingress link and priority, of all alike or
            link by link; -1 for what each cable needs: two frames, the pause frame, the round
            trip, forwarding and the response.
        headroom_products: The same as a multiple of rate times one-way delay (HPCC-ns3: 3); 0 for
            none.
        resume_bytes: Under the threshold before traffic resumes (HPCC-ns3 switch-mmu: 3 KB).
        quanta: Asked for at a time, 512 bit times each.
        response_ps: From a pause frame's arrival to silence.
        watchdog_ps: A queue paused for this long is dropped; 0 for never (SONiC pfcwd: 200 ms).
        restore_ps: For how long the watchdog then ignores pauses (SONiC pfcwd: 200 ms).
    """

    headroom_bytes: int | tuple[int, ...] = -1
    headroom_products: float = 0.0
    resume_bytes: int = 3072
    quanta: int = 65535
    response_ps: int = 0
    watchdog_ps: int = 0
    restore_ps: int = 200_000 * _US


@dataclass(frozen=True, slots=True, kw_only=True)
class Credits:
    """InfiniBand's credits, per link and virtual lane.

    Attributes:
        buffer_bytes: Of each input and lane; at most 128 KiB of it can be advertised at a time.
        update_bytes: Freed room that is worth a flow-control packet.
    """

    buffer_bytes: int = 131_072
    update_bytes: int = 4_160


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport:
    """What endpoints send, acknowledge and repeat.

    Attributes:
        recovery: ``go-back-n`` (RC), ``selective`` (IRN, UET, spray-capable NICs, TCP with SACK) or
            ``pulled`` (NDP, UET's RCCC); or ``coded``, selective repeat of blocks that an erasure
            code cannot restore.
        payload_bytes: Of a full packet.
        header_bytes: In buffers and on the wire.
        gap_bytes: On the wire only: preamble and inter-frame gap.
        least_bytes: A shorter packet is padded (IEEE 802.3: 64).
        ack_every_bytes: Acknowledge once so much has arrived, what is marked, and what the sender
            waits for; 0: every packet.
        ask_every_packets: Acknowledge what the sender asks for alone: every that many packets, what
            it repeats and what it can send no more after; 0: receivers decide.
        asks_per_rtt: Times that it asks in a round trip of the empty way, at least; 0: any number.
        source_ports: Whether connections differ in what switches hash; RoCEv1, which has no UDP
            header, shows them addresses alone.
        ack_on_data_lane: Whether acknowledgements and notifications queue with the data; else they
            go first.
        cnp_first: Whether notifications go first all the same (NICs: 802.1p 6; mlxconfig dumps).
        telemetry: Whether switches write queue and counter into packets (HPCC).
        punish_disorder: Whether a NIC answers disorder with a notification as well, which cuts
            the rate (conweave-ns3 README, on commodity RNICs).
        cnp_interval_ps: Least time between notifications of a flow; 0: none are sent.
        nack_interval_ps: Until the same gap is reported again (HPCC-ns3: 500 us), two round trips
            of the empty way at least; 0: once.
        timeout_ps: Silence after which a sender repeats; 0: never.
        timeout_rtts: The same in round trips of the empty way: the longer of both counts (RFC
            6298, section 2.2: three of the first).
        max_doublings: Of the timeout, one each time that it runs out again (RFC 6298).
        measures_timeout: Whether it is no less than what round trips as measured give (RFC 6298);
            with ``ack_every_bytes``.
        ask_rtts: Empty round trips without an answer after which a sender asks what has come, if it
            may send no more and nothing that is out asks for an answer; with ``ack_every_bytes``
            and a timeout; 0: never.
        probe_rtts: Smoothed round trips of silence after which a packet is sent whose answer tells
            what is missing (RFC 8985: 2); 0: never, nor does time tell what is lost.
        probe_margin_ps: Added to them.
        ack_delay_ps: Added while one packet is out, whose answer a receiver may hold back.
        timeout_low_ps: The same with at most ``timeout_low_packets`` in flight (IRN).
        window_bytes: Most in flight, beside congestion control's own; 0: no limit.
        window_bdp: The same as a multiple of line rate times base round trip; 0: no limit.
        disorder_packets: Later arrivals that mean a loss (``selective``); 0: never.
        code_data: Packets of a block (``coded``).
        code_parity: Packets more of each block; any ``code_data`` of all restore it.
        code_xor: Whether instead each of these is the exclusive or of every ``code_parity``-th
            packet, and restores one of them.
        ring_packets: Numbers tracked between oldest gap and newest packet, a power of two; 0 for
            twice what is in flight on the longest way, and 4,096 at least.
        first_window_bytes: Sent before the first pull; 0: 1.5 times rate times round trip.
        first_window_lapses: Whether the first answer ends it, used up or not (UET's RCCC).
        pull_bytes: Asked for at a time (``pulled``).
        pull_share: Of its port's rate that a receiver asks for.
        restraint: How it asks for less where the network is tapered; none: it does not.
        host_rate_bps: What software can copy through a port, each way; 0: no limit. Transfers that
            stay on scale-up links pass no software.
        send_ps: From a transfer's start to its first bit on the wire; on scale-up links, nothing.
        receive_ps: From its last bit to its arrival in memory; on scale-up links, nothing.
        base_rtt_ps: Told to congestion control instead of each path's own; 0: its own, or with
            ``hpcc-pint`` the longest of all transfers', which switches average over.
    """

    recovery: Literal["go-back-n", "selective", "pulled", "coded"] = "go-back-n"
    payload_bytes: int = 4096
    header_bytes: int = 62
    gap_bytes: int = 20
    least_bytes: int = 64
    ack_bytes: int = 66
    cnp_bytes: int = 78
    trimmed_bytes: int = 64
    ack_every_bytes: int = 0
    ask_every_packets: int = 0
    asks_per_rtt: float = 0.0
    source_ports: bool = True
    ack_on_data_lane: bool = False
    cnp_first: bool = False
    telemetry: bool = False
    punish_disorder: bool = False
    cnp_interval_ps: int = 0
    nack_interval_ps: int = 500 * _US
    timeout_ps: int = 0
    timeout_rtts: float = 3.0
    timeout_low_ps: int = 0
    timeout_low_packets: int = 0
    max_doublings: int = 0
    measures_timeout: bool = False
    ask_rtts: float = 0.0
    probe_rtts: float = 0.0
    probe_margin_ps: int = 0
    ack_delay_ps: int = 0
    window_bytes: int = 0
    window_bdp: float = 0.0
    disorder_packets: int = 0
    code_data: int = 0
    code_parity: int = 0
    code_xor: bool = False
    ring_packets: int = 0
    first_window_bytes: int = 0
    first_window_lapses: bool = False
    pull_bytes: int = 4096
    pull_share: float = 1.0
    restraint: ReceiverThrottle | None = None
    host_rate_bps: float = 0.0
    send_ps: int = 0
    receive_ps: int = 0
    base_rtt_ps: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketSettings:
    """How the network and its endpoints behave, packet by packet.

    Attributes:
        flow_control: What keeps buffers from overflowing: one of ``FLOW_CONTROLS``.
        balance: How switches choose among equal-cost links: ``switches`` of a load balancing.
        spray: How senders change the hashed source port: ``senders`` of one.
        num_paths: Entropy values of a spraying sender; a power of two.
        congestion_control: The name of a scheme.
        parameters: Of congestion control, by name; what is missing keeps its default.
        connections: QPs that a transfer is spread over, each with its own source port.
        striped: Whether a transfer takes all ports of its endpoints; else each of its connections
            takes the port that a hash gives it, and none is added for ports.
        lanes: InfiniBand's service levels, lanes and their arbitration; none: strict priority, or
            the switch's weights.
        schedule: Of a ``scheduled`` fabric.
        timing: Gates, shapers, pre-emption and two routes (TSN, DetNet); with ``lossy``.
        vertices: What single switches have of their own, by vertex.
    """

    flow_control: str = "pfc"
    balance: str = "ecmp"
    spray: str = "fixed"
    num_paths: int = 128
    congestion_control: str = "none"
    parameters: Mapping[str, float] = field(default_factory=dict)
    connections: int = 1
    striped: bool = True
    lanes: VirtualLanes | None = None
    schedule: CellSchedule = field(default_factory=CellSchedule)
    switch: SwitchSettings = field(default_factory=SwitchSettings)
    pfc: Pfc = field(default_factory=Pfc)
    credits: Credits = field(default_factory=Credits)
    ecn: Ecn | None = None
    transport: Transport = field(default_factory=Transport)
    timing: PacketTiming | None = None
    vertices: Mapping[int, VertexSettings] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _known("flow_control", self.flow_control, FLOW_CONTROLS)
        balancings = LOAD_BALANCINGS.entries()
        _known("balance", self.balance, [one.switches for one in balancings])
        _known("spray", self.spray, [one.senders for one in balancings])
        _known("congestion_control", self.congestion_control, SCHEMES.names())
        _power_of_two("num_paths", self.num_paths)
        _power_of_two("ring_packets", self.transport.ring_packets or 64)
        self._check_numbers()
        self._check_combination()

    def _check_numbers(self) -> None:
        positive = {
            "payload_bytes": self.transport.payload_bytes,
            "pull_bytes": self.transport.pull_bytes,
            "connections": self.connections,
            "credits.update_bytes": self.credits.update_bytes,
        }
        for name, value in positive.items():
            if value < 1:
                raise SpecError(key=name, what=f"{value} must be at least 1")
        most_paths = next(
            one.max_paths for one in LOAD_BALANCINGS.entries() if one.senders == self.spray
        )
        if self.num_paths > most_paths:
            raise SpecError(
                key="num_paths",
                what=f"{self.num_paths} is too many for {self.spray}",
                remedy=f"{most_paths} at most",
            )
        packet_bytes = self.transport.payload_bytes + self.transport.header_bytes
        if packet_bytes > _MAX_PACKET_BYTES:
            raise SpecError(
                key="payload_bytes",
                what=f"packets of {packet_bytes} bytes",
                remedy=f"use {_MAX_PACKET_BYTES} at most",
            )
        if self.switch.alpha <= 0:
            raise SpecError(key="switch.alpha", what=f"{self.switch.alpha} must be more than 0")
        if self.ecn and not 0 <= self.ecn.kmin_bytes <= self.ecn.kmax_bytes:
            raise SpecError(
                key="ecn",
                what=(
                    f"Kmin {self.ecn.kmin_bytes} and Kmax {self.ecn.kmax_bytes} bytes do "
                    "not follow each other"
                ),
                remedy="Kmin comes first",
            )
        if self.ecn and not 0 <= self.ecn.pmax <= 1:
            raise SpecError(
                key="ecn",
                what=f"Pmax {self.ecn.pmax} must lie between 0 and 1",
                remedy="use 0 to 1",
            )

    def _check_combination(self) -> None:
        if not 0 < self.transport.pull_share <= 1:
            raise SpecError(
                key="pull_share",
                what=f"{self.transport.pull_share} must lie between 0 and 1",
                remedy="use 0 to 1",
            )
        if self.transport.timeout_rtts < 1:
            raise SpecError(
                key="timeout_rtts",
                what=f"{self.transport.timeout_rtts} round trips: no answer comes that soon",
                remedy="use 1 or more",
            )
        self._check_code()
        self._check_scheme()
        self._check_timing()
        if self.lanes is not None and self.flow_control != "credits":
            raise SpecError(
                key="lanes",
                what=f"{self.flow_control} has no virtual lanes",
                remedy="use flow control credits, or leave them out",
            )
        if self.spray != "fixed" and self.balance not in {"ecmp", "source"}:
            raise SpecError(
                key="spray",
                what=f"{self.spray} changes what switches hash, and {self.balance} does not hash",
                remedy="use balance ecmp",
            )
        if self.spray != "fixed" and not self.transport.source_ports:
            raise SpecError(
                key="spray",
                what=(
                    f"{self.spray} changes the source port, and these packets have none "
                    "for switches to hash"
                ),
                remedy="use another transport, or balance adaptive",
            )
        by_input = self.switch.input_turns or self.switch.ingress_bytes != 0
        if by_input and self.flow_control not in _BY_INPUT:
            raise SpecError(
                key="switch",
                what=f"{self.flow_control} keeps its own queues",
                remedy=f"use ingress_bytes and input_turns with {' or '.join(_BY_INPUT)}",
            )
        packet = self.transport.payload_bytes + self.transport.header_bytes
        if self.flow_control == "scheduled":
            packet = self.schedule.dressed_bytes(packet)
        if self.flow_control in {"credits", "scheduled"} and self.credits.buffer_bytes < (
            packet + 64 + self.credits.update_bytes
        ):
            raise SpecError(
                key="credits.buffer_bytes",
                what=(
                    f"{self.credits.buffer_bytes} bytes hold no packet of {packet} bytes "
                    f"beside an update of {self.credits.update_bytes}"
                ),
                remedy="enlarge it",
            )

    def _check_timing(self) -> None:
        if self.timing is None:
            return
        unfit = {
            f"flow control {self.flow_control}": self.flow_control != "lossy",
            "cut-through switches": self.switch.cut_through,
            "several connections a transfer": self.connections != 1,
            "telemetry": self.transport.telemetry,
        }
        for what, wrong in unfit.items():
            if wrong:
                raise SpecError(
                    key="timing",
                    what=f"gates and shapers do not go with {what}",
                    remedy="use flow control lossy, store and forward, one connection",
                )

    def _check_code(self) -> None:
        host = self.transport
        if host.recovery != "coded":
            return
        block = host.code_data + host.code_parity
        if not (host.code_data >= 1 and host.code_parity >= 0 and block <= _MAX_BLOCK):
            raise SpecError(
                key="code",
                what=f"blocks of {host.code_data} and {host.code_parity} packets",
                remedy=f"use 1 or more, and {_MAX_BLOCK} in all at most",
            )
        if host.code_xor and not 1 <= host.code_parity <= host.code_data:
            raise SpecError(
                key="code_parity",
                what=f"{host.code_parity} groups of {host.code_data} packets",
                remedy=f"use 1 to {host.code_data}",
            )
        if host.ack_every_bytes < 1 or host.timeout_ps < 1 or host.disorder_packets:
            raise SpecError(
                key="recovery",
                what="coded blocks are told lost by the time that each packet is out",
                remedy="set ack_every_bytes and timeout_ps, and leave disorder_packets 0",
            )

    def _check_scheme(self) -> None:
        scheme = SCHEMES.get(self.congestion_control)
        if self.transport.recovery == "pulled" and not scheme.goes_with_pulls:
            going = [one.name for one in SCHEMES.entries() if one.goes_with_pulls]
            raise SpecError(
                key="congestion_control",
                what=f"{scheme.name} does not go with a receiver that pulls",
                remedy=f"use {' or '.join(going)}",
            )
        if scheme.telemetry == "every-hop" and not self.transport.telemetry:
            raise SpecError(
                key="congestion_control",
                what=f"{scheme.name} reads telemetry",
                remedy="set transport.telemetry",
            )


def _known(name: str, value: str, names: Iterable[str]) -> None:
    known = dict.fromkeys(names)
    if value not in known:
        raise SpecError(key=name, what=f"{value!r} is not known", remedy=did_you_mean(value, known))


def _power_of_two(name: str, value: int) -> None:
    if value < 1 or value & (value - 1):
        raise SpecError(
            key=name, what=f"{value} is no power of two", remedy="use 64, 128 or the like"
        )
