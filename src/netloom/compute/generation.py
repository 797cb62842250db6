"""Everything that is said of a GPU generation, and the register of them.

A generation is one module of :mod:`netloom.compute.generations`. What was not measured on it is
None there, and the models say so: an entry cannot leave a trait out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from netloom.provenance import Source, Validity, Why
from netloom.registers import Register

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.spec.scenario import Precision

__all__ = [
    "GENERATIONS",
    "Constant",
    "FlashVersion",
    "GpuGeneration",
    "NcclLimits",
    "ProductShare",
    "Profile",
    "Residual",
]

FlashVersion = Literal[1, 2, 3]


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """A number and who says so."""

    name: str
    value: float
    unit: str = ""
    source: Source

    def why(self) -> Why:
        """Return it as a leaf of an explanation."""
        return Why(name=self.name, value=self.value, unit=self.unit, source=self.source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One generation of GPUs and the network among them.

    Attributes:
        generation: The row of NCCL's tables that applies.
        num_channels: Rings that NCCL runs side by side (for direct links, twice the rings).
        link_share: What a ring achieves over the nominal rate of the links it uses.
        fill_steps: Steps that a ring all-reduce takes on top of 2(n-1), each the time of one
            chunk: the last copy that nothing overlaps.
        ll_share: What the LL protocol leaves of the rate.
        partners_share: What all-to-alls and single messages reach over a ring's rate.
        overhead_s: What a call costs on top of the library's own latency.
        launch_s: What launching on each GPU of a node takes, one after the other: the least that a
            collective takes.
        has_ll128: Whether the library uses the LL128 protocol there.
        hides_steps: Whether steps and bytes of a ring with Simple overlap between nodes.
        ramp_s: What each doubling of the size beyond CHUNK_BYTES adds until the pipeline of
            chunks and channels is full.
        nvls_share: What NVLink SHARP achieves over the GPU's nominal rate; None without it.
        nvls_bus_share: Ceiling of the bus bandwidth of NVLink SHARP over that rate.
    """

    generation: str
    num_channels: int
    link_share: Constant
    fill_steps: Constant
    ramp_s: Constant
    ll_share: Constant
    partners_share: Constant
    overhead_s: Constant | None = None
    launch_s: Constant | None = None
    has_ll128: bool = True
    hides_steps: bool = True
    nvls_share: Constant | None = None
    nvls_bus_share: Constant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclLimits:
    """The row of NCCL's tuning tables (src/graph/tuning.cc, topo.h) for a generation.

    Attributes:
        ll_max: GB/s of a channel with LL, on 1 node, 2 nodes, more. On several nodes NCCL looks at
            the CPU instead of the GPU: Volta's row stands for Intel there and Ampere's for AMD.
        ring_ll128_max: The same of a ring with LL128.
        tree_ll128_max: The same of a tree with LL128.
        tree_max: The same of a tree with Simple.
        nvls_tree_max: The same of NVLink SHARP in a tree.
        nvls_efficiency: What NVLink SHARP reaches inside a node.
        link_gbps: What NCCL takes an NVLink to carry.
        collnet_share: What CollNetDirect reaches of the network.
        full_ring_factor: On the latency of a ring between nodes once every channel has work.
    """

    ll_max: tuple[float, float, float]
    ring_ll128_max: tuple[float, float, float]
    tree_ll128_max: tuple[float, float, float]
    tree_max: tuple[float, float, float]
    nvls_tree_max: tuple[float, float, float]
    nvls_efficiency: float
    link_gbps: float
    collnet_share: float
    full_ring_factor: float


class ProductShare(NamedTuple):
    """What a typical 16-bit matrix product reaches over the best one measured on the GPU."""

    share: float
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual:
    """One GPU generation.

    Attributes:
        compute: Operators in a step over the same operators alone: clocks under steady load,
            caches that others use, kernels that were not timed.
        compute_fp8: The same for fp8 training, which also keeps scaling factors.
        compute_mxfp8: The same with scaling factors of blocks; None for that of fp8.
        compute_nvfp4: The same in 4 bits; None for that of fp8.
        flash_1: The first FlashAttention's time over that of the kernels measured on Hopper, at
            the same share of the GPU's peak.
        flash_2: The same of the second.
        flash_3: The same of the current kernels.
        unfused: Memory-bound operators, each a kernel of its own, over fused ones.
        peak_flops: In 16 bits, of the GPUs whose steps it was taken from; None where the
            generation has no slower ones.
        validity: Doubts that come with it.
    """

    compute: float = 1.0
    compute_fp8: float = 1.0
    compute_mxfp8: float | None = None
    compute_nvfp4: float | None = None
    flash_1: float = 1.0
    flash_2: float = 1.0
    flash_3: float = 1.0
    unfused: float = 1.0
    peak_flops: float | None = None
    validity: Validity = field(default_factory=Validity)

    def of(self, precision: Precision) -> float:
        """Return the factor on operators at *precision*."""
        by_name = {
            "fp8": self.compute_fp8,
            "mxfp8": self.compute_mxfp8 or self.compute_fp8,
            "nvfp4": self.compute_nvfp4 or self.compute_fp8,
        }
        return by_name.get(precision, self.compute)

    def attention(self, flash: FlashVersion) -> float:
        """Return the factor on fused attention of a kernel generation."""
        return {1: self.flash_1, 2: self.flash_2, 3: self.flash_3}[flash]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuGeneration:
    """One generation; every trait must be given.

    Attributes:
        name: The architecture as the catalogue writes it, in lower case.
        product: Matrix products; None where none was measured.
        num_multiprocessors: None where no white paper was read.
        has_measured_operators: Whether attention and memory-bound operators were measured on it.
        collectives: What collectives inside a node reached; None where none was measured.
        nearest: Whose collectives stand in where none was measured; empty for none in particular.
        nccl: NCCL's own row; None where it has none, and the profile names another's.
        residual: What is left between operators alone and in a step; None where no step was seen.
        superchips: The same for GPUs, by name, whose host is part of the module.
    """

    name: str
    product: ProductShare | None
    num_multiprocessors: int | None
    has_measured_operators: bool
    collectives: Profile | None
    nearest: str
    nccl: NcclLimits | None
    residual: Residual | None
    superchips: Mapping[str, Residual]


GENERATIONS: Final = Register[GpuGeneration](
    kind="GPU generation", traits=GpuGeneration, home="netloom.compute.generations"
)
