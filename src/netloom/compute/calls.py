"""How long a sequence of kernels takes, as the host launches them and the power limit allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from netloom.compute.kernels import LIMITED, LOAD_S, LOOP_RUNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from netloom.compute.device import GpuDevice
    from netloom.compute.kernels import Kernel

__all__ = ["Call", "Paces", "call", "paces"]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Paces:
    """A call at the boost clock, and at the clock that the power limit allows."""

    boost: Call
    limited: Call

    def after(self, num_runs: float) -> Call:
        """Return the call when a GPU at rest has run it *num_runs* times before.

        The longer a GPU is under load, the nearer it is to its power limit.
        """
        load_s = num_runs * self.boost.duration_s
        weight = float(np.interp(np.log(load_s), np.log(LOAD_S), LIMITED))

        def between(fast: float, slow: float) -> float:
            return (1 - weight) * fast + weight * slow

        return Call(
            duration_s=between(self.boost.duration_s, self.limited.duration_s),
            busy_s=between(self.boost.busy_s, self.limited.busy_s),
            host_s=self.boost.host_s,
        )


def call(kernels: Iterable[Kernel], device: GpuDevice, *, launched: bool) -> Call:
    """Return how long a call takes, repeated a few times from rest; see :func:`paces`."""
    return paces(kernels, device, launched=launched).after(LOOP_RUNS)


def paces(kernels: Iterable[Kernel], device: GpuDevice, *, launched: bool) -> Paces:
    """Return how long a call takes: the GPU runs kernels in order, as the host launches them.

    Args:
        kernels: In the order in which they run.
        device: Where.
        launched: Whether the host launches them one by one (eager), or has done so in time.
    """
    queue = list(kernels)
    return Paces(
        boost=_run(queue, device, 1.0, launched=launched),
        limited=_run(queue, device, device.slowdown(queue), launched=launched),
    )


def _run(kernels: Sequence[Kernel], device: GpuDevice, slowdown: float, *, launched: bool) -> Call:
    times_s = {kernel: device.time_s(kernel, slowdown) for kernel in dict.fromkeys(kernels)}
    host_s = gpu_s = busy_s = 0.0
    for kernel in kernels:
        # The first launch is not waited for: calls follow one another.
        gpu_s = max(gpu_s, host_s) + times_s[kernel]
        busy_s += times_s[kernel]
        host_s += device.dispatch_s(kernel) if launched else 0.0
    return Call(duration_s=max(gpu_s, host_s), busy_s=busy_s, host_s=host_s)
