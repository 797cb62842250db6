"""The settings of a computer: NIC quality of service, addresses, routes, NCCL's environment."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from netloom.ops.deploy.ports import NicQos
from netloom.ops.deploy.rules import HostQos
from netloom.ops.underlay import HOSTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.deploy.intent import Intent
    from netloom.ops.deploy.partitions import Partition
    from netloom.ops.deploy.quality import Quality

__all__ = [
    "VENDOR",
    "nccl_environment",
    "nic_commands",
    "read_nics",
    "read_qos",
    "read_traffic_class",
    "traffic_class",
]

VENDOR: Final = "NVIDIA"  # whose NICs mlnx_qos and cma_roce_tos set up
FIRST_TABLE: Final = 100  # of routes, one for each NIC port; the kernel's own are 253 to 255
# The ECN field's codepoint 10: RFC 3168, section 5. With DSCP 26 that gives the 106 of "Lossless
# RoCE Configuration for Linux Drivers in DSCP-Based QoS Mode" (Mellanox community); without it a
# switch drops what it would have marked.
MARKABLE: Final = 2
# The usual one: below what any switch here has, even less the 50 bytes of VXLAN.
MTU_BYTES: Final = 9000
GID_INDEX: Final = 3  # RoCEv2 over IPv4 on mlx5 devices (NCCL's documentation)
# OpenSM keeps the default partition at index 0 of a port's table and puts a tenant's after it,
# as smpquery pkeys shows.
TENANT_KEY_INDEX: Final = 1

_PAUSES: Final = re.compile(r"--pfc ((?:[01],){7}[01])", re.ASCII)
_PRIORITY: Final = re.compile(r"--dscp2prio set,(\d{1,2}),(\d)", re.ASCII)
_TOS: Final = re.compile(r"cma_roce_tos -d \S{1,40} -t (\d{1,3})$", re.ASCII | re.MULTILINE)
_CLASS: Final = re.compile(r"echo (\d{1,3}) > \S{1,80}/traffic_class$", re.ASCII | re.MULTILINE)
_ECN: Final = re.compile(r'echo 1 > "\S{1,80}/roce_(np|rp)/enable/(\d)"', re.ASCII)
_CNP: Final = re.compile(r'echo (\d{1,2}) > "\S{1,80}/roce_np/cnp_(dscp|802p_prio)"', re.ASCII)
_NCCL: Final = re.compile(r"^NCCL_IB_TC=(\d{1,3})$", re.ASCII | re.MULTILINE)
_MTU: Final = re.compile(r"ip link set \S{1,40} mtu (\d{1,5}) up", re.ASCII)
_ADDRESS: Final = re.compile(r"ip address replace (\S{1,50}) dev", re.ASCII)


def nic_commands(intent: Intent, computer: int) -> str:
    """Return a shell script that sets up the NICs of a computer."""
    lines = ["#!/bin/sh", "set -eu", *_nic_lines(intent, computer)]
    return "".join(f"{line}\n" for line in lines)


def _nic_lines(intent: Intent, computer: int) -> Iterator[str]:
    for host in intent.site.ports_of[computer]:
        device = intent.site.interface(host)
        yield f"netdev=$(ls /sys/class/infiniband/{device}/device/net)"
        yield f'ip link set "$netdev" mtu {MTU_BYTES} up'
        yield f'ip address replace {intent.host_link(host).host_address} dev "$netdev"'
        yield from _routes(intent, host)
        if intent.quality is not None:
            yield from _lossless(device, intent.quality)
            rate_bps = intent.site.network.design.port_rate_bps
            yield from _congestion_control(device, intent.quality, rate_bps)


def _routes(intent: Intent, host: int) -> Iterator[str]:
    """Yield a table of routes for what leaves from this port's address: replies stay on it."""
    link = intent.host_link(host)
    table = FIRST_TABLE + intent.site.nics[host].index
    source = link.host_address.ip
    yield f'ip route replace {HOSTS} via {link.switch_address.ip} dev "$netdev" table {table}'
    yield f"ip rule del from {source} lookup {table} 2>/dev/null || true"
    yield f"ip rule add from {source} lookup {table}"


def _lossless(device: str, quality: Quality) -> Iterator[str]:
    """Yield the lines that make a NIC pause, mark and notify as the switches expect."""
    pauses = ",".join("1" if p == quality.priority else "0" for p in range(8))
    ecn = "/sys/class/net/$netdev/ecn"
    yield f'mlnx_qos -i "$netdev" --trust dscp --pfc {pauses}'
    yield f'mlnx_qos -i "$netdev" --dscp2prio set,{quality.dscp},{quality.priority}'
    yield f'mlnx_qos -i "$netdev" --dscp2prio set,{quality.cnp_dscp},{quality.cnp_priority}'
    yield f"cma_roce_tos -d {device} -t {traffic_class(quality)}"
    yield f"echo {traffic_class(quality)} > /sys/class/infiniband/{device}/tc/1/traffic_class"
    yield f'echo 1 > "{ecn}/roce_np/enable/{quality.priority}"'
    yield f'echo 1 > "{ecn}/roce_rp/enable/{quality.priority}"'
    yield f'echo {quality.cnp_dscp} > "{ecn}/roce_np/cnp_dscp"'
    yield f'echo {quality.cnp_priority} > "{ecn}/roce_np/cnp_802p_prio"'


def _congestion_control(device: str, quality: Quality, rate_bps: float) -> Iterator[str]:
    """Yield what DCQCN of an mlx5 NIC is told; only what differs from its own.

    Names are those of Linux drivers/infiniband/hw/mlx5/cong.c, under cc_params of debugfs; units
    are recalled: Mb/s, us, and shares of 1,024.
    """
    asked = quality.parameters
    values = {
        "rp_ai_rate": ("additive_of_line", rate_bps / 1e6),
        "rp_hai_rate": ("hyper_of_line", rate_bps / 1e6),
        "rp_time_reset": ("increase_period_ps", 1e-6),
        "rp_dce_tcp_rtt": ("alpha_period_ps", 1e-6),
        "rp_byte_reset": ("counter_bytes", 1.0),
        "rp_min_rate": ("min_rate_bps", 1e-6),
    }
    found = {
        name: max(1, round(asked[key] * scale))
        for name, (key, scale) in values.items()
        if key in asked
    }
    if "gain" in asked:  # the NIC keeps this share of alpha at a notification
        found["rp_dce_tcp_g"] = round(1024 * (1 - asked["gain"]))
    if quality.cnp_interval_s:
        found["np_min_time_between_cnps"] = max(1, round(1e6 * quality.cnp_interval_s))
    if found:
        yield f"pci=$(basename $(readlink /sys/class/infiniband/{device}/device))"
    for name, value in found.items():
        yield f'echo {value} > "/sys/kernel/debug/mlx5/$pci/cc_params/{name}"'


def traffic_class(quality: Quality) -> int:
    """Return the whole byte that DSCP is in: its last bits say that packets may be marked."""
    return quality.dscp << 2 | MARKABLE


def nccl_environment(
    intent: Intent, tenant: Partition | None = None, *, has_levels: bool = False
) -> str:
    """Return NCCL's variables: devices and, on RoCE, the traffic class and address type.

    NICs of different rails hang on different leaves, so NCCL keeps to one (NCCL_CROSS_NIC 0).

    Args:
        intent: What the devices are told.
        tenant: On InfiniBand, whose computers they are for; without, for those of no tenant.
        has_levels: Whether tenants have service levels of their own.
    """
    site, quality = intent.site, intent.quality
    names = ",".join(site.interface(host) for host in site.ports_of[0])
    is_rdma = site.network.technology.transport != "tcp"
    values = {"NCCL_IB_HCA": f"={names}"} if is_rdma else {"NCCL_NET": "Socket"}
    if site.network.design.num_rails > 1:
        values["NCCL_CROSS_NIC"] = "0"
    if quality is not None:
        values |= {
            "NCCL_IB_TC": str(traffic_class(quality)),
            "NCCL_IB_GID_INDEX": str(GID_INDEX),
            "NCCL_IB_QPS_PER_CONNECTION": str(quality.connections),
        }
    if tenant is not None:
        values["NCCL_IB_PKEY"] = str(TENANT_KEY_INDEX)
        if has_levels:
            values["NCCL_IB_SL"] = str(tenant.level)
    return "".join(f"{name}={value}\n" for name, value in values.items())


def read_qos(text: str, where: str) -> HostQos:
    """Return what a computer's script says of lossless traffic; what it omits is left out."""
    pauses = _PAUSES.findall(text)
    priorities = _PRIORITY.findall(text)
    return HostQos(
        where=where,
        priority_of={int(dscp): int(priority) for dscp, priority in priorities},
        pausing=frozenset(
            priority for row in pauses for priority, on in enumerate(row.split(",")) if on == "1"
        ),
        addresses=tuple(_ADDRESS.findall(text)),
    )


def read_nics(text: str, where: str) -> tuple[NicQos, ...]:
    """Return what a computer's script says of each NIC; what it omits is left out."""
    return tuple(_nic(part, where) for part in text.split("netdev=")[1:])


def _nic(text: str, where: str) -> NicQos:
    whole = read_qos(text, where)
    marks = _ECN.findall(text)
    cnp = {kind: int(value) for value, kind in _CNP.findall(text)}
    return NicQos(
        where=where,
        mtu_bytes=_number(_MTU.search(text)) or 0,
        trusts_dscp="--trust dscp" in text,
        priority_of=whole.priority_of,
        pausing=whole.pausing,
        cm_tos=_number(_TOS.search(text)),
        tos=_number(_CLASS.search(text)),
        cnp_dscp=cnp.get("dscp"),
        cnp_priority=cnp.get("802p_prio"),
        notifies=frozenset(int(priority) for side, priority in marks if side == "np"),
        reacts=frozenset(int(priority) for side, priority in marks if side == "rp"),
    )


def _number(found: re.Match[str] | None) -> int | None:
    return int(found[1]) if found else None


def read_traffic_class(text: str) -> int | None:
    """Return the traffic class in NCCL's environment; None where there is none."""
    return _number(_NCCL.search(text))
