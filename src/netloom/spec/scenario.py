"""What the user asked for, validated once and frozen.

Only what needs no catalogue is checked here: keys, types, ranges and units. Whether a part
exists, the parallel degrees multiply out, the model fits or the topology can be built is checked
where that is known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping  # noqa: TC003  (pydantic resolves annotations)
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator

from netloom.errors import SpecError
from netloom.spec.fabric.settings import OwnSettings
from netloom.spec.faults import LinkFault
from netloom.spec.inference import Generation, Serving
from netloom.spec.packets import PacketOptions
from netloom.spec.precision import Precision
from netloom.spec.published import Published
from netloom.spec.quantity import Share, TimeS
from netloom.spec.site.section import SiteSettings
from netloom.spec.sites.across import AcrossAxis, SyncSpec
from netloom.spec.sites.spans import MAX_SITES, SiteSpec, SpanSpec
from netloom.spec.software import Software, SoftwareKey
from netloom.spec.strict import Strict
from netloom.spec.surroundings import Economics, Floor
from netloom.spec.tenants import Tenants
from netloom.spec.topology import Topology, default_topology
from netloom.spec.traffic import Traffic
from netloom.spec.tuning import ALL_WEIGHTS, TrainingSample, TuningKey

__all__ = [
    "Cluster",
    "ContextExchange",
    "Economics",
    "ExpertDispatch",
    "FabricSpec",
    "FailureRecord",
    "Floor",
    "Job",
    "NodePlacement",
    "Parallel",
    "Placement",
    "Precision",
    "Recompute",
    "Reliability",
    "Scenario",
    "SharedJob",
    "Training",
]

MAX_GPUS = 4_194_304
MAX_COMPARED = 64
MAX_TRAFFIC = 1024
MAX_TENANTS = 64

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")  # C0, DEL and C1: a terminal acts on them


def _printable(text: str) -> str:
    found = _CONTROL.search(text)
    if found:
        message = f"holds the control character {found[0]!r}; write plain text on one line"
        raise ValueError(message)
    return text


Count = Annotated[int, Field(ge=1, le=MAX_GPUS)]
_PLAIN = {"pattern": r"^[^\u0000-\u001f\u007f-\u009f]*$"}
_Printable = AfterValidator(_printable)
Line = Annotated[str, Field(max_length=200, json_schema_extra=_PLAIN), _Printable]
Name = Annotated[str, Field(min_length=1, max_length=200, json_schema_extra=_PLAIN), _Printable]
RouterChoice = Literal["any", "neighbours"]
ContextExchange = Literal["ring", "all-gather"]
Net = Literal["ib", "sockets", "ofi", "tcpx", "tcpxo"]
FailureRecord = Literal["llama-3", "meta-rsc-1", "meta-rsc-2", "alibaba-hpn"]
ExpertDispatch = Literal["all-gather", "all-to-all", "deepep", "hybridep"]
_Renamed = BeforeValidator(
    lambda value: "deepep" if value == "once-per-node" else value,
    json_schema_input_type=ExpertDispatch | Literal["once-per-node"],
)
PipelineOrder = Literal["1f1b", "gpipe", "zero-bubble"]
Recompute = Literal["none", "light", "selective", "full"]

DEFAULT_COMPARISON = (
    "infiniband-ndr",
    "spectrum-x-400g",
    "uet-400g",
    "scheduled-400g",
    "rocev2-400g",
    "iwarp-100g",
    "tcp-400g",
)


class FabricSpec(Strict):
    """The scale-out network."""

    technology: Name = Field(
        default="infiniband-ndr", description="Catalogue name of link layer, routing and transport"
    )
    topology: Topology = Field(
        default_factory=default_topology,
        description="How the switches are wired; a non-blocking rail-fat-tree when left out",
    )
    switch: Name | None = Field(
        default=None, description="Catalogue name of the switch; the technology's own when left out"
    )
    loss: Annotated[Share, Field(ge=0, lt=1)] | None = Field(
        default=None, description="Packet loss on a link; the technology's own when left out"
    )
    in_network_reduction: bool = Field(
        default=False,
        description="Whether switches that can add up do so (SHARP); libraries leave it off",
    )
    settings: Name | OwnSettings | None = Field(
        default=None,
        description="Published marks and congestion control of lossless Ethernet by name, such as "
        "dcqcn-paper, or your own; the technology's own when left out",
    )
    floor: Floor = Field(default=Floor(), description="The machine room")


class Nccl(Strict):
    """How the communication library reaches the wire."""

    net: Net | None = Field(
        default=None,
        description="Its plugin: ib (verbs), sockets (kernel TCP), ofi (libfabric: EFA and "
        "Slingshot), tcpx, tcpxo; the technology's own when left out",
    )
    gpudirect: bool | None = Field(
        default=None,
        description="Whether NICs read and write GPU memory; all ways but sockets do when left out",
    )

    @model_validator(mode="after")
    def _sockets_copy(self) -> Self:
        if self.net == "sockets" and self.gpudirect:
            message = "sockets copy through the host: leave 'gpudirect' out, or use another 'net'"
            raise ValueError(message)
        return self


class Cluster(Strict):
    """The machines: how many, of what kind, on which fabric."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["nodes"]}, {"required": ["gpus"]}]}
    )

    nodes: Annotated[int, Field(ge=1, le=MAX_GPUS)] | None = Field(
        default=None, description="How many nodes; give this or 'gpus'"
    )
    gpus: Annotated[int, Field(ge=1, le=MAX_GPUS)] | None = Field(
        default=None, description="How many GPUs; give this or 'nodes'"
    )
    node: Name = Field(default="dgx-h100", description="Catalogue name of the node")
    gpus_per_node: Annotated[int, Field(ge=1, le=MAX_GPUS)] | None = Field(
        default=None,
        description="How many GPUs of each node are used, with their share of its NICs; all when "
        "left out, or as many as there are where 'gpus' is less than a node's",
    )
    fabric: FabricSpec = Field(default_factory=FabricSpec, description="The scale-out network")
    nccl: Nccl = Field(default=Nccl(), description="How NCCL or RCCL reaches the wire")

    @model_validator(mode="after")
    def _one_size(self) -> Self:
        if (self.nodes is None) == (self.gpus is None):
            message = "give exactly one of 'nodes' and 'gpus'"
            raise ValueError(message)
        return self


class Training(Strict):
    """How the model is trained."""

    sequence: Annotated[int, Field(ge=1, le=16_777_216)] = Field(
        default=4096, description="Tokens in a sequence"
    )
    global_batch: Annotated[int, Field(ge=1, le=16_777_216)] = Field(
        description="Sequences in a step"
    )
    micro_batch: Annotated[int, Field(ge=1, le=65_536)] = Field(
        default=1, description="Sequences that a pipeline stage works on at a time"
    )
    precision: Precision = Field(
        default="bf16",
        description="Number format of matrix products: fp8 scales whole tensors, mxfp8 and nvfp4 "
        "blocks of 32 and 16 values",
    )
    recompute: Recompute = Field(
        default="selective",
        description="Activations computed again in the backward pass: light, norms, activation "
        "functions and latent up-projections; selective, the attention; full, whole layers",
    )
    router_imbalance: Annotated[Share, Field(ge=0, le=10)] = Field(
        default=0.0,
        description="By which share the busiest expert rank has more tokens than the mean, beyond "
        "chance; 0 for routers forced to balance, as benchmarks run them; trained ones made steps "
        "9 to 24 % longer",
    )
    router_choice: RouterChoice = Field(
        default="any",
        description="Which experts a token visits: any of them, or neighbours by turns, as "
        "benchmarks choose that force balance so (AutoModel's fake_balanced_gate); they share a "
        "GPU or a node, and DeepEP sends the token there once",
    )
    expert_capacity: Annotated[float, Field(gt=0, le=1000)] | None = Field(
        default=None,
        description="Tokens that an expert takes at most, over the mean; the others are dropped. "
        "When left out none is dropped",
    )
    tuning: TuningKey = Field(
        default=ALL_WEIGHTS,
        description="Which weights are trained: a method, or how low-rank ones are laid out too",
    )
    packed_sequence: Annotated[int, Field(ge=1, le=16_777_216)] | None = Field(
        default=None,
        description="Mean tokens of the samples packed into a sequence, which attend to "
        "themselves alone; one sample when left out",
    )

    sample: TrainingSample | None = Field(
        default=None,
        description="What a diffusion model is trained on; 'sequence' follows from it",
    )

    @model_validator(mode="before")
    @classmethod
    def _sequence_of_sample(cls, given: Any) -> Any:
        if not (isinstance(given, dict) and given.get("sample")):
            return given
        tokens = TrainingSample.model_validate(given["sample"]).tokens
        if given.get("sequence", tokens) != tokens:
            message = f"'sample' makes {tokens} tokens; leave 'sequence' out, or give that"
            raise ValueError(message)
        return {**given, "sequence": tokens}

    @property
    def span(self) -> int:
        """Tokens that attend to one another."""
        return self.packed_sequence or self.sequence

    @model_validator(mode="after")
    def _packed_fit(self) -> Self:
        if self.span > self.sequence:
            message = (
                f"'packed_sequence' is {self.span}, more than the {self.sequence} tokens of a "
                "sequence; give the mean length of what is packed into one"
            )
            raise ValueError(message)
        return self


class Parallel(Strict):
    """How the work is divided; tensor x context x pipeline x data is the number of GPUs."""

    tensor: Count = Field(default=1, description="GPUs that share each matrix")
    pipeline: Count = Field(default=1, description="Stages that the layers are divided into")
    data: Count | None = Field(
        default=None, description="Copies of the model; what is left over when left out"
    )
    context: Count = Field(default=1, description="GPUs that share each sequence")
    context_exchange: ContextExchange = Field(
        default="ring",
        description="How context ranks see all keys and values: a ring beside the attention, or "
        "an all-gather before it",
    )
    expert: Count = Field(
        default=1, description="GPUs that the experts of a mixture-of-experts layer are spread over"
    )
    expert_tensor: Count | None = Field(
        default=None,
        description="GPUs that share each expert's matrices (Megatron-Core "
        "expert-tensor-parallel-size); 1 where experts are spread and 'tensor' where they are not "
        "when left out",
    )
    expert_dispatch: Annotated[ExpertDispatch, _Renamed] = Field(
        default="all-to-all",
        description="How tokens reach their experts: a copy for each expert, one for each node "
        "(DeepEP, HybridEP), which hands it on, or all tokens gathered on every rank",
    )
    expert_overlap: bool = Field(
        default=False,
        description="Whether another micro-batch's computation hides the way to the experts and "
        "back (Megatron-Core overlap_moe_expert_parallel_comm, DualPipe)",
    )
    virtual_pipeline: Count = Field(
        default=1, description="Chunks of layers in each stage (interleaved schedule)"
    )
    schedule: PipelineOrder = Field(
        default="1f1b",
        description="Order of a stage's passes; zero-bubble puts weight gradients off (ZB-H1)",
    )
    zero: Annotated[int, Field(ge=0, le=3)] = Field(
        default=1,
        description="ZeRO stage, what data-parallel ranks share: 0 nothing, 1 optimizer state, "
        "2 also gradients, 3 also weights",
    )
    zero_ranks: Count | None = Field(
        default=None,
        description="Ranks that share what ZeRO divides, each such set with copies of its own "
        "(HSDP, MiCS); all copies of the model when left out",
    )
    zero_backward_ranks: Count | None = Field(
        default=None,
        description="Ranks that keep a second set of shared weights for the backward pass "
        "(ZeRO++ hpZ); none when left out",
    )
    zero_compress: tuple[Literal["weights", "gradients"], ...] = Field(
        default=(),
        description="What ZeRO 3 sends in fewer bits: weights in 8 (ZeRO++ qwZ), gradients in 4 "
        "(qgZ)",
    )
    sequence_parallel: bool = Field(
        default=True, description="Whether tensor ranks also divide what is between the matrices"
    )
    across: AcrossAxis = Field(
        default="auto",
        description="Which degree crosses between sites, for 'netloom span'; the best when 'auto'",
    )


class Placement(Strict):
    """Where the ranks sit."""

    kind: Literal["packed", "scattered"] = Field(
        default="packed", description="Neighbouring ranks on neighbouring nodes, or anywhere"
    )
    displaced: Annotated[Share, Field(ge=0, le=1)] = Field(
        default=0.0625,
        description="Share of packed nodes that are spares standing elsewhere in the cluster",
    )


class Reliability(Strict):
    """What a failure costs the job.

    A restart of 300 s is what Meta's estimate of effective training time assumes (Revisiting
    reliability in large-scale machine learning research clusters, arXiv:2410.21680); a write of
    30 s and a repair of one day are assumed.
    """

    record: FailureRecord = Field(
        default="llama-3",
        description="Whose failures are expected: the run of Llama 3, Meta's clusters RSC-1 or "
        "RSC-2, or Llama 3's with the links and leaves of Alibaba's HPN",
    )

    checkpoint_write_s: Annotated[TimeS, Field(gt=0, le=86_400)] = Field(
        default=30.0, description="How long the job waits for a checkpoint to be written"
    )
    restart_s: Annotated[TimeS, Field(gt=0, le=86_400)] = Field(
        default=300.0, description="From a failure until training goes on"
    )
    repair_s: Annotated[TimeS, Field(gt=0, le=365 * 86_400)] = Field(
        default=86_400.0, description="How long a broken node is away"
    )
    spares: Annotated[int, Field(ge=0, le=MAX_GPUS)] | None = Field(
        default=None,
        description="Nodes that stand by for broken ones; as many as it takes when left out",
    )


class Job(Strict):
    """What runs on the machines."""

    model: Name = Field(
        description="Catalogue name, or the path of a Hugging Face config.json, relative to here"
    )
    training: Training | None = Field(
        default=None,
        description="How the model is trained; only 'netloom infer' does without",
    )
    parallel: Parallel = Field(default=Parallel(), description="How the work is divided")
    placement: Placement = Field(default=Placement(), description="Where the ranks sit")
    software: SoftwareKey = Field(
        default=Software(), description="Which training software runs it; a name, or switches too"
    )
    reliability: Reliability = Field(
        default=Reliability(), description="What a failure costs the job"
    )
    sync: SyncSpec = Field(
        default=SyncSpec(), description="How sites keep the model alike, for 'netloom span'"
    )

    @model_validator(mode="after")
    def _gradients_to_put_off(self) -> Self:
        frozen = self.training is not None and self.training.tuning.is_low_rank
        if frozen and self.parallel.schedule == "zero-bubble":
            message = (
                "'schedule: zero-bubble' puts weight gradients off, of which 'tuning: lora' has "
                "next to none; use 1f1b"
            )
            raise ValueError(message)
        return self

    @property
    def trained(self) -> Training:
        """How the model is trained, for whatever needs to know.

        Raises:
            SpecError: the scenario does not say: its model is only served.
        """
        if self.training is None:
            raise SpecError(
                key="job.training",
                what="missing",
                remedy=(
                    "add it, such as 'training: {global_batch: 1024}' (only 'netloom "
                    "infer' does without)"
                ),
            )
        return self.training


class NodePlacement(Strict):
    """Which nodes a job gets."""

    kind: Literal["packed", "scattered", "rail-aware", "random"] = Field(
        default="packed",
        description="The first free nodes; free nodes at even distances; whole leaves, those with "
        "most free nodes first; or any, drawn by the seed and in drawn order",
    )
    seed: Annotated[int, Field(ge=0, lt=2**31)] = Field(
        default=0, description="Which draw, of random nodes and of the hash"
    )


class SharedJob(Strict):
    """One of several jobs that share a cluster, for 'netloom share'."""

    name: Line = Field(default="", description="What reports call it")
    nodes: Annotated[int, Field(ge=1, le=MAX_GPUS)] = Field(description="How many nodes it gets")
    arrival_s: Annotated[TimeS, Field(ge=0, le=3.2e9)] = Field(
        default=0.0, description="When it starts"
    )
    steps: Annotated[int, Field(ge=1, le=10**12)] | None = Field(
        default=None, description="Steps until it is done; it never is when left out"
    )
    placement: NodePlacement = Field(
        default=NodePlacement(), description="Which nodes; those of jobs before it are taken"
    )
    job: Job = Field(description="What it trains; where its ranks sit is said by 'placement' here")

    @model_validator(mode="after")
    def _placed_once(self) -> Self:
        if "placement" in self.job.model_fields_set:
            message = "'job.placement' has no say here; give 'placement' beside 'nodes' instead"
            raise ValueError(message)
        return self


class Scenario(Strict):
    """A cluster, what runs on it (a job, or plain traffic), and the technologies to compare."""

    model_config = ConfigDict(serialize_by_alias=True)  # 'job', whatever holds it here

    name: Line = Field(default="", description="What reports call this scenario")
    cluster: Cluster = Field(description="The machines")
    job_given: Job | None = Field(
        default=None,
        alias="job",
        description="What runs on them; 'expect' goes without, and 'simulate' and 'share' may",
    )
    traffic: Annotated[tuple[Traffic, ...], Field(min_length=1, max_length=MAX_TRAFFIC)] | None = (
        Field(default=None, description="What is sent, for 'netloom simulate'")
    )
    jobs: Annotated[tuple[SharedJob, ...], Field(min_length=1, max_length=MAX_TENANTS)] | None = (
        Field(default=None, description="Several jobs on the cluster, for 'netloom share'")
    )
    faults: Annotated[tuple[LinkFault, ...], Field(max_length=MAX_TRAFFIC)] = Field(
        default=(), description="What goes wrong meanwhile, for 'netloom simulate'"
    )
    packets: PacketOptions | None = Field(
        default=None, description="What only the packet engine sees, for 'netloom simulate'"
    )
    serving: Serving | None = Field(
        default=None, description="How the job's model is served, for 'netloom infer'"
    )
    generation: Generation | None = Field(
        default=None, description="What the job's diffusion model makes, for 'netloom infer'"
    )
    sites: Annotated[tuple[SiteSpec, ...], Field(max_length=MAX_SITES)] = Field(
        default=(), description="Where the nodes stand, for 'netloom span'; one place by default"
    )
    spans: Annotated[tuple[SpanSpec, ...], Field(max_length=MAX_SITES * MAX_SITES)] = Field(
        default=(), description="The lines between sites"
    )
    tenants: Tenants = Field(
        default=(), description="Who shares the cluster, kept apart by partitions"
    )
    site: SiteSettings = Field(
        default=SiteSettings(), description="What its switches have in common, for 'netloom deploy'"
    )
    compare: Annotated[tuple[Name, ...], Field(min_length=1, max_length=MAX_COMPARED)] = Field(
        default=DEFAULT_COMPARISON, description="Technologies to compare, by catalogue name"
    )
    published: Published | None = Field(
        default=None, description="What was measured of this very job, shown beside the prediction"
    )
    economics: Economics = Field(default=Economics(), description="How money is counted")
    catalog: Name | None = Field(
        default=None, description="A TOML file of your own parts, relative to this file"
    )

    @property
    def job(self) -> Job:
        """What runs on the machines.

        Raises:
            SpecError: the scenario has none.
        """
        if self.job_given is None:
            has, command = self._instead()
            raise SpecError(
                key="job",
                what=f"this scenario has none, only {has!r}",
                remedy=f"add a job, or use 'netloom {command}'",
            )
        return self.job_given

    def _instead(self) -> tuple[str, str]:
        """Return what the scenario has in place of a job, and the command that takes that."""
        if self.jobs is not None:
            return "jobs", "share"
        return ("cluster", "expect") if self.traffic is None else ("traffic", "simulate")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with some fields changed, ``job`` among them by that name."""
        changes = {("job_given" if key == "job" else key): v for key, v in (update or {}).items()}
        return super().model_copy(update=changes, deep=deep)

    def with_settings(self, asked: str | OwnSettings | None) -> Scenario:
        """Return the scenario with published settings by name, or own ones, on its switches."""
        fabric = self.cluster.fabric.model_copy(update={"settings": asked})
        cluster = self.cluster.model_copy(update={"fabric": fabric})
        return self.model_copy(update={"cluster": cluster})

    def comparing(self, technologies: tuple[str, ...]) -> Scenario:
        """Return the same scenario with other technologies to compare.

        Raises:
            SpecError: there are none, or too many.
        """
        if not 1 <= len(technologies) <= MAX_COMPARED:
            raise SpecError(
                key="technologies",
                what=f"{len(technologies)} names",
                remedy=f"give 1 to {MAX_COMPARED}, such as infiniband-ndr,rocev2-400g",
            )
        return self.model_copy(update={"compare": technologies})
