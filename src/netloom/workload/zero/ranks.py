"""Which ranks share what ZeRO divides: all copies of the model, or sets of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from netloom.errors import SpecError

if TYPE_CHECKING:
    from netloom.spec.scenario import Parallel
    from netloom.workload.collective import Group

__all__ = [
    "backward_group",
    "check_sets_of_experts",
    "copies_group",
    "shard_group",
    "zero_ranks_of",
]


class ZeroLayout(Protocol):
    """What sets of ranks need to know of a layout."""

    @property
    def tensor(self) -> int:
        """Ranks that share each matrix."""

    @property
    def context(self) -> int:
        """Ranks that share each sequence."""

    @property
    def data(self) -> int:
        """Copies of the model."""

    @property
    def expert(self) -> int:
        """Ranks that experts are spread over."""

    @property
    def has_spread_experts(self) -> bool:
        """Whether copies of experts are on other ranks than copies of the dense weights."""

    @property
    def zero(self) -> int:
        """The ZeRO stage."""

    @property
    def zero_ranks(self) -> int:
        """Ranks of a set; 0 for all copies."""

    @property
    def zero_backward_ranks(self) -> int:
        """Ranks of a second set; 0 for none."""

    @property
    def replicas(self) -> int:
        """GPUs that hold the same dense weights."""

    @property
    def sharers(self) -> int:
        """GPUs that share them."""

    def group(self, *, size: int, stride: int) -> Group:
        """Return the group of *size* ranks that are *stride* ranks apart."""


def zero_ranks_of(plan: ZeroLayout, parallel: Parallel) -> tuple[int, int]:
    """Return the ranks that share weights, and a second set of them; 0 for all copies, or none.

    Raises:
        SpecError: they do not divide the copies, or the ZeRO stage leaves nothing to share.
    """
    ranks = _ranks(plan, parallel)
    if parallel.zero_compress and plan.zero < 3:
        raise _needs(plan, "zero_compress", stage=3)
    backward = parallel.zero_backward_ranks
    if backward is None:
        return ranks, 0
    if plan.zero < 3:
        raise _needs(plan, "zero_backward_ranks", stage=3)
    if ranks:
        raise SpecError(
            key="job.parallel.zero_backward_ranks",
            what="with zero_ranks the weights are shared by few ranks in both passes",
            remedy="leave one of the two out",
        )
    _check_set("zero_backward_ranks", backward, plan)
    return 0, 0 if backward == plan.replicas else backward


def _ranks(plan: ZeroLayout, parallel: Parallel) -> int:
    ranks = parallel.zero_ranks
    if ranks is None or ranks == plan.replicas:
        return 0
    if plan.zero < 1:
        raise _needs(plan, "zero_ranks", stage=1)
    _check_set("zero_ranks", ranks, plan)
    return ranks


def _check_set(key: str, ranks: int, plan: ZeroLayout) -> None:
    if plan.expert > 1 and ranks != plan.replicas:
        raise _spread(key)
    if plan.replicas % ranks:
        fits = max(one for one in range(1, ranks) if plan.replicas % one == 0)
        raise SpecError(
            key=f"job.parallel.{key}",
            what=f"{ranks} does not divide the {plan.replicas:,} copies of the weights (data "
            f"{plan.data:,} x context {plan.context})",
            remedy=f"use a divisor, such as {fits}",
        )


def check_sets_of_experts(plan: ZeroLayout) -> None:
    """Raise SpecError where sets of ranks share weights of a mixture that is divided otherwise."""
    for key, ranks in (
        ("zero_ranks", plan.zero_ranks),
        ("zero_backward_ranks", plan.zero_backward_ranks),
    ):
        if ranks and plan.has_spread_experts:
            raise _spread(key)


def _spread(key: str) -> SpecError:
    return SpecError(
        key=f"job.parallel.{key}",
        what="sets of ranks are not modelled for experts, whose copies are other ranks",
        remedy="leave it out, or set expert: 1 and leave out expert_tensor",
    )


def _needs(plan: ZeroLayout, key: str, *, stage: int) -> SpecError:
    return SpecError(
        key=f"job.parallel.{key}",
        what=f"ZeRO {plan.zero} shares nothing that this could change",
        remedy=f"set zero: {stage}, or leave it out",
    )


def shard_group(plan: ZeroLayout) -> Group:
    """Return ranks that share one set of weights: neighbours (torchtitan's mesh, MiCS)."""
    return plan.group(size=plan.sharers, stride=plan.tensor)


def copies_group(plan: ZeroLayout) -> Group | None:
    """Return ranks that hold the same share, one in each set; None where there is one set."""
    if not plan.zero_ranks:
        return None
    return plan.group(size=plan.replicas // plan.zero_ranks, stride=plan.tensor * plan.zero_ranks)


def backward_group(plan: ZeroLayout) -> Group | None:
    """Return ranks that share the weights kept for the backward pass."""
    if not plan.zero_backward_ranks:
        return None
    return plan.group(size=plan.zero_backward_ranks, stride=plan.tensor)
