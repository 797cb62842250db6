"""What each generation of scale-up network was measured to achieve.

NCCL's tables say what it expects; these say what was reached. Each number is a
:class:`Constant` with its source, and the note says which rows it was taken from, so that
those rows are not mistaken for a check of the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from netloom.provenance import Source, Why

__all__ = [
    "CHUNK_BYTES",
    "PCIE_SHARE",
    "Constant",
    "Profile",
    "is_measured",
    "profile_of",
]

# The ramp counts doublings from here: one chunk of every channel.
CHUNK_BYTES: Final = 2.0**20

_VTRAIN = "VIA-Research/vTrain trace/{}/AR_GPU2_1M_1024M_LUT"
_ML_ENGINEERING = "stas00/ml-engineering 744d01e1 network/README.md"
_TOPO_H = "NVIDIA/nccl src/graph/topo.h at commit 5067397c"


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
        overhead_s: What a call costs on top of the library's own latency.
        has_ll128: Whether the library uses the LL128 protocol there.
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
    overhead_s: Constant | None = None
    has_ll128: bool = True
    nvls_share: Constant | None = None
    nvls_bus_share: Constant | None = None


def _constant(
    name: str, value: float, citation: str, note: str = "", *, unit: str = ""
) -> Constant:
    source = Source(citation=citation, confidence="measured", note=note)
    return Constant(name=name, value=value, unit=unit, source=source)


_RAMP = _constant(
    "time a doubling adds",
    9e-6,
    "NVIDIA/dgxc-benchmarking 841f5466 nccl/README.md",
    "one number, fitted to the H100 all-reduce rows of 1 MiB and more, used from Ampere on",
    unit="s",
)
_NO_RAMP = _constant(
    "time a doubling adds",
    0.0,
    _VTRAIN.format("v100"),
    "fitted to the V100 rows of 2 ranks: links of 25 GB/s are full at once",
    unit="s",
)
_NO_FILL = _constant(
    "fill steps of a ring",
    0.0,
    "NVIDIA/nccl issue #1455",
    "H100 ring bus bandwidth is 365 to 370 GB/s for 2 to 8 GPUs alike",
)

_LL_OLD = Constant(
    name="share that LL leaves",
    value=0.25,
    source=Source(
        citation="NVIDIA/nccl src/graph/tuning.cc at commit 01afd20",
        confidence="published",
        note="what NCCL found on Volta and Ampere; flags alone leave 0.5",
    ),
)
_LL = Constant(
    name="share that LL leaves",
    value=0.5,
    source=Source(
        citation="NVIDIA/nccl src/graph/tuning.cc at commit 5067397c", confidence="published"
    ),
)

_PROFILES: Final[dict[str, Profile]] = {
    "volta": Profile(
        generation="volta",
        num_channels=12,
        link_share=_constant(
            "share of the link rate in a ring",
            22.5 / 25,
            _VTRAIN.format("v100"),
            "22.5 of 25 GB/s, the V100 rows of 2 ranks",
        ),
        fill_steps=_constant(
            "fill steps of a ring", 0.0, _VTRAIN.format("v100"), "V100 rows of 2 ranks"
        ),
        ramp_s=_NO_RAMP,
        ll_share=_LL_OLD,
    ),
    "ampere": Profile(
        generation="ampere",
        num_channels=12,
        link_share=_constant(
            "share of the link rate in a ring",
            235.0 / 300,
            f"{_ML_ENGINEERING}; NVIDIA/nccl src/graph/tuning.cc at commit 01afd20",
            "234.9 of 300 GB/s at 16 GiB; NCCL itself capped A100 at 235",
        ),
        fill_steps=_constant(
            "fill steps of a ring",
            0.4,
            _VTRAIN.format("a100"),
            "196.5 GB/s at 2 ranks: 235 x 2 / (2 + 0.4); the rows of 3 to 8 ranks check it",
        ),
        ramp_s=_RAMP,
        ll_share=_LL_OLD,
    ),
    "hopper": Profile(
        generation="hopper",
        num_channels=16,
        link_share=_constant(
            "share of the link rate in a ring",
            370.0 / 450,
            "NVIDIA/nccl-tests issue #212",
            "a maintainer: 370 of 450 GB/s after protocol overhead; topo.h has 20.6 a link",
        ),
        fill_steps=_NO_FILL,
        ramp_s=_RAMP,
        ll_share=_LL,
        nvls_share=_constant(
            "share of the GPU's rate with NVLink SHARP",
            307.0 / 450,
            "NVIDIA/nccl issue #1455",
            "algorithm bandwidth 258, 265, 270, 273 GB/s on 5 to 8 GPUs is 307 / (1 + 1/n)",
        ),
        nvls_bus_share=_constant(
            "ceiling of NVLink SHARP's bus bandwidth over the GPU's rate",
            480.0 / 450,
            "NVIDIA/nccl-tests issue #212",
            "a maintainer: a peak of about 480 GB/s on 8 GPUs",
        ),
    ),
    "blackwell": Profile(
        generation="blackwell",
        num_channels=16,
        link_share=_constant(
            "share of the link rate in a ring",
            40.1 * 18 / 900,
            _TOPO_H,
            "what NCCL reckons with for a link of 50 GB/s; a fit of B200 gives 0.67 (SimuMax)",
        ),
        fill_steps=_NO_FILL,
        ramp_s=_RAMP,
        ll_share=_LL,
        overhead_s=_constant(
            "overhead of a call",
            22.2e-6,
            "MooreThreads/SimuMax v1.2, system b200_bf16_ceperm",
            "its fixed latency of an all-reduce on 8 B200",
            unit="s",
        ),
        nvls_share=_constant(
            "share of the GPU's rate with NVLink SHARP",
            540.0 / 900,
            "coreweave/nccl-tests pull request #43",
            "840 GB/s of bus bandwidth on GB200, put as 540 / (1 + 1/n) at 8 GPUs as on Hopper",
        ),
        nvls_bus_share=_constant(
            "ceiling of NVLink SHARP's bus bandwidth over the GPU's rate",
            840.0 / 900,
            "coreweave/nccl-tests pull request #43",
            "839 GB/s at 4 GiB on 72 GB200",
        ),
    ),
    "cdna": Profile(
        generation="ampere",
        num_channels=14,
        link_share=_constant(
            "share of the link rate in a ring",
            47.671 / 64,
            _ML_ENGINEERING,
            "MI300X, 2 GPUs over one link of 64 GB/s; the row of 8 GPUs checks it",
        ),
        fill_steps=_NO_FILL,
        ramp_s=_RAMP,
        ll_share=_LL_OLD,
        has_ll128=False,  # RCCL leaves it off between nodes (recalled)
    ),
}

# Nothing is measured on these: the generation beside them stands in, with a doubt.
_NEAREST = {"pascal": "volta", "rubin": "blackwell", "gaudi 3": "cdna"}

_NIC_SHARE: Final = _constant(
    "share of a NIC's payload rate that NCCL reaches",
    24.0 / 25 / 0.9937,
    "NVIDIA/nccl-tests issue #119",
    "a maintainer: 24 GB/s is the peak of a 200 Gb/s NIC; over the framing of InfiniBand, 0.9937",
)

# AWS's own NIC and transport fall further short of the wire.
_EFA_SHARE: Final = _constant(
    "share of an EFA's payload rate that NCCL reaches",
    0.74 / 0.98,
    _ML_ENGINEERING,
    "74 % of the wire in an all-reduce on 4 nodes of 8 B200; 0.98 is taken for the headers",
)

PCIE_SHARE: Final = (
    _constant(
        "share of the PCIe rate in a ring of up to 4 GPUs",
        0.692,
        "MooreThreads/SimuMax v1.2, system a100_pcie",
        "fitted there: 0.6924 on 4 GPUs, 0.6965 on 2",
    ),
    _constant(
        "share of the PCIe rate in a ring of more GPUs",
        0.418,
        "MooreThreads/SimuMax v1.2, system a100_pcie",
        "fitted there: 0.4176 on 8 GPUs, which cross the sockets",
    ),
)


def nic_share(nic: str) -> Constant:
    """Return what NCCL reaches over the NIC called *nic*, over its payload rate."""
    return _EFA_SHARE if nic.upper().startswith("EFA") else _NIC_SHARE


def profile_of(architecture: str) -> Profile:
    """Return the profile of a GPU architecture, or of the nearest one that was measured."""
    name = architecture.lower()
    known = next((key for key in _PROFILES if key in name), None)
    return _PROFILES[known or _NEAREST.get(name, "ampere")]


def is_measured(architecture: str) -> bool:
    """Return whether collectives on *architecture* itself were measured."""
    return any(key in architecture.lower() for key in _PROFILES)
