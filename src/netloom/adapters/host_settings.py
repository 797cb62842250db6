"""The settings of a computer: NIC quality of service, addresses, routes, NCCL's environment."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from netloom.ops.deploy.quality import MTU_BYTES
from netloom.ops.deploy.rules import HostQos
from netloom.ops.underlay import HOSTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.deploy.intent import Intent
    from netloom.ops.deploy.partitions import Partition
    from netloom.ops.deploy.quality import Quality

__all__ = ["VENDOR", "nccl_environment", "nic_commands", "read_qos"]

VENDOR: Final = "NVIDIA"  # whose NICs mlnx_qos and cma_roce_tos set up
FIRST_TABLE: Final = 100  # of routes, one for each NIC port; the kernel's own are 253 to 255
TENANT_MTU_BYTES: Final = 9000  # the usual one below 9216 less the 50 bytes of VXLAN
GID_INDEX: Final = 3  # RoCEv2 over IPv4 on mlx5 devices (NCCL's documentation)
# OpenSM keeps the default partition at index 0 of a port's table and puts a tenant's after it,
# as smpquery pkeys shows.
TENANT_KEY_INDEX: Final = 1

_PAUSES: Final = re.compile(r"--pfc ((?:[01],){7}[01])", re.ASCII)
_PRIORITY: Final = re.compile(r"--dscp2prio set,(\d{1,2}),(\d)", re.ASCII)
_ADDRESS: Final = re.compile(r"ip address replace (\S{1,50}) dev", re.ASCII)


def nic_commands(intent: Intent, computer: int) -> str:
    """Return a shell script that sets up the NICs of a computer."""
    lines = ["#!/bin/sh", "set -eu", *_nic_lines(intent, computer)]
    return "".join(f"{line}\n" for line in lines)


def _nic_lines(intent: Intent, computer: int) -> Iterator[str]:
    for host in intent.site.ports_of[computer]:
        device = intent.site.interface(host)
        yield f"netdev=$(ls /sys/class/infiniband/{device}/device/net)"
        yield f'ip link set "$netdev" mtu {_mtu(intent)} up'
        yield f'ip address replace {intent.host_link(host).host_address} dev "$netdev"'
        yield from _routes(intent, host)
        if intent.quality is not None:
            yield from _lossless(device, intent.quality)


def _mtu(intent: Intent) -> int:
    """Return the MTU of a NIC: with tenants, what a tunnel of the switches' MTU carries."""
    return TENANT_MTU_BYTES if intent.partitions else MTU_BYTES


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
    yield f"cma_roce_tos -d {device} -t {quality.dscp << 2}"
    yield f"echo {quality.dscp << 2} > /sys/class/infiniband/{device}/tc/1/traffic_class"
    yield f'echo 1 > "{ecn}/roce_np/enable/{quality.priority}"'
    yield f'echo 1 > "{ecn}/roce_rp/enable/{quality.priority}"'
    yield f'echo {quality.cnp_dscp} > "{ecn}/roce_np/cnp_dscp"'
    yield f'echo {quality.cnp_priority} > "{ecn}/roce_np/cnp_802p_prio"'


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
            "NCCL_IB_TC": str(quality.dscp << 2),
            "NCCL_IB_GID_INDEX": str(GID_INDEX),
            "NCCL_IB_QPS_PER_CONNECTION": str(site.network.technology.flows_per_rank),
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
