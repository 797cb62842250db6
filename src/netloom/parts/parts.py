"""The kinds of parts the catalogue knows, one frozen model each.

A part is read from TOML. Every number in it has a source: ``sources`` maps a key to the name
of an entry in ``sources.toml``, and ``"*"`` stands for all keys not named.
"""

from __future__ import annotations

from itertools import pairwise
from operator import attrgetter
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from netloom.parts.diffusion import Diffusion
from netloom.parts.mixer import ATTENTION, EXPERTS, FEED_FORWARD, LINEAR, LinearMixer
from netloom.provenance import Source, Why
from netloom.spec.precision import PRODUCT_BITS, Precision
from netloom.spec.quantity import (
    Flops,
    LengthM,
    MoneyUsd,
    PowerW,
    RateBps,
    Share,
    SizeBytes,
    TimeS,
)
from netloom.spec.strict import Strict, written_name

__all__ = [
    "CableType",
    "Gpu",
    "HopTime",
    "LatencyBudget",
    "MeasuredCosts",
    "Model",
    "Nic",
    "Node",
    "Part",
    "PortMode",
    "ScaleUp",
    "Switch",
    "Technology",
    "Transceiver",
]

MAX = 2**31  # more of anything than a part can have

Count = Annotated[int, Field(ge=1, le=MAX)]
Number = Annotated[int, Field(ge=0, le=MAX)]
Rate = Annotated[RateBps, Field(gt=0)]
Size = Annotated[SizeBytes, Field(gt=0)]
Compute = Annotated[Flops, Field(gt=0)]
Length = Annotated[LengthM, Field(gt=0)]
Time = Annotated[TimeS, Field(ge=0)]
Power = Annotated[PowerW, Field(ge=0)]
Money = Annotated[MoneyUsd, Field(ge=0)]


class Part(Strict):
    """What all parts have: a name, a title, and a source for every number.

    Attributes:
        sources: For each key of the file, who says so; resolved from ``sources.toml``. A key
            inside a table is dotted (``latency.switch``); ``*`` stands for all keys not named.
        notes: For a key, what else is claimed and why this value was chosen.
    """

    name: str
    title: str = ""
    sources: dict[str, Source] = Field(default_factory=dict)
    notes: dict[str, str] = Field(default_factory=dict)

    def source(self, attribute: str) -> Source | None:
        """Return who says what *attribute* is; None for a default, which has no source.

        *attribute* may reach into a table: ``latency.switch_s``. Then the source of that one
        value comes first, then the table's, then the part's.
        """
        if not _is_given(self, attribute):
            return None
        keys = _lookups(self.written(attribute))
        return next((self.sources[key] for key in keys if key in self.sources), None)

    def note(self, attribute: str) -> str:
        """Return what else is claimed of *attribute*; empty when there is nothing to say."""
        key = self.written(attribute)
        return next((self.notes[at] for at in (key, key.partition(".")[0]) if at in self.notes), "")

    def written(self, attribute: str) -> str:
        """Return the key under which a file gives *attribute*, dotted inside a table."""
        first, _, rest = attribute.partition(".")
        alias = type(self).model_fields[first].alias or first
        return f"{alias}.{written_name(rest)}" if rest else alias

    def why(self, attribute: str, *, unit: str = "") -> Why:
        """Return *attribute* as a leaf of an explanation; it may reach into a table."""
        value = attrgetter(attribute)(self)
        return Why(
            name=f"{self.name} {self.written(attribute)}",
            value=value if isinstance(value, (int, float)) else str(value),
            unit=unit,
            how=self.note(attribute),
            source=self.source(attribute),
        )


def _is_given(model: Strict, attribute: str) -> bool:
    """Return whether a file gave *attribute*, rather than leaving it at its default."""
    first, _, rest = attribute.partition(".")
    inner = getattr(model, first)
    given = first in model.model_fields_set
    return given and (not isinstance(inner, Strict) or not rest or _is_given(inner, rest))


def _lookups(key: str) -> tuple[str, str, str]:
    return key, key.partition(".")[0], "*"


class PeakRates(Strict):
    """Dense tensor throughput by precision; a missing precision is not supported.

    Tensor cores that take NVFP4 take MXFP8 as well, at the rate of fp8; other GPUs that scale
    blocks state ``mxfp8``. Hopper and MI300X scale whole tensors alone.
    """

    bf16: Compute | None = None
    fp16: Compute | None = None
    fp8: Compute | None = None
    mxfp8: Compute | None = None
    fp4: Compute | None = None

    def at(self, precision: Precision) -> float | None:
        """Return the peak of products at *precision*; None where the GPU has none."""
        match precision:
            case "mxfp8":
                return self.mxfp8 or (self.fp8 if self.fp4 else None)
            case "nvfp4":
                return self.fp4
            case _:
                found: float | None = getattr(self, precision)
                return found

    def precisions(self) -> str:
        """Return the precisions that it has, for people."""
        return ", ".join(one for one in PRODUCT_BITS if self.at(one))


class Gpu(Part):
    """An accelerator.

    Attributes:
        peak: Dense peak, as the vendor states it.
        matmul_flops: The best bf16 matrix product anyone measured, where known.
        calibration: Path of the table that ``netloom calibrate gpu`` wrote on it; in a file of
            parts, relative to that file.
    """

    vendor: str
    architecture: str
    peak: PeakRates
    matmul_flops: Compute | None = None
    memory_bytes: Size
    memory_rate_bps: Rate
    power_w: Power
    price_usd: Money | None = None
    calibration: str = ""


class ScaleUp(Part):
    """The network inside a node or rack.

    Attributes:
        kind: ``switched``: every GPU reaches every other at its full rate through NVSwitch;
            ``full-mesh``: a direct link to each other GPU; ``hybrid-cube-mesh``: the DGX-1
            pattern of direct links; ``pcie-tree``: GPUs share PCIe switches and the host.
        rate_bps: What one GPU can send in all, one direction.
        link_rate_bps: One link, one direction.
        num_links: Links of one GPU.
        in_network_reduction: Whether the switches add up (NVLink SHARP).
        latency_s: GPU to GPU, one hop.
    """

    kind: Literal["switched", "full-mesh", "hybrid-cube-mesh", "pcie-tree"]
    generation: str
    rate_bps: Rate
    link_rate_bps: Rate
    num_links: Count
    num_switches: Number = 0
    in_network_reduction: bool = False
    latency_s: Time


class Node(Part):
    """A machine, or a rack that is one scale-up domain.

    Attributes:
        num_gpus: GPUs in it, all in one scale-up domain.
        num_hosts: Computers in it: 18 compute trays in an NVL72 rack.
        num_nics: NICs for the scale-out network.
        ports_per_cage: NICs that share one transceiver: 2 in a DGX H100, whose eight NICs leave
            through four twin-port OSFP cages.
        host_rate_bps: PCIe or C2C between a GPU and its NIC, one direction.
        host_memory_rate_bps: Between a GPU and the host's memory, one direction, where it is not
            the way to the NIC (NVLink-C2C).
        nic_share: What NCCL reaches of a NIC's payload rate over this machine's path to the NIC,
            where that is less than the plugin reaches elsewhere; None where it is not.
        power_w: All of it, GPUs and NICs included, at full load.
        price_usd: All of it, NICs included.
    """

    gpu: str
    num_gpus: Count
    num_hosts: Count = 1
    scale_up: str
    nic: str
    num_nics: Count
    ports_per_cage: Count = 1
    host_rate_bps: Rate
    host_memory_rate_bps: Rate | None = None
    nic_share: Annotated[Share, Field(gt=0, le=1)] | None = None
    power_w: Power
    price_usd: Money | None = None


class Nic(Part):
    """A network card."""

    vendor: str
    protocols: tuple[str, ...]
    rate_bps: Rate
    pcie: str = ""
    power_w: Power | None = None
    price_usd: Money | None = None


class PortMode(Strict):
    """One way to split a switch's capacity into ports."""

    count: Count
    rate_bps: Rate


class Switch(Part):
    """A switch in a box.

    Attributes:
        modes: The ways its ports can be split, fastest ports first.
        power_w: At full load without optics.
        ports_per_cage: Ports at the rate of the first mode that share one transceiver.
        price_range_usd: The lowest and the highest price known, where sources differ.
    """

    vendor: str
    asic: str
    protocol: Literal["infiniband", "ethernet", "scheduled-ethernet"]
    modes: Annotated[tuple[PortMode, ...], Field(min_length=1)]
    latency_s: Time | None = None
    buffer_bytes: Size | None = None
    power_w: Power | None = None
    price_usd: Money | None = None
    price_range_usd: tuple[Money, Money] | None = None
    ports_per_cage: Count = 1

    def radix(self, rate_bps: float) -> int:
        """Return the number of ports at *rate_bps*, 0 when it cannot be split so."""
        return next((mode.count for mode in self.modes if mode.rate_bps == rate_bps), 0)


class Transceiver(Part):
    """A pluggable module that lights up one or two fibre cables.

    Attributes:
        rate_bps: Of one port; a port may also be split into several slower ones.
        num_ports: Fibre cables at the full rate.
        power_w: All ports together.
        price_usd: All ports together.
        price_range_usd: The lowest and the highest price known, where sources differ.
    """

    rate_bps: Rate
    num_ports: Count = 1
    medium: Literal["multimode", "singlemode"]
    reach_m: Length
    power_w: Power
    price_usd: Money
    price_range_usd: tuple[Money, Money] | None = None


class CableType(Part):
    """A cable: copper or active optical with its ends on it, or plain fibre.

    Attributes:
        medium: ``multimode`` and ``singlemode`` need a transceiver at each end.
        power_w: Both ends together; plain fibre and passive copper use none.
        price_usd: Of the shortest one; ``price_per_metre`` is added for each metre.
    """

    medium: Literal["dac", "acc", "aoc", "multimode", "singlemode"]
    rates: tuple[Rate, ...]
    reach_m: Length
    power_w: Power
    price_usd: Money
    price_usd_per_m: Money = Field(alias="price_per_metre")


class Model(Part):
    """A transformer, dense or mixture-of-experts.

    Attributes:
        parameters: As published, for checking ours.
        num_kv_heads: Equal to ``num_heads`` for plain multi-head attention.
        head_dim: Of one head; with MLA, of its part without rotary embedding.
        ffn_hidden: Width of the dense feed-forward block; of a model without any, of an expert.
        gated: Whether the feed-forward block has three matrices (SwiGLU), not two.
        num_experts: Routed experts in a MoE layer; 0 for a dense model.
        first_dense_layers: Leading layers that stay dense in a MoE model.
        expert_interval: Of the layers after those, every n-th has experts.
        query_rank: Rank of the compressed queries (MLA); 0 without MLA.
        kv_rank: Rank of the compressed keys and values (MLA); 0 without MLA.
        rope_head_dim: Of the part of a head with rotary embedding (MLA), beside ``head_dim``.
        value_head_dim: Of a head's values (MLA).
        head_norms: Whether queries and keys are normalised head by head.
        clamped: Whether the inputs of the experts' activation are clamped first.
        window: Tokens that a query looks back at in layers with a sliding window; 0 without any.
        window_interval: Of that many layers *num_windowed* have the window.
        linear: What layers without attention have in its place; None where all have attention.
        attention_interval: With *linear*, one of that many layers has attention.
        pattern: With *linear*, layers that are one thing only, a letter each: ``M`` linear, ``*``
            attention, ``-`` feed-forward, ``E`` experts. Empty where every layer is an attention
            or its like and a feed-forward block.
        gated_attention: Whether the attention's output is multiplied by a gate of its width.
        expert_latent: What a token is projected to before it goes to its experts, and back from;
            0 where experts take the token itself.
        grouped_router: Whether the router first chooses groups of experts, by sigmoid scores.
        diffusion: Of a diffusion model, whose ``vocabulary`` is the values of a token.
    """

    parameters: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    num_layers: Count
    hidden: Count
    num_heads: Count
    num_kv_heads: Count
    head_dim: Count
    ffn_hidden: Count
    vocabulary: Count
    gated: bool = True
    biases: bool = False
    learned_positions: Number = 0
    tied_embeddings: bool = False
    num_experts: Number = 0
    experts_per_token: Number = 0
    expert_hidden: Number = 0
    num_shared_experts: Number = 0
    first_dense_layers: Number = 0
    expert_interval: Count = 1
    query_rank: Number = 0
    kv_rank: Number = 0
    rope_head_dim: Number = 0
    value_head_dim: Number = 0
    head_norms: bool = False
    grouped_router: bool = False
    diffusion: Diffusion | None = None
    clamped: bool = False
    window: Number = 0
    window_interval: Count = 1
    num_windowed: Count = 1
    linear: LinearMixer | None = None
    attention_interval: Count = 1
    pattern: str = ""
    gated_attention: bool = False
    expert_latent: Number = 0

    @model_validator(mode="after")
    def _layers_agree(self) -> Self:
        letters = set(self.pattern)
        unknown = letters - {LINEAR, ATTENTION, FEED_FORWARD, EXPERTS}
        checks = (
            (bool(unknown), f"{min(unknown, default='')!r} is no kind of layer in 'pattern'"),
            (
                bool(self.pattern) and len(self.pattern) != self.num_layers,
                f"'pattern' has {len(self.pattern)} layers, 'num_layers' is {self.num_layers}",
            ),
            (
                self.linear is None and (LINEAR in letters or self.attention_interval > 1),
                "layers without attention need 'linear'",
            ),
            (
                bool(self.pattern) and (EXPERTS in letters) != (self.num_experts > 0),
                f"layers with experts ({EXPERTS!r}) and 'num_experts' need one another",
            ),
            (
                self.num_windowed > self.window_interval,
                f"{self.num_windowed} of {self.window_interval} layers cannot have the window",
            ),
        )
        for wrong, message in checks:
            if wrong:
                raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _experts_agree(self) -> Self:
        if self.num_experts and not (
            1 <= self.experts_per_token <= self.num_experts and self.expert_hidden
        ):
            message = (
                f"{self.num_experts} experts need 'expert_hidden' and "
                f"'experts_per_token' from 1 to {self.num_experts}"
            )
            raise ValueError(message)
        return self


class LatencyBudget(Strict):
    """One way, a small message, everything but serialisation and cables."""

    post_s: Time
    send_stack_s: Time
    doorbell_s: Time
    nic_send_s: Time
    switch_s: Time = Field(description="Each switch on the way")
    credit_s: Time = Field(default=0.0, description="Once: the grant a scheduled fabric waits for")
    nic_receive_s: Time
    interrupt_s: Time
    receive_stack_s: Time
    wake_s: Time


class HopTime(Strict):
    """What one hop of a ring between nodes takes, beyond the time of its bytes."""

    size_bytes: Size = Field(description="What a rank passes on in a step: size / ranks")
    time_s: Time


class MeasuredCosts(Strict):
    """What collectives cost and reach on one's own cluster, in place of what netloom ships.

    ``netloom calibrate network`` writes it; a key that is left out stays as shipped.

    Attributes:
        hop_s: What a hop between nodes takes longer than NCCL's table says, messages sent at once.
        rendezvous_s: What it takes longer still where the receiver is asked first (Simple).
        ring_hops: What a hop of a ring takes by the bytes that a rank passes on, ascending; in
            place of NCCL's table and of the two above.
        tree_rate_bps: What trees carry out of a node at most, where their channels and not the NICs
            decide: in racks with more NICs than channels.
        partner_s: Starting with each partner of an all-to-all in another node.
        far_partner_s: What each such partner beyond 19 takes longer.
        all_to_all_share: What an all-to-all reaches over the rate of rings between nodes.
        message_share: What one message reaches over that rate of its NICs.
    """

    hop_s: Time | None = None
    rendezvous_s: Time | None = None
    ring_hops: tuple[HopTime, ...] = ()
    tree_rate_bps: Rate | None = None
    partner_s: Time | None = None
    far_partner_s: Time | None = None
    all_to_all_share: Annotated[Share, Field(gt=0, le=2)] | None = None
    message_share: Annotated[Share, Field(gt=0, le=2)] | None = None

    @model_validator(mode="after")
    def _sizes_ascend(self) -> Self:
        if any(low.size_bytes >= high.size_bytes for low, high in pairwise(self.ring_hops)):
            message = "'ring_hops' must stand in order of their sizes, each size once"
            raise ValueError(message)
        return self


class Technology(Part):
    """A named bundle of link layer, routing and transport.

    Attributes:
        rate_bps: Of one port.
        flow_control: What keeps a buffer from overflowing.
        recovery: What the receiver's NIC does when a packet is missing or out of order.
        load_balancing: How packets choose among equal-cost paths.
        path_efficiency: Share of the bandwidth that adaptive paths deliver under full load.
        flows_per_rank: Five-tuples (QPs or sockets) that a rank spreads one transfer over.
        payload_bytes: Payload of a full packet.
        header_bytes: Everything else that packet occupies on the wire, gaps included.
        loss: Packets lost on a link for reasons other than congestion.
        host_rate_bps: What the CPUs can push through one NIC, where they are in the way.
        max_endpoints: What its control plane can address; 0 for no limit of its own.
        operations: What its control plane offers, feature by feature.
        collectives: What one's own cluster was measured to cost and to reach.
    """

    family: str
    protocol: Literal["infiniband", "ethernet", "scheduled-ethernet"]
    transport: Literal[
        "ib-rc", "rocev1-rc", "rocev2-rc", "iwarp", "tcp", "uet", "mrc", "srd", "cxi"
    ]
    rate_bps: Rate
    nic: str
    switch: str
    flow_control: Literal["credits", "pfc", "none"]
    congestion_control: str
    recovery: Literal["go-back-n", "selective-repeat", "reorder"]
    load_balancing: Literal["ecmp", "static", "adaptive", "spray", "cells"]
    path_efficiency: Annotated[Share, Field(gt=0, le=1)]
    flows_per_rank: Count
    payload_bytes: Size
    header_bytes: Size
    loss: Annotated[Share, Field(ge=0, lt=1)]
    host_rate_bps: Rate | None = None
    in_network_reduction: bool = False
    max_endpoints: Number = 0
    latency: LatencyBudget
    status: Literal["shipping", "emerging", "obsolete", "rare"]
    operations: dict[str, str] = Field(default_factory=dict)
    collectives: MeasuredCosts | None = None
