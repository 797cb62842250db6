"""The numbers that netloom knows by name, and what other monitoring calls them.

Names for InfiniBand are those of treydock/infiniband_exporter (``infiniband_switch_`` or
``infiniband_hca_`` before them) and of the infiniband collector of Prometheus' node_exporter
(``node_infiniband_``); for Ethernet those of node_exporter's netdev collector
(``node_network_``). All were read from those programs' own sources or output.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["BY_NAME", "DIAGS", "METRICS", "SYSFS", "Metric"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One number.

    Attributes:
        name: What the store calls it.
        kind: A counter only rises, but for resets.
        about: What it counts.
        diags: What infiniband-diags calls it; empty where it has none.
        scale: What one of the diags' (or sysfs') units is in ours.
        sysfs: The file in ``/sys/class/infiniband/*/ports/*/counters``.
        fabric: What infiniband_exporter calls it, after switch or hca.
        node: What node_exporter's infiniband collector calls it.
        network: What node_exporter's netdev collector calls it.
        own: What ``/metrics`` calls it behind ``netloom_`` where no other program has a name for
            it; its label is the part.
    """

    name: str
    kind: Literal["counter", "gauge"] = "counter"
    about: str = ""
    diags: str = ""
    scale: int = 1
    sysfs: str = ""
    fabric: str = ""
    node: str = ""
    network: str = ""
    own: str = ""


# InfiniBand counts data in words of 4 bytes: IBTA volume 1, PortCounters (PortXmitData).
METRICS: Final = (
    Metric(
        name="sent_bytes",
        about="Bytes sent.",
        diags="PortXmitData",
        scale=4,
        sysfs="port_xmit_data",
        fabric="port_transmit_data_bytes_total",
        node="port_data_transmitted_bytes_total",
        network="transmit_bytes_total",
    ),
    Metric(
        name="received_bytes",
        about="Bytes received.",
        diags="PortRcvData",
        scale=4,
        sysfs="port_rcv_data",
        fabric="port_receive_data_bytes_total",
        node="port_data_received_bytes_total",
        network="receive_bytes_total",
    ),
    Metric(
        name="sent_packets",
        about="Packets sent.",
        diags="PortXmitPkts",
        sysfs="port_xmit_packets",
        fabric="port_transmit_packets_total",
        node="port_packets_transmitted_total",
        network="transmit_packets_total",
    ),
    Metric(
        name="received_packets",
        about="Packets received.",
        diags="PortRcvPkts",
        sysfs="port_rcv_packets",
        fabric="port_receive_packets_total",
        node="port_packets_received_total",
        network="receive_packets_total",
    ),
    Metric(
        name="symbol_errors",
        about="Minor errors on a lane.",
        diags="SymbolErrorCounter",
        sysfs="symbol_error",
        fabric="port_symbol_error_total",
        node="symbol_error_total",
    ),
    Metric(
        name="link_recoveries",
        about="Times the link recovered by training again.",
        diags="LinkErrorRecoveryCounter",
        sysfs="link_error_recovery",
        fabric="port_link_error_recovery_total",
        node="link_error_recovery_total",
    ),
    Metric(
        name="link_downs",
        about="Times the link could not recover and went down.",
        diags="LinkDownedCounter",
        sysfs="link_downed",
        fabric="port_link_downed_total",
        node="link_downed_total",
    ),
    Metric(
        name="receive_errors",
        about="Packets received with an error.",
        diags="PortRcvErrors",
        sysfs="port_rcv_errors",
        fabric="port_receive_errors_total",
        node="port_errors_received_total",
        network="receive_errs_total",
    ),
    Metric(
        name="remote_physical_errors",
        about="Packets that a port before marked as bad.",
        diags="PortRcvRemotePhysicalErrors",
        sysfs="port_rcv_remote_physical_errors",
        fabric="port_receive_remote_physical_errors_total",
        node="port_receive_remote_physical_errors_total",
    ),
    Metric(
        name="relay_errors",
        about="Packets that the switch could not forward.",
        diags="PortRcvSwitchRelayErrors",
        sysfs="port_rcv_switch_relay_errors",
        fabric="port_receive_switch_relay_errors_total",
        node="port_receive_switch_relay_errors_total",
    ),
    Metric(
        name="send_discards",
        about="Packets thrown away instead of sent.",
        diags="PortXmitDiscards",
        sysfs="port_xmit_discards",
        fabric="port_transmit_discards_total",
        node="port_discards_transmitted_total",
        network="transmit_drop_total",
    ),
    Metric(
        name="send_constraint_errors",
        about="Packets not sent for a partition's or a raw filter's sake.",
        diags="PortXmitConstraintErrors",
        sysfs="port_xmit_constraint_errors",
        fabric="port_transmit_constraint_errors_total",
        node="port_constraint_errors_transmitted_total",
    ),
    Metric(
        name="receive_constraint_errors",
        about="Packets refused for a partition's or a raw filter's sake.",
        diags="PortRcvConstraintErrors",
        sysfs="port_rcv_constraint_errors",
        fabric="port_receive_constraint_errors_total",
        node="port_constraint_errors_received_total",
    ),
    Metric(
        name="integrity_errors",
        about="Times the share of local errors went over its threshold.",
        diags="LocalLinkIntegrityErrors",
        sysfs="local_link_integrity_errors",
        fabric="port_local_link_integrity_errors_total",
        node="local_link_integrity_errors_total",
    ),
    Metric(
        name="buffer_overruns",
        about="Times buffers overran.",
        diags="ExcessiveBufferOverrunErrors",
        sysfs="excessive_buffer_overrun_errors",
        fabric="port_excessive_buffer_overrun_errors_total",
        node="excessive_buffer_overrun_errors_total",
    ),
    Metric(
        name="management_drops",
        about="Management packets dropped (VL15).",
        diags="VL15Dropped",
        sysfs="VL15_dropped",
        fabric="port_vl15_dropped_total",
        node="vl15_dropped_total",
    ),
    Metric(
        name="send_wait_ticks",
        about="Ticks with data to send but no credit.",
        diags="PortXmitWait",
        sysfs="port_xmit_wait",
        fabric="port_transmit_wait_total",
        node="port_transmit_wait_total",
    ),
    Metric(
        name="send_errors",
        about="Packets that could not be sent.",
        network="transmit_errs_total",
    ),
    Metric(
        name="receive_discards",
        about="Packets received and thrown away.",
        network="receive_drop_total",
    ),
    Metric(
        name="pause_frames_sent",
        about="Pause frames sent, of a priority where the part is one.",
        own="pause_frames_sent_total",
    ),
    Metric(
        name="pause_frames_received",
        about="Pause frames received.",
        own="pause_frames_received_total",
    ),
    Metric(
        name="fec_corrected_codewords",
        about="Codewords that forward error correction put right.",
        own="fec_corrected_codewords_total",
    ),
    Metric(
        name="fec_uncorrectable_codewords",
        about="Codewords that forward error correction could not put right.",
        own="fec_uncorrectable_codewords_total",
    ),
    Metric(
        name="fec_symbol_errors",
        about="Symbols that forward error correction put right.",
        own="fec_symbol_errors_total",
    ),
    Metric(
        name="pre_fec_error_rate",
        kind="gauge",
        about="Bit error rate before forward error correction.",
        own="pre_fec_bit_error_ratio",
    ),
    Metric(
        name="post_fec_error_rate",
        kind="gauge",
        about="Bit error rate after forward error correction.",
        own="post_fec_bit_error_ratio",
    ),
    Metric(
        name="ecn_marked_packets",
        about="Packets marked with congestion experienced.",
        own="ecn_marked_packets_total",
    ),
    Metric(
        name="congestion_notifications",
        about="Congestion notification packets (CNP) that a NIC received and handled.",
        own="congestion_notifications_total",
    ),
    Metric(
        name="out_of_sequence_packets",
        about="Packets out of sequence at a NIC.",
        own="out_of_sequence_packets_total",
    ),
    Metric(
        name="ack_timeouts",
        about="Times that a queue pair's acknowledgement timer ran out.",
        own="ack_timeouts_total",
    ),
    Metric(name="queue_drops", about="Packets a queue dropped.", own="queue_drops_total"),
    Metric(name="queue_packets", about="Packets a queue sent.", own="queue_packets_total"),
    Metric(
        name="queue_depth_bytes",
        kind="gauge",
        about="What waits in a queue now.",
        own="queue_depth_bytes",
    ),
    Metric(
        name="queue_peak_bytes",
        kind="gauge",
        about="The most that waited since the device last began to count.",
        own="queue_peak_bytes",
    ),
    Metric(
        name="optic_receive_power_dbm",
        kind="gauge",
        about="Light that a transceiver receives.",
        own="optic_receive_power_dbm",
    ),
    Metric(
        name="optic_transmit_power_dbm",
        kind="gauge",
        about="Light that a transceiver sends.",
        own="optic_transmit_power_dbm",
    ),
    Metric(
        name="optic_bias_a",
        kind="gauge",
        about="Bias current of a transceiver's laser, amperes.",
        own="optic_bias_amperes",
    ),
    Metric(
        name="optic_temperature_c",
        kind="gauge",
        about="Temperature of a transceiver.",
        own="optic_temperature_celsius",
    ),
    Metric(
        name="optic_voltage_v",
        kind="gauge",
        about="Supply voltage of a transceiver.",
        own="optic_voltage_volts",
    ),
    Metric(
        name="degrading",
        kind="gauge",
        about="Chance that the link of a port degrades; told of those that are called.",
        own="link_degrading_confidence",
    ),
    Metric(
        name="degrading_sign",
        kind="gauge",
        about="By what: 0 bit errors, 1 light received, 2 sent, 3 laser, 4 flaps, 5 codewords, "
        "6 heat.",
    ),
    Metric(
        name="optic_margin_db",
        kind="gauge",
        about="Light that a degrading link may still lose.",
        own="link_margin_decibels",
    ),
    Metric(name="optic_margin_slope", kind="gauge", about="Of that, decibels a day."),
    Metric(
        name="drop_expected_s",
        kind="gauge",
        about="When a degrading link is expected to drop, from now.",
        own="link_drop_expected_seconds",
    ),
    Metric(name="drop_earliest_s", kind="gauge", about="One of ten such links drops before."),
    Metric(name="drop_latest_s", kind="gauge", about="One of ten such links drops after."),
    Metric(
        name="drop_week_chance",
        kind="gauge",
        about="Chance that a degrading link drops within a week.",
        own="link_drop_week_probability",
    ),
    Metric(
        name="gpu_temperature_c",
        kind="gauge",
        about="Temperature of a GPU.",
        own="gpu_temperature_celsius",
    ),
    Metric(
        name="gpu_xid", kind="gauge", about="Number of the last XID error of a GPU.", own="gpu_xid"
    ),
    Metric(
        name="gpu_double_bit_errors",
        about="Memory errors of a GPU that could not be put right.",
        own="gpu_double_bit_errors_total",
    ),
    Metric(name="pcie_replays", about="PCIe packets sent again.", own="pcie_replays_total"),
    Metric(name="nvlink_crc_errors", about="NVLink flits damaged.", own="nvlink_crc_errors_total"),
    Metric(name="nvlink_replays", about="NVLink packets sent again.", own="nvlink_replays_total"),
    Metric(
        name="nvlink_recoveries",
        about="Times that an NVLink was trained again.",
        own="nvlink_recoveries_total",
    ),
    Metric(
        name="admin_up",
        kind="gauge",
        about="1 where a port is meant to be up, 0 where it was shut.",
        own="port_admin_up",
    ),
    Metric(name="mtu_bytes", kind="gauge", about="Largest packet of a port.", own="mtu_bytes"),
    Metric(
        name="fec_mode",
        kind="gauge",
        about="Forward error correction of a port: 0 none, 1 Fire code, 2 Reed-Solomon.",
        own="fec_mode",
    ),
    Metric(
        name="pfc_priorities",
        kind="gauge",
        about="Priorities that pause, as bits: 8 is priority 3.",
        own="pfc_priorities",
    ),
    Metric(
        name="rdma_priority",
        kind="gauge",
        about="Priority that the code point (DSCP) of RDMA leads to.",
        own="rdma_priority",
    ),
    Metric(
        name="ecn_on", kind="gauge", about="1 where a queue marks packets, else 0.", own="ecn_on"
    ),
    Metric(name="link_up", kind="gauge", about="1 while the link carries, else 0."),
    Metric(name="rate_bps", kind="gauge", about="What the link runs at, one direction."),
    Metric(name="bgp_up", kind="gauge", about="1 while the BGP session is established, else 0."),
    Metric(
        name="bgp_shut",
        kind="gauge",
        about="1 while this end's configuration keeps the BGP session closed, or has none.",
    ),
    Metric(
        name="bgp_policy",
        kind="gauge",
        about="1 for a policy on routes taken from a neighbour or announced, by port and name.",
    ),
    Metric(
        name="bgp_hold_s",
        kind="gauge",
        about="BGP's hold time at an end, where it is not what the design has.",
    ),
    Metric(
        name="bfd_detection_s",
        kind="gauge",
        about="How soon BFD notices a failure by an end's settings, where not as designed.",
    ),
    Metric(
        name="routes_over",
        kind="gauge",
        about="Routes to hosts that the kernel forwards over the port.",
    ),
    Metric(
        name="route_ways",
        kind="gauge",
        about="Next hops to a host's network, where fewer than designed, by switch and prefix.",
    ),
    Metric(
        name="route_refused",
        kind="gauge",
        about="1 for a route into a host's network that refuses packets, by switch and prefix.",
    ),
    Metric(
        name="route_foreign",
        kind="gauge",
        about="1 for a route more specific than a host's own, by switch and prefix.",
    ),
    Metric(name="guid_shared", kind="gauge", about="1 for two devices that answer with one GUID."),
    Metric(name="lid_shared", kind="gauge", about="The LID that two devices have."),
    Metric(
        name="address_shared",
        kind="gauge",
        about="The IPv4 address, as a number, that a device has and another should have.",
    ),
    Metric(
        name="address_missing",
        kind="gauge",
        about="The IPv4 address, as a number, that a device should have and has not.",
    ),
    Metric(name="bfd_up", kind="gauge", about="1 while the BFD session is up, else 0."),
    Metric(
        name="bfd_hears",
        kind="gauge",
        about="Of a BFD session that is not up: 1 when it hears its neighbour, else 0.",
    ),
    Metric(name="bgp_prefixes", kind="gauge", about="Prefixes received in the BGP session."),
    Metric(
        name="rib_ways",
        kind="gauge",
        about="Next hops that the routing daemon believes in, over all routes to hosts.",
    ),
    Metric(
        name="fib_ways",
        kind="gauge",
        about="Next hops that the kernel forwards by, over the same routes.",
    ),
    Metric(
        name="divergent_routes",
        kind="gauge",
        about="Routes to hosts whose next hops differ between daemon and kernel.",
    ),
    Metric(
        name="unusable_next_hops",
        kind="gauge",
        about="Next-hop objects of the kernel that are dead or without carrier.",
    ),
    Metric(
        name="port_waits",
        kind="gauge",
        about="1 where an InfiniBand port has a neighbour and no manager has taken it into use.",
    ),
    Metric(
        name="port_absent",
        kind="gauge",
        about="1 where a device answers and has no interface of the name that a port should have.",
    ),
    Metric(
        name="port_dark",
        kind="gauge",
        about="1 where an InfiniBand port is active and nothing answers behind it.",
    ),
    Metric(
        name="manager_down", kind="gauge", about="1 where a subnet manager of a lab does not run."
    ),
    Metric(
        name="sm_master", kind="gauge", about="1 while a subnet manager answers as master, else 0."
    ),
    Metric(name="step_s", kind="gauge", about="Duration of the last training step."),
    Metric(name="bus_bandwidth_bps", kind="gauge", about="Bus bandwidth as nccl-tests counts it."),
    Metric(name="collective_s", kind="gauge", about="Duration of a collective."),
    Metric(name="wrong_values", kind="gauge", about="Wrong values that nccl-tests found."),
    Metric(
        name="last_collective",
        kind="counter",
        about="Sequence number of the last collective that a rank completed.",
    ),
    Metric(
        name="probe_loss",
        kind="gauge",
        about="Share of the probes from a host or GPU that never arrived.",
        own="probe_loss_ratio",
    ),
    Metric(
        name="probe_latency_p50_s",
        kind="gauge",
        about="Median time of small probes from a host, one way.",
        own="probe_latency_p50_seconds",
    ),
    Metric(
        name="probe_latency_p99_s",
        kind="gauge",
        about="99th percentile of the time of small probes from a host, one way.",
        own="probe_latency_p99_seconds",
    ),
    Metric(
        name="probe_delay_p50_s",
        kind="gauge",
        about="Median delay of probes and flows over that of a healthy path, round trip.",
        own="probe_delay_p50_seconds",
    ),
    Metric(
        name="probe_delay_p99_s",
        kind="gauge",
        about="99th percentile of the delay of probes and flows over that of a healthy path.",
        own="probe_delay_p99_seconds",
    ),
    Metric(
        name="rank_missing",
        kind="gauge",
        about="1 for a rank that NCCL hears nothing of, by the GPU it runs on.",
        own="job_rank_missing",
    ),
    Metric(
        name="rank_stuck",
        kind="gauge",
        about="1 for a rank that others wait for in a collective, by the GPU it runs on.",
        own="job_rank_stuck",
    ),
    Metric(
        name="rank_failed",
        kind="gauge",
        about="1 for a rank that reported an error of NCCL, by the GPU it runs on.",
        own="job_rank_failed",
    ),
)
BY_NAME: Final = {metric.name: metric for metric in METRICS}
DIAGS: Final = {metric.diags: metric for metric in METRICS if metric.diags}
SYSFS: Final = {metric.sysfs: metric for metric in METRICS if metric.sysfs}
