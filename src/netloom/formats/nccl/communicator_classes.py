"""NCCL's traffic class by communicator, and NICs' priorities for several classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.ops.deploy.service_classes import ServiceClass

__all__ = ["communicator_classes", "nic_classes"]


def communicator_classes(classes: Sequence[ServiceClass]) -> str:
    """Return what each communicator of a job is created with.

    ``trafficClass`` is a field of ncclConfig_t (recalled: NCCL 2.24 and later); NCCL_IB_TC sets one
    for a whole process, which one class for all needs alone.
    """
    lines = ["# communicator: ncclConfig_t.trafficClass, queue pairs"]
    lines += [f"{one.name}: {one.traffic_class} {one.qps}" for one in classes]
    return "".join(f"{line}\n" for line in lines)


def nic_classes(classes: Sequence[ServiceClass]) -> str:
    """Return a script that makes every mlx5 NIC of a host pause and mark in each class."""
    levels = sorted({one.priority for one in classes})
    pauses = ",".join("1" if level in levels else "0" for level in range(8))
    ecn = "/sys/class/net/$netdev/ecn"
    lines = [
        "#!/bin/sh",
        "set -eu",
        "for device in /sys/class/infiniband/*; do",
        '  netdev=$(ls "$device/device/net")',
        f'  mlnx_qos -i "$netdev" --trust dscp --pfc {pauses}',
    ]
    lines += [
        f'  mlnx_qos -i "$netdev" --dscp2prio set,{one.dscp},{one.priority}' for one in classes
    ]
    for level in levels:
        lines += [f'  echo 1 > "{ecn}/roce_{side}/enable/{level}"' for side in ("np", "rp")]
    lines.append("done")
    return "".join(f"{line}\n" for line in lines)
