"""The packet engine set up as HPCC's simulator on ns-3 is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.engines.packet.scheme import SCHEMES
from netloom.engines.packet.settings import Ecn, PacketSettings, Pfc, SwitchSettings, Transport
from netloom.errors import SpecError
from netloom.fabric.wiring.paths import first_ways

if TYPE_CHECKING:
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.formats.simulators.ns3 import Ns3Config
    from netloom.workload.transfers import Transfers

__all__ = ["HEADER_BYTES", "case_notes", "config_notes", "in_turn", "packet_settings"]

# Ethernet 14, IPv4 20, UDP 8 and the simulator's own sequence header 6: custom-header.cc,
# GetStaticWholeHeaderSize without telemetry.
HEADER_BYTES: Final = 48
_PS: Final = 1e12
ACK_BYTES: Final = 46  # Ethernet 14, IPv4 20, qbb-header.cc 12; telemetry comes on top
MIN_ACK_BYTES: Final = 60  # rdma-hw.cc, ReceiveUdp
# A time stamp that this simulator puts into TIMELY's data and acknowledgements: int-header.h.
STAMP_BYTES: Final = {"timely": 8}
NACK_INTERVAL_PS: Final = 500_000_000  # rdma-hw.cc: NACK_INTERVAL 500 us
_SCHEMES: Final = {
    "dcqcn": "dcqcn-firmware",
    "hpcc": "hpcc",
    "hpcc-pint": "hpcc-pint",
    "timely": "timely",
    "dctcp": "dctcp-rate",
}
_FIXED_WINDOW, _SCALED_WINDOW = 1.0, 2.0  # VAR_WIN 0 and 1
MAX_PAIRS: Final = 200_000
# Keys whose other values netloom does not follow: the value it does.
_ONLY: Final = {
    "FAST_REACT": 1.0,
    "HAS_WIN": 1.0,
    "L2_ACK_INTERVAL": 1.0,
    "L2_BACK_TO_ZERO": 0.0,
    "MULTI_RATE": 0.0,
    "PINT_LOG_BASE": 1.01,
    "PINT_PROB": 1.0,
    "RATE_BOUND": 1.0,
    "SAMPLE_FEEDBACK": 0.0,
    "USE_DYNAMIC_PFC_THRESHOLD": 1.0,
    "VAR_WIN": 1.0,
}
# What third.cc reads besides: files to write, traces, and what its own code makes no use of.
_IDLE: Final = (
    "ACK_HIGH_PRIO DATA_RATE ENABLE_TRACE FCT_OUTPUT_FILE FLOW_FILE INT_MULTI L2_CHUNK_SIZE "
    "LINK_DELAY PAUSE_TIME PFC_OUTPUT_FILE QLEN_MON_END QLEN_MON_FILE "
    "QLEN_MON_START TOPOLOGY_FILE TRACE_FILE TRACE_OUTPUT_FILE"
)
_FOLLOWED: Final = (
    "ALPHA_RESUME_INTERVAL BUFFER_SIZE CC_MODE CLAMP_TARGET_RATE DCTCP_RATE_AI ENABLE_QCN "
    "ERROR_RATE_PER_LINK EWMA_GAIN FAST_RECOVERY_TIMES GLOBAL_T HAS_WIN KMAX_MAP KMIN_MAP "
    "LINK_DOWN MIN_RATE MI_THRESH PACKET_PAYLOAD_SIZE PMAX_MAP RATE_AI RATE_DECREASE_INTERVAL "
    "RATE_HAI RP_TIMER SIMULATOR_STOP_TIME U_TARGET VAR_WIN"
)
_KEYS: Final = frozenset((*_ONLY, *_IDLE.split(), *_FOLLOWED.split()))
# Of these, what bears on some schemes alone: the others take windows as the file says, or none.
_OF_PINT: Final = frozenset({"PINT_LOG_BASE", "PINT_PROB"})
_OF_HPCC: Final = frozenset({"FAST_REACT", "HAS_WIN", "MULTI_RATE", "SAMPLE_FEEDBACK", "VAR_WIN"})


def packet_settings(config: Ns3Config, wiring: PacketTopology) -> PacketSettings:
    """Return what *config* says, in netloom's terms, with the simulator's own rules around it.

    Raises:
        SpecError: the scheme is none that the packet engine has, or marking thresholds are not
            in proportion to the rates.
    """
    scheme = _SCHEMES[config.congestion_control]
    traits = SCHEMES.get(scheme)
    extra = traits.telemetry_bytes + STAMP_BYTES.get(scheme, 0)
    everywhere = config.words.get("GLOBAL_T", ("1",)) != ("0",)
    rtt_ps = _longest_rtt_ps(wiring, config.payload_bytes) if everywhere else 0
    return PacketSettings(
        flow_control="pfc",
        balance="ecmp",
        congestion_control=scheme,
        parameters=_parameters(config, scheme, nic_bps=_nic_bps(wiring), rtt_ps=rtt_ps),
        connections=1,
        striped=False,  # rdma-hw.cc, GetNicIdxOfQp: a hash gives each QP one NIC
        switch=SwitchSettings(buffer_bytes=config.buffer_bytes),
        pfc=Pfc(headroom_products=3.0),
        ecn=_ecn(config),
        transport=Transport(
            payload_bytes=config.payload_bytes,
            header_bytes=HEADER_BYTES + extra,
            gap_bytes=0,
            least_bytes=0,
            ack_bytes=max(ACK_BYTES + extra, MIN_ACK_BYTES),
            # ACK_HIGH_PRIO reaches hosts alone: third.cc never tells its switches (AckHighPrio).
            ack_on_data_lane=True,
            telemetry=traits.telemetry == "every-hop",
            nack_interval_ps=NACK_INTERVAL_PS,
            base_rtt_ps=rtt_ps,
        ),
    )


def in_turn(settings: PacketSettings, transfers: Transfers) -> PacketSettings:
    """Return *settings* with priorities that take turns, packet by packet, where there are several.

    broadcom-egress-queue.cc, DoDequeueRR: queue 0 first, the others round robin. Hosts serve their
    QPs round robin whatever their priority (qbb-net-device.cc, GetNextQindex).
    """
    used = np.unique(transfers.priority).tolist()
    if len(used) < 2:
        return settings
    packet_bytes = settings.transport.payload_bytes + settings.transport.header_bytes
    weights = dict.fromkeys(used, packet_bytes)
    return replace(settings, switch=replace(settings.switch, weights=weights))


def case_notes(config: Ns3Config, wiring: PacketTopology, transfers: Transfers) -> tuple[str, ...]:
    """Return what of a case runs otherwise than in the simulator, or what it would refuse."""
    found = list(config_notes(config))
    if (transfers.priority == 0).any():
        found.append(
            "pg 0 goes first there, beyond buffers, pauses and marks; here it waits its turn"
        )
    rates = {round(rate) for rate in np.unique(wiring.link_rate_bps).tolist()}
    missing = sorted(rates - set(config.ecn)) if config.ecn else []
    if missing:
        named = ", ".join(f"{rate / 1e9:g}" for rate in missing)
        found.append(f"marking maps: thresholds for links of {named} Gb/s follow in proportion")
    pair = np.stack([wiring.link_source, wiring.link_target])
    if np.unique(pair, axis=1).shape[1] < wiring.num_links:
        found.append("of parallel links the simulator routes over the last alone; here over all")
    return tuple(found)


def config_notes(config: Ns3Config) -> tuple[str, ...]:
    """Return what *config* asks for that the packet engine does otherwise."""
    scheme = config.congestion_control
    idle = frozenset() if scheme == "hpcc-pint" else _OF_PINT
    idle |= frozenset() if scheme.startswith("hpcc") else _OF_HPCC
    found = []
    for key, value in _ONLY.items():
        words = config.words.get(key, ())
        if words and key not in idle and not _equals(words, value):
            found.append(f"{key} {' '.join(words)} is not followed: this ran as with {value:g}")
    found += [
        f"{key} is no key of HPCC's simulator: nothing was done about it"
        for key in config.words
        if key not in _KEYS
    ]
    if config.cut is not None:
        found.append(
            "LINK_DOWN: switches leave out dead links of their own; no other switch reroutes"
        )
    return tuple(found)


def _equals(words: tuple[str, ...], value: float) -> bool:
    try:
        return [float(word) for word in words] == [value]
    except ValueError:
        return False


def _nic_bps(wiring: PacketTopology) -> float:
    """Return the rate of the first host's link: third.cc, get_nic_rate."""
    return float(wiring.link_rate_bps[np.argmin(wiring.link_source)])


def _parameters(config: Ns3Config, scheme: str, *, nic_bps: float, rtt_ps: int) -> dict[str, float]:
    """Return congestion control's parameters; what the file leaves out is as run.py writes it."""
    has = config.numbers.get
    common = {"min_rate_bps": has("MIN_RATE", 1e9), "rtt_ps": float(rtt_ps)}
    if scheme in {"hpcc", "hpcc-pint"}:
        return {
            "target": config.target_utilisation,
            "max_stage": float(config.max_stage),
            "increase_of_line": has("RATE_AI", 10e6 * nic_bps / 25e9) / nic_bps,
            **common,
        }
    common["window"] = _window(config)
    if scheme == "timely":
        return {
            "additive_of_line": has("RATE_AI", 10e6 * nic_bps / 10e9) / nic_bps,
            "hyper_of_line": has("RATE_HAI", 50e6 * nic_bps / 10e9) / nic_bps,
            **common,
        }
    if scheme == "dctcp-rate":
        gain, additive_bps = has("EWMA_GAIN", 1 / 16), has("DCTCP_RATE_AI", 615e6)
        return {"gain": gain, "additive_bps": additive_bps, **common}
    return {**_dcqcn(config, nic_bps), **common}


def _dcqcn(config: Ns3Config, nic_bps: float) -> dict[str, float]:
    """Return DCQCN's own parameters; rdma-hw.cc begins with an alpha of 1."""
    has = config.numbers.get
    return {
        "gain": has("EWMA_GAIN", 1 / 256),
        "first_alpha": 1.0,
        "marks_in_acks": 1.0,
        "alpha_period_ps": has("ALPHA_RESUME_INTERVAL", 1e-6) * _PS,
        "cut_period_ps": has("RATE_DECREASE_INTERVAL", 4e-6) * _PS,
        "increase_period_ps": has("RP_TIMER", 300e-6) * _PS,
        "recoveries": has("FAST_RECOVERY_TIMES", 1.0),
        "clamp_target": has("CLAMP_TARGET_RATE", 0.0),
        "additive_bps": has("RATE_AI", 5e6 * nic_bps / 25e9),
        "hyper_bps": has("RATE_HAI", 50e6 * nic_bps / 25e9),
    }


def _window(config: Ns3Config) -> float:
    if not config.has_window:
        return 0.0
    return _SCALED_WINDOW if config.variable_window else _FIXED_WINDOW


def _ecn(config: Ns3Config) -> Ecn | None:
    if not config.ecn or config.words.get("ENABLE_QCN") == ("0",):
        return None
    rates = sorted(config.ecn)
    low, high, most = config.ecn[rates[0]]
    for rate in rates[1:]:
        other = config.ecn[rate]
        factor = rate / rates[0]
        if not np.allclose(other, (low * factor, high * factor, most), rtol=0.01):
            raise SpecError(
                what=(
                    f"KMIN_MAP, KMAX_MAP, PMAX_MAP: {rate} bit/s is not in proportion to {rates[0]}"
                ),
                remedy="netloom's thresholds grow with the rate",
            )
    return Ecn(kmin_bytes=low, kmax_bytes=high, pmax=most, at_rate_bps=float(rates[0]))


def _longest_rtt_ps(wiring: PacketTopology, payload_bytes: int) -> int:
    """Return the longest base round trip: third.cc gives it to every flow (GLOBAL_T 1)."""
    switch = np.full(wiring.num_endpoints, -1, dtype=np.int64)
    out = wiring.link_source < wiring.num_endpoints
    switch[wiring.link_source[out]] = wiring.link_target[out]
    _, first = np.unique(switch, return_index=True)  # one host of each leaf stands for all
    _, last = np.unique(switch[::-1], return_index=True)
    ends = np.unique(np.concatenate([first, wiring.num_endpoints - 1 - last]))
    one, other = (axis.reshape(-1) for axis in np.meshgrid(ends, ends))
    pairs = np.flatnonzero(one != other)[:MAX_PAIRS]
    if not len(pairs):
        return 0
    ways = first_ways(wiring, one[pairs], other[pairs])
    return round(float((2 * ways.delay_ps + payload_bytes * ways.ps_per_byte).max()))
