"""How long a sequence of kernels takes, as the host launches them and the power limit allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.compute.kernels import BURST_S, SUSTAINED_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from netloom.compute.device import Device
    from netloom.compute.kernels import Kernel

__all__ = ["Call", "call"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """How long a call takes.

    Attributes:
        busy_s: What the GPU's kernels take, one after the other.
        host_s: What the host needs to launch them; 0 when it has done so in time.
    """

    duration_s: float
    busy_s: float
    host_s: float


def call(kernels: Iterable[Kernel], device: Device, *, launched: bool) -> Call:
    """Return how long a call takes: the GPU runs kernels in order, as the host launches them.

    A short call runs at the boost clock, a long one at the clock that the power limit allows.

    Args:
        kernels: In the order in which they run.
        device: Where.
        launched: Whether the host launches them one by one (eager), or has done so in time.
    """
    queue = list(kernels)
    short = _run(queue, device, 1.0, launched=launched)
    long = _run(queue, device, device.slowdown(queue), launched=launched)
    weight = min(1.0, max(0.0, (short.duration_s - BURST_S) / (SUSTAINED_S - BURST_S)))
    return Call(
        duration_s=(1 - weight) * short.duration_s + weight * long.duration_s,
        busy_s=(1 - weight) * short.busy_s + weight * long.busy_s,
        host_s=short.host_s,
    )


def _run(kernels: Sequence[Kernel], device: Device, slowdown: float, *, launched: bool) -> Call:
    times_s = {kernel: device.time_s(kernel, slowdown) for kernel in dict.fromkeys(kernels)}
    host_s = gpu_s = busy_s = 0.0
    for kernel in kernels:
        # The first launch is not waited for: calls follow one another.
        gpu_s = max(gpu_s, host_s) + times_s[kernel]
        busy_s += times_s[kernel]
        host_s += device.dispatch_s(kernel) if launched else 0.0
    return Call(duration_s=max(gpu_s, host_s), busy_s=busy_s, host_s=host_s)
