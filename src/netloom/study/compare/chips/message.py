"""How large the messages are that a job exchanges between nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.step.software import practice_for
from netloom.workload.collective import Axis, CollectiveKind
from netloom.workload.demand import demand
from netloom.workload.placement import layout, num_micro_batches
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from netloom.fabric.network import Network
    from netloom.parts.parts import Model
    from netloom.spec.scenario import Scenario
    from netloom.workload.communication import Communication

__all__ = ["JobMessage", "job_message"]

# Shorter ones are latency alone; longer ones show nothing that these do not.
LEAST_BYTES: Final = 4_096
MOST_EXCHANGED_BYTES: Final = 131_072  # to each of 63 others
MOST_PASSED_BYTES: Final = 4_000_000  # to one other


@dataclass(frozen=True, slots=True, kw_only=True)
class JobMessage:
    """A message of the job.

    Attributes:
        size_bytes: As it is run.
        own_bytes: As the job sends it; None where the job sends nothing between nodes.
        what: Of which collective.
        is_exchanged: Whether every rank sends one to every other at once, or to one other.
    """

    size_bytes: int
    own_bytes: float | None
    what: str
    is_exchanged: bool

    @property
    def words(self) -> str:
        """What is run, in a few words."""
        pattern = "all-to-all" if self.is_exchanged else "permutation (a step of a ring)"
        if self.own_bytes is None:
            return f"{pattern} of {self.size_bytes:,} bytes; the job sends nothing between nodes"
        cut = "" if self.size_bytes == round(self.own_bytes) else f" of {self.own_bytes:,.0f}"
        return f"{pattern} of {self.size_bytes:,}{cut} bytes each, as {self.what}"


def job_message(scenario: Scenario, network: Network, *, model: Model) -> JobMessage:
    """Return what one rank of *scenario*'s job sends to another at a time.

    The exchange of its experts where it has one, else a part of its gradients.

    Raises:
        SpecError: the parallelism does not multiply out.
    """
    job = scenario.job
    plan = layout(
        job.parallel,
        node=network.node,
        num_gpus=network.design.num_gpus,
        placement=job.placement,
    )
    software = practice_for(job, network.gpu)
    asked = demand(
        transformer(model),
        plan,
        job.trained,
        num_micro_batches=num_micro_batches(job.trained, plan),
        weights=software.weights,
        modules=software.recompute_modules,
        repeats_keys=software.repeats_keys,
    )
    far = [item for item in asked.communications if item.collective.group.num_nodes > 1]
    exchanged = [item for item in far if item.collective.kind is CollectiveKind.ALL_TO_ALL]
    gradients = [item for item in far if item.axis is Axis.DATA]
    found = (*exchanged, *gradients, *far)
    if not found:
        return JobMessage(size_bytes=LEAST_BYTES * 16, own_bytes=None, what="", is_exchanged=True)
    item = found[0]
    own = _bytes(item)
    most = MOST_EXCHANGED_BYTES if exchanged else MOST_PASSED_BYTES
    return JobMessage(
        size_bytes=round(min(max(own, LEAST_BYTES), most)),
        own_bytes=own,
        what=f"{item.axis.value} {item.collective.kind.value.replace('_', '-')}",
        is_exchanged=bool(exchanged),
    )


def _bytes(item: Communication) -> float:
    collective = item.collective
    if collective.kind is CollectiveKind.SEND_RECV:
        return collective.size_bytes
    return collective.size_bytes / collective.group.size
