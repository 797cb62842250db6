"""Every way to divide a job: what a search goes through."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, get_args

from netloom.spec.scenario import Job, Parallel, Training
from netloom.step.software import practice_for
from netloom.workload.placement import Layout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.fabric.network import Network
    from netloom.parts.parts import Model
    from netloom.spec.scenario import Recompute
    from netloom.step.practice import Practice

__all__ = [
    "STANDINGS",
    "Configuration",
    "Divided",
    "Space",
    "Standing",
    "divisors",
]

# Light recomputation is left to those who ask for it: it stands for one library's list of modules.
RECOMPUTES: Final[tuple[Recompute, ...]] = ("none", "selective", "full")
ZEROS: Final = (0, 1, 2, 3)
# Whether a configuration lies ``inside`` the range that steps were checked in; ``above`` it only
# in that no published step reaches its MFU; or ``outside`` in another way.
Standing: TypeAlias = Literal["inside", "above", "outside"]
STANDINGS: Final[tuple[Standing, ...]] = get_args(Standing)


class Divided(NamedTuple):
    """The degrees that decide who talks to whom, besides the pipeline."""

    tensor: int
    context: int
    data: int
    expert: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One way to run the job on one machine.

    Attributes:
        machine: Its place in the list of machines searched.
    """

    machine: int
    tensor: int
    pipeline: int
    virtual_pipeline: int
    context: int
    expert: int
    data: int
    micro_batch: int
    recompute: Recompute
    zero: int
    sequence_parallel: bool

    def job(self, job: Job) -> Job:
        """Return *job* run this way."""
        own = asdict(self)
        training = {name: own[name] for name in ("micro_batch", "recompute")}
        parallel = {name: own[name] for name in Parallel.model_fields if name in own}
        return job.model_copy(
            update={
                "training": job.trained.model_copy(update=training),
                "parallel": Parallel.model_validate(job.parallel.model_dump() | parallel),
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """All configurations of a job on one network that divide without remainder.

    Two that cannot differ are one: sequence parallelism without tensor parallelism is none, and
    ZeRO needs copies to divide.
    """

    job: Job
    model: Model
    network: Network
    _practice: Practice = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_practice", practice_for(self.job, self.network.gpu))

    @property
    def num_gpus(self) -> int:
        """GPUs, all of which are used."""
        return self.network.design.num_gpus

    def pipelines(self) -> list[int]:
        """Return the numbers of stages; a chunk needs a layer, the embedding or the logits."""
        return [p for p in divisors(self.num_gpus) if p <= self.model.num_layers + 2]

    def virtuals(self, pipeline: int) -> list[int]:
        """Return the numbers of chunks to a stage; each needs a layer, the embedding or logits."""
        if pipeline == 1 or self.job.parallel.schedule == "zero-bubble":
            return [1]
        return list(range(1, max(1, (self.model.num_layers + 2) // pipeline) + 1))

    def divided(self, pipeline: int) -> Iterator[Divided]:
        """Yield the other degrees beside *pipeline*."""
        stage_gpus = self.num_gpus // pipeline
        for tensor in divisors(stage_gpus):
            if self.model.num_heads % tensor or self.model.ffn_hidden % tensor:
                continue
            for context in divisors(stage_gpus // tensor):
                if not self._divides_into(context):
                    continue
                data = stage_gpus // tensor // context
                if self.job.trained.global_batch % data == 0:
                    for expert in self._experts(stage_gpus, tensor):
                        yield Divided(tensor, context, data, expert)

    def _experts(self, stage_gpus: int, tensor: int) -> list[int]:
        if not self.model.num_experts:
            return [1]
        return [
            e
            for e in divisors(self.model.num_experts)
            if stage_gpus % (e * self.expert_split(e, tensor)) == 0
            and self.model.expert_hidden % self.expert_split(e, tensor) == 0
        ]

    def expert_split(self, expert: int, tensor: int) -> int:
        """Return the GPUs that share each expert: the job's own number, or what follows."""
        return self.job.parallel.expert_tensor or (1 if expert > 1 else tensor)

    def micro_batches(self, data: int) -> list[int]:
        """Return the sizes of a micro-batch."""
        return divisors(self.job.trained.global_batch // data)

    def sequence_parallels(self, degrees: Divided) -> list[bool]:
        """Return whether tensor ranks may divide the tokens; with experts they must."""
        if degrees.tensor == 1:
            return [False]
        folded = self.expert_split(degrees.expert, degrees.tensor) != degrees.tensor
        return [True] if degrees.expert > 1 or folded else [True, False]

    def recomputes(self) -> tuple[Recompute, ...]:
        """Return the kinds of recomputation; the job's own where modules stand in its place."""
        if self.job.software.recompute_modules is None:
            return RECOMPUTES
        return (self.job.trained.recompute,)

    def trainings(self) -> dict[tuple[int, Recompute], Training]:
        """Return the job's training with every micro-batch and recomputation."""
        own = self.job.trained
        return {
            (size, recompute): own.model_copy(update={"micro_batch": size, "recompute": recompute})
            for size in divisors(own.global_batch)
            for recompute in self.recomputes()
        }

    def _divides_into(self, context: int) -> bool:
        """Whether *context* ranks can share a sequence, by its length and by the software."""
        if context == 1:
            return True
        able = self._practice.divides_context or context == self.job.parallel.context
        return able and self.job.trained.sequence % (2 * context) == 0

    def zeros(self, degrees: Divided) -> tuple[int, ...]:
        """Return the ZeRO stages that differ: all of the software, where something has copies."""
        replicas = degrees.data * degrees.context
        ranks = degrees.expert * self.expert_split(degrees.expert, degrees.tensor)
        same_experts = degrees.tensor * replicas // ranks
        if max(replicas, same_experts) <= 1:
            return (0,)
        own = {*self._practice.zero_stages, self.job.parallel.zero}
        return tuple(zero for zero in ZEROS if zero in own)

    def layout(
        self, degrees: Divided, *, pipeline: int, zero: int = 1, sequence_parallel: bool
    ) -> Layout:
        """Return where the ranks of *degrees* sit."""
        placement = self.job.placement
        return Layout(
            tensor=degrees.tensor,
            context=degrees.context,
            data=degrees.data,
            pipeline=pipeline,
            virtual_pipeline=1,
            expert=degrees.expert,
            zero=zero,
            sequence_parallel=sequence_parallel,
            gpus_per_node=self.network.node.num_gpus,
            displaced=1.0 if placement.kind == "scattered" else placement.displaced,
            expert_dispatch=self.job.parallel.expert_dispatch,
            expert_overlap=self.job.parallel.expert_overlap,
            expert_tensor=self.job.parallel.expert_tensor,
            schedule=self.job.parallel.schedule,
            context_exchange=self.job.parallel.context_exchange,
        )

    def size(self) -> int:
        """Return how many configurations there are."""
        return sum(self.size_of(pipeline) for pipeline in self.pipelines())

    def size_of(self, pipeline: int) -> int:
        """Return how many of them have *pipeline* stages."""
        virtuals = len(self.virtuals(pipeline))
        total = 0
        for degrees in self.divided(pipeline):
            variants = len(self.sequence_parallels(degrees)) * len(self.zeros(degrees))
            for micro_batch in self.micro_batches(degrees.data):
                count = self.job.trained.global_batch // degrees.data // micro_batch
                total += variants * (virtuals if count >= pipeline else 1)
        return len(self.recomputes()) * total


def divisors(count: int) -> list[int]:
    """Return what divides *count*, ascending."""
    small = [d for d in range(1, int(count**0.5) + 1) if count % d == 0]
    return small + [count // d for d in reversed(small) if d * d != count]
