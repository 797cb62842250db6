"""The packet simulator's settings for a technology of the catalogue."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from netloom.engines.balancing import LOAD_BALANCINGS
from netloom.engines.packet.lanes import VirtualLanes
from netloom.engines.packet.receiver_throttle import ReceiverThrottle
from netloom.engines.packet.schedule import CellSchedule
from netloom.engines.packet.scheme import SCHEMES
from netloom.engines.packet.schemes.marking import at_queue_shares
from netloom.engines.packet.settings import (
    Credits,
    PacketSettings,
    Pfc,
    SwitchSettings,
    Transport,
)
from netloom.errors import SpecError
from netloom.fabric.wire.headroom import peer_response_bytes
from netloom.spec.problems import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.engines.packet.scheme import Scheme
    from netloom.engines.packet.settings import Ecn
    from netloom.parts.parts import Technology

__all__ = ["RECOVERIES", "settings_for"]

_T = TypeVar("_T")
_US: Final = 1_000_000
_ETHERNET_GAP: Final = 20  # preamble and inter-frame gap: IEEE 802.3 (recalled)
_ACK_HEADER: Final = 4  # AETH: InfiniBand vol. 1 (recalled)
_UET_ACK: Final = 64  # assumed: Ethernet, IP, UDP and PDS fill the least frame

_FLOW_CONTROL: Final[Mapping[str, str]] = {
    "pfc": "pfc",
    "credits": "credits",
    "none": "lossy",
    "lossy": "lossy",
    "trimming": "trimming",
    "scheduled": "scheduled",
}
# RFC 5681: three duplicates. The least timeout is taken as the timeout itself; Linux's is HZ/5, and
# doubles up to 120 s (include/net/tcp.h, TCP_RTO_MIN and TCP_RTO_MAX; RFC 6298, section 5.5).
_TCP: Final[Mapping[str, Any]] = {
    "recovery": "selective",
    "disorder_packets": 3,
    "probe_rtts": 2.0,  # RFC 8985, section 7.2; in a NIC assumed
    # Linux tcp_rmem: 6 MB at most, half of it for the window (recalled).
    "window_bytes": 3_145_728,
    "ack_on_data_lane": True,
}
# Linux tcp_schedule_loss_probe: two round trips and 2 ms (TCP_TIMEOUT_MIN_US), and the least
# timeout more while one packet is out, since its answer may be delayed.
_LINUX_PROBES: Final = {"probe_margin_ps": 2_000 * _US, "ack_delay_ps": 200_000 * _US}
_ASK_RTTS: Final = 3.0  # uet-htsim uec.cpp probe_first_trial_time
# Erasure codes: SDR-RDMA's (arXiv:2505.05366), and Uno's of 8 and 2 (arXiv:2510.15802; secondary).
# A block that cannot be restored is sent again after (1 + beta) round trips; beta is assumed.
_CODES: Final = (("ec-32-8", 32, 8), ("ec-8-2", 8, 2), ("xor-32-8", 32, 8))
_BETA: Final = 0.5
# Transports by name: what differs from the technology's framing.
RECOVERIES: Final[Mapping[str, dict[str, Any]]] = {
    "rc": {"recovery": "go-back-n", "timeout_ps": 4_000 * _US},
    # Mittal et al., IRN (SIGCOMM 2018): window of one product, timeouts 100 and 320 us (recalled).
    "irn": {
        "recovery": "selective",
        "disorder_packets": 1,
        "window_bdp": 1.0,
        "timeout_ps": 320 * _US,
        "timeout_low_ps": 100 * _US,
        "timeout_low_packets": 3,
    },
    "reorder": {"recovery": "selective", "timeout_ps": 4_000 * _US},
    # uet-htsim @40ccb05: least timeout 100 us, an acknowledgement every 16 KiB.
    "uet": {
        "recovery": "selective",
        "timeout_ps": 100 * _US,
        "ack_every_bytes": 16_384,
        "measures_timeout": True,
        "ask_rtts": _ASK_RTTS,
    },
    **{
        name: {
            "recovery": "coded",
            "code_data": data,
            "code_parity": parity,
            "code_xor": name.startswith("xor"),
            "timeout_ps": 100 * _US,
            "timeout_rtts": 1.0 + _BETA,
            "ack_every_bytes": 16_384,
            "measures_timeout": True,
            "ask_rtts": _ASK_RTTS,
        }
        for name, data, parity in _CODES
    },
    # Four packets a pull, at 0.99 of the port's rate; the first answer ends the first window; less
    # where the network is tapered.
    "rccc": {
        "recovery": "pulled",
        "timeout_ps": 100 * _US,
        "ack_every_bytes": 16_384,
        "measures_timeout": True,
        "ask_rtts": _ASK_RTTS,
        "first_window_lapses": True,
        "pull_bytes": 16_384,
        "pull_share": 0.99,
        "restraint": ReceiverThrottle(),
    },
    # Handley et al., NDP (SIGCOMM 2017): a pull a packet, 30 packets at first (recalled).
    "ndp": {"recovery": "pulled", "timeout_ps": 1_000 * _US},
    "tcp": {**_TCP, **_LINUX_PROBES, "timeout_ps": 200_000 * _US, "max_doublings": 9},
    # TCP in the NIC: Chelsio's has a least timeout of a quarter of a second, and doubles it up to
    # 64 s (Linux drivers/net/ethernet/chelsio/cxgb/tp.c, A_TP_RXT_MIN and A_TP_RXT_MAX); 128 KiB
    # are in flight at most (drivers/infiniband/hw/cxgb4/cm.c, snd_win).
    "iwarp": {
        **_TCP,
        "timeout_ps": 250_000 * _US,
        "max_doublings": 8,
        "window_bytes": 131_072,
    },
}
# Reliable connections ask for one acknowledgement in 2**8 packets (Linux
# drivers/infiniband/hw/mlx5/qp.c, MLX5_IB_ACK_REQ_FREQ); or for each, by whose marks and times
# other schemes live.
_ASK_EVERY_PACKETS: Final = 256
_ASKING: Final = frozenset({"rc", "reorder"})
_PULLED: Final = frozenset({"rccc", "ndp"})  # receivers decide, and congestion control is theirs
_BY_RECOVERY: Final = {"go-back-n": "rc", "selective-repeat": "irn", "reorder": "reorder"}
_BY_TRANSPORT: Final = {
    "tcp": "tcp",
    "iwarp": "iwarp",
    "uet": "uet",
    "mrc": "uet",
    "srd": "uet",
}


def settings_for(
    technology: Technology,
    *,
    congestion_control: str = "",
    load_balancing: str = "",
    transport: str = "",
    flow_control: str = "",
    connections: int = 0,
) -> PacketSettings:
    """Return how *technology* behaves packet by packet; what is named overrides its own ways.

    Raises:
        SpecError: a scheme is not known, or does not go with the others.
    """
    if {congestion_control, transport} & _PULLED:
        transport = transport or congestion_control
        congestion_control = "none" if congestion_control in {"", transport} else congestion_control
    scheme = _scheme(congestion_control or technology.congestion_control, transport)
    if scheme.is_off_by_default and not congestion_control:
        scheme = SCHEMES.get("none")
    balancing = LOAD_BALANCINGS.get(load_balancing or technology.load_balancing)
    control = _one_of("flow_control", flow_control or technology.flow_control, _FLOW_CONTROL)
    if technology.transport == "uet" and not flow_control:
        control = "trimming"  # UEC specification 1.0: packet trimming (secondary)
    if balancing.switches == "cells" and not flow_control:
        control = "scheduled"
    name = transport or _BY_TRANSPORT.get(technology.transport, _BY_RECOVERY[technology.recovery])
    host = _transport(technology, name, scheme, scheduled=control == "scheduled")
    if name in _ASKING and balancing.senders == "fixed" and not scheme.needs_every_ack:
        host = replace(host, ask_every_packets=_ASK_EVERY_PACKETS, asks_per_rtt=scheme.acks_per_rtt)
    return PacketSettings(
        flow_control=control,
        balance=balancing.switches,
        spray=balancing.senders,
        congestion_control=scheme.name,
        parameters=dict(scheme.pulled_parameters) if name == "rccc" else {},
        connections=connections or technology.flows_per_rank,
        switch=_switch(technology, control, host),
        pfc=Pfc(response_ps=_response_ps(technology)),
        credits=Credits(),
        ecn=_ecn(scheme, technology, control, pulled=name == "rccc"),
        transport=host,
        lanes=VirtualLanes() if control == "credits" else None,
        schedule=CellSchedule(wait_ps=_ps(technology.latency.credit_s)),
    )


def _scheme(value: str, transport: str) -> Scheme:
    """Return a congestion control by any of its names; messages know receivers that pull as well.

    Raises:
        SpecError: it is not known, or another transport's own.
    """
    if value in _PULLED:
        raise SpecError(
            key="congestion_control",
            what=(
                f"{value} is what receivers of transport {value} do, and the transport is "
                f"{transport}"
            ),
            remedy="leave one of them out",
        )
    entries = SCHEMES.entries()
    known = {name: entry for entry in entries for name in entry.catalogue_names}
    known |= {entry.name: entry for entry in entries}
    if value not in known:
        hint = did_you_mean(value, [*known, *sorted(_PULLED)])
        raise SpecError(key="congestion_control", what=f"{value!r} is not known", remedy=hint)
    return known[value]


def _one_of(name: str, value: str, known: Mapping[str, _T]) -> _T:
    if value not in known:
        raise SpecError(key=name, what=f"{value!r} is not known", remedy=did_you_mean(value, known))
    return known[value]


def _transport(technology: Technology, name: str, scheme: Scheme, *, scheduled: bool) -> Transport:
    own = _one_of("transport", name, RECOVERIES)
    restraint = own.get("restraint") if scheme.throttles_receivers else None
    infiniband = technology.protocol == "infiniband"
    gap_bytes = 0 if infiniband else _ETHERNET_GAP
    header_bytes = int(technology.header_bytes) - gap_bytes + scheme.telemetry_bytes
    budget = technology.latency
    return Transport(
        payload_bytes=int(technology.payload_bytes),
        header_bytes=header_bytes,
        gap_bytes=gap_bytes,
        least_bytes=0 if infiniband else 64,
        ack_bytes=_ack_bytes(technology, header_bytes),
        telemetry=scheme.telemetry == "every-hop",
        source_ports=technology.transport != "rocev1-rc",
        punish_disorder=own["recovery"] == "go-back-n",
        cnp_interval_ps=scheme.cnp_interval_ps,
        host_rate_bps=technology.host_rate_bps or 0.0,
        send_ps=_ps(
            budget.post_s
            + budget.send_stack_s
            + budget.doorbell_s
            + budget.nic_send_s
            + (0.0 if scheduled else budget.credit_s)  # else the first switch waits
        ),
        receive_ps=_ps(
            budget.nic_receive_s + budget.interrupt_s + budget.receive_stack_s + budget.wake_s
        ),
        **{"ack_on_data_lane": infiniband, **own, "restraint": restraint},
    )


def _ack_bytes(technology: Technology, header_bytes: int) -> int:
    if technology.transport in {"uet", "mrc", "srd"}:
        return _UET_ACK
    if technology.transport in {"tcp", "iwarp"}:
        return header_bytes
    return header_bytes + _ACK_HEADER


def _switch(technology: Technology, control: str, host: Transport) -> SwitchSettings:
    if control != "trimming":
        return SwitchSettings(cut_through=technology.protocol == "infiniband")
    # uet-htsim: queues of 100 packets.
    return SwitchSettings(
        queue_bytes=100 * (host.payload_bytes + host.header_bytes), reserve_bytes=0
    )


def _ecn(scheme: Scheme, technology: Technology, control: str, *, pulled: bool) -> Ecn | None:
    """Return the marks of a scheme; where UET's receivers pull they are about paths alone."""
    if pulled:
        return replace(at_queue_shares(technology), to_endpoints=False)
    return None if scheme.marks is None else scheme.marks(technology, control)


def _response_ps(technology: Technology) -> int:
    """Return the peer's allowance by IEEE 802.3 31B.3.7 as time, 0 where none is tabulated."""
    try:
        response = peer_response_bytes(technology.rate_bps)
    except SpecError:
        return 0
    return _ps(response * 8 / technology.rate_bps)


def _ps(time_s: float) -> int:
    return round(time_s * 1e12)
