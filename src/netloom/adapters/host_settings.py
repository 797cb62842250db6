"""The settings of a node: NIC quality of service, addresses, and NCCL's environment."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from netloom.ops.deploy.quality import MTU_BYTES
from netloom.ops.deploy.rules import HostQos

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.deploy.intent import Intent
    from netloom.ops.deploy.quality import Quality
    from netloom.ops.site import Site

__all__ = ["nccl_environment", "nic_commands", "read_qos"]

_PAUSES: Final = re.compile(r"--pfc ((?:[01],){7}[01])", re.ASCII)
_PRIORITY: Final = re.compile(r"--dscp2prio set,(\d{1,2}),(\d)", re.ASCII)
_ADDRESS: Final = re.compile(r"ip address replace (\S{1,50}) dev", re.ASCII)


def nic_commands(intent: Intent, node: int) -> str:
    """Return a shell script that sets up the NICs of *node*."""
    lines = ["#!/bin/sh", "set -eu", *_nic_lines(intent, node)]
    return "".join(f"{line}\n" for line in lines)


def _nic_lines(intent: Intent, node: int) -> Iterator[str]:
    for host in _hosts(intent.site, node):
        device = intent.site.interface(host)
        yield f"netdev=$(ls /sys/class/infiniband/{device}/device/net)"
        yield f'ip link set "$netdev" mtu {MTU_BYTES} up'
        yield f'ip address replace {intent.host_link(host).host_address} dev "$netdev"'
        if intent.quality is not None:
            yield from _lossless(device, intent.quality)


def _lossless(device: str, quality: Quality) -> Iterator[str]:
    """Yield the lines that make a NIC pause, mark and notify as the switches expect."""
    pauses = ",".join("1" if p == quality.priority else "0" for p in range(8))
    yield f'mlnx_qos -i "$netdev" --trust dscp --pfc {pauses}'
    yield f'mlnx_qos -i "$netdev" --dscp2prio set,{quality.dscp},{quality.priority}'
    yield f'mlnx_qos -i "$netdev" --dscp2prio set,{quality.cnp_dscp},{quality.cnp_priority}'
    yield f"cma_roce_tos -d {device} -t {quality.dscp << 2}"
    yield f"echo {quality.dscp << 2} > /sys/class/infiniband/{device}/tc/1/traffic_class"
    yield f'echo {quality.cnp_dscp} > "/sys/class/net/$netdev/ecn/roce_np/cnp_dscp"'


def nccl_environment(intent: Intent) -> str:
    """Return NCCL's variables: devices and, on RoCE, the traffic class and address type.

    Rails that do not meet above the leaves make NCCL keep to them (NCCL_CROSS_NIC 0).
    """
    site, quality = intent.site, intent.quality
    names = dict.fromkeys(site.interface(host) for host in _hosts(site, 0))
    values = {"NCCL_IB_HCA": "=" + ",".join(names)}
    if site.network.design.num_rails > 1:
        values["NCCL_CROSS_NIC"] = "0"
    if quality is not None:
        values |= {
            "NCCL_IB_TC": str(quality.dscp << 2),
            "NCCL_IB_GID_INDEX": "3",
            "NCCL_IB_QPS_PER_CONNECTION": str(site.network.technology.flows_per_rank),
        }
    return "".join(f"{name}={value}\n" for name, value in values.items())


def _hosts(site: Site, node: int) -> range:
    """Return the NIC ports of *node*: they are numbered by node."""
    per_node = len(site.nics) // site.network.design.num_nodes
    return range(node * per_node, (node + 1) * per_node)


def read_qos(text: str, where: str) -> HostQos:
    """Return what a node's script says of lossless traffic; what it does not say is left out."""
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
