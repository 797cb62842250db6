"""One GPU at the kernels of a denoising pass, and at what comes before and after.

Kernels were timed on one H200; another GPU is given its times, those of arithmetic scaled by the
peaks, those of memory by the memory rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from netloom.compute.attention import work_s
from netloom.compute.device import FALLBACK_SHARE, calibrated, h200
from netloom.compute.roofline import roofline
from netloom.errors import SpecError
from netloom.provenance import Source, Validity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netloom.compute.device import GpuDevice
    from netloom.compute.kernels import Kernel
    from netloom.parts.parts import Gpu
    from netloom.spec.inference import Generation

__all__ = ["DECODER_SHARE", "DECODER_SOURCE", "GenerationGpu", "generation_gpu"]

# Of the 16-bit peak, convolutions of AutoencoderKL's decoder at 1024 x 1024 pixels, one picture:
# 86.0 ms as written, 54.4 ms compiled with channels last, 10.47 TFLOP. Four pictures together take
# 205 ms as written, a picture of 2048 x 2048 396 ms.
DECODER_SHARE: Final = {"eager": 0.123, "compiled": 0.195}
DECODER_SOURCE: Final = Source(
    citation="one H200, PyTorch 2.11: decoder of AutoencoderKL at 1024 x 1024",
    confidence="measured",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationGpu:
    """One GPU.

    Attributes:
        device: The GPU whose kernels were timed.
        arithmetic: Time of arithmetic here over that there.
        memory: Time of memory traffic here over that there.
        peak_flops: In 16 bits.
        memory_bytes_per_s: What a matrix is read at.
        product_flops: What a typical product sustains.
    """

    device: GpuDevice
    arithmetic: float
    memory: float
    peak_flops: float
    memory_bytes_per_s: float
    product_flops: float
    validity: Validity

    def kernels_s(self, kernels: Iterable[Kernel], asked: Generation) -> float:
        """Return the time of *kernels*, one after another; as written the host may be slower."""
        found = list(kernels)
        slowdown = self.device.slowdown(found)
        busy_s = sum(self._kernel_s(one, slowdown, asked) for one in found)
        if asked.mode == "compiled":
            return busy_s
        return max(busy_s, sum(self.device.dispatch_s(one) for one in found))

    def attention_s(self, kernels: Iterable[Kernel], asked: Generation) -> float:
        """Return how much of that is attention."""
        found = list(kernels)
        slowdown = self.device.slowdown(found)
        return sum(self._kernel_s(one, slowdown, asked) for one in found if one.is_attention)

    def _kernel_s(self, kernel: Kernel, slowdown: float, asked: Generation) -> float:
        if kernel.is_attention and asked.attention == "flash-attention-2":
            ideal_s = work_s(kernel.operator, kernel.shape, self.device.chip)
            return self.arithmetic * ideal_s / FALLBACK_SHARE
        time_s = self.device.time_s(kernel, slowdown)
        clocked = kernel.is_product or kernel.is_attention
        return time_s * (self.arithmetic if clocked else self.memory)

    def encoder_s(self, parameters: float, tokens: float) -> float:
        """Return a pass of *tokens* through a text encoder of *parameters*."""
        return max(
            2.0 * parameters * tokens / self.product_flops,
            2.0 * parameters / self.memory_bytes_per_s,
        )

    def decoder_s(self, flops: float, asked: Generation) -> float:
        """Return the autoencoder's way back to pixels."""
        return flops / (DECODER_SHARE[asked.mode] * self.peak_flops)


@cache
def _h200() -> GpuDevice:
    return h200()


def generation_gpu(gpu: Gpu, asked: Generation) -> GenerationGpu:
    """Return *gpu* at the precision asked for.

    Raises:
        SpecError: it does not have that, or its calibration cannot be read.
    """
    peak = gpu.peak.at(asked.precision)
    if peak is None:
        raise SpecError(
            key="generation.precision",
            what=f"{gpu.name} has no {asked.precision}",
            remedy=f"it has {gpu.peak.precisions()}",
        )
    rates = roofline(gpu, asked.precision)
    device = calibrated(Path(gpu.calibration), rates.chip) if gpu.calibration else _h200()
    chip = device.chip
    return GenerationGpu(
        device=device,
        arithmetic=1.0 if gpu.calibration else chip.peak_flops / peak,
        memory=1.0 if gpu.calibration else chip.memory_bytes_per_s / rates.memory_bytes_per_s,
        peak_flops=peak,
        memory_bytes_per_s=rates.shares.pointwise * rates.memory_bytes_per_s,
        product_flops=rates.matmul_flops,
        validity=rates.validity,
    )
