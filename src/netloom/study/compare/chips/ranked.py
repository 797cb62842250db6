"""One chip in a comparison of chips: everything that is known of it, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from netloom.provenance import Validity, Why
from netloom.study.compare.explain import explain as explain_candidate

if TYPE_CHECKING:
    from netloom.study.compare.candidate import Candidate
    from netloom.study.compare.chips.design import ChipDesign
    from netloom.study.compare.chips.entry import ChipArchitecture
    from netloom.study.compare.chips.limits import ChipLimit
    from netloom.study.compare.chips.runs import ChipRuns

__all__ = ["ChipBuffer", "RankedChip"]

SPREADING: Final = ("adaptive", "spray", "cells")
WORTH_NAMING: Final = 0.005  # of a step
HURT: Final = 1.5  # times as long as on the empty network
UNMEASURED: Final = (
    "Chips are compared with published results in direction and size (netloom validate chips); no "
    "step of a job on a chip that is not for sale was measured."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipBuffer:
    """What a switch must hold.

    Attributes:
        needed_bytes: With every port busy.
        has_bytes: What the catalogue's switch has; None where it is not known.
        how: What it is for.
    """

    needed_bytes: float
    has_bytes: float | None
    how: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankedChip:
    """A chip on a job.

    Attributes:
        candidate: The job on a cluster of it: step, bill, scaling.
        runs: Packets on the reference network.
        is_exchanged: Whether the job's tail is that of an all-to-all, or of a step of a ring.
        buffer: What a switch must hold.
        limits: What the step would save, one thing at a time made perfect; the largest first.
        step_range_s: Of the step, over what is not known of the chip.
        power_range_w: Of the network's power, likewise.
    """

    architecture: ChipArchitecture
    design: ChipDesign
    candidate: Candidate
    runs: ChipRuns
    is_exchanged: bool
    buffer: ChipBuffer
    limits: tuple[ChipLimit, ...]
    step_range_s: tuple[float, float]
    power_range_w: tuple[float, float]

    @property
    def name(self) -> str:
        """Its name in the register."""
        return self.architecture.name

    @property
    def step_s(self) -> float:
        """One step of the job."""
        return float(self.candidate.step.duration_s)

    @property
    def tail_s(self) -> float:
        """p99 of the job's messages on the reference network."""
        return self.runs.exchange_s if self.is_exchanged else self.runs.ring_s

    @property
    def measures_paths(self) -> bool:
        """Whether the step takes its share of the paths from the packets of the permutation."""
        return self.candidate.technology.load_balancing in SPREADING

    @property
    def limit(self) -> str:
        """What limits it most, in words: the chip itself, else what all chips share."""
        own = [one for one in self.limits if one.is_own and one.saved_share >= WORTH_NAMING]
        shared = [one for one in self.limits if not one.is_own]
        words = [f"{one.what} {one.saved_share:.1%} of the step" for one in own]
        if self.runs.victim_slowdown >= HURT:
            words.append(f"innocent flows take {self.runs.victim_slowdown:.1f} times as long")
        if self.candidate.scaling.limit_reason == "addresses":
            words.append("end points that it can name")
        if not words and shared:
            words = [f"{one.what} {one.saved_share:.1%} of the step" for one in shared]
        return ", ".join(words) or "computation: the network costs less than 0.1 % of the step"

    @property
    def validity(self) -> Validity:
        """Of the step, and of the chip's model."""
        return self.candidate.validity & Validity((UNMEASURED,))

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        own, candidate = self.architecture, self.candidate
        return {
            "chip": own.name,
            "title": own.title,
            "group": own.group,
            "fidelity": own.fidelity,
            "changes": own.changes,
            "mapping": own.mapping,
            "technology": candidate.name,
            "switch": self.design.switch.name,
            "tiers": len(candidate.network.design.tiers),
            "planes": candidate.network.design.num_planes,
            "step_time_s": self.step_s,
            "step_low_s": self.step_range_s[0],
            "step_high_s": self.step_range_s[1],
            "tail_s": self.tail_s,
            "packets": self.runs.to_json(),
            "buffer_bytes": self.buffer.needed_bytes,
            "buffer_has_bytes": self.buffer.has_bytes,
            "buffer_for": self.buffer.how,
            "network_power_w": candidate.network_power_w,
            "network_power_high_w": self.power_range_w[1],
            "network_capex_usd": candidate.network_capex_usd,
            "network_capex_low_usd": candidate.bill.capex_range_usd[0],
            "network_capex_high_usd": candidate.bill.capex_range_usd[1],
            "usd_per_trillion_tokens": candidate.usd_per_trillion_tokens,
            "largest_efficient_gpus": candidate.scaling.limit_gpus,
            "largest_efficient_reason": candidate.scaling.limit_reason,
            "limit": self.limit,
            "limits": [limit.to_json() for limit in self.limits],
            "stated_limits": list(own.limits),
            "figures": [figure.to_json() for figure in own.figures],
            "sources": [
                {"citation": one.citation, "confidence": one.confidence} for one in own.sources
            ],
            "validity": self.validity.to_json(),
        }

    def row(self) -> dict[str, float | int | str | bool | None]:
        """Return the plain keys of :meth:`to_json`: one row of a table."""
        plain = {
            key: value
            for key, value in self.to_json().items()
            if value is None or isinstance(value, (str, int, float))
        }
        return plain | {"inside": self.validity.inside}

    def explanations(self) -> dict[str, Why]:
        """Return how each number came about."""
        step = explain_candidate(self.candidate, "step_time_s")
        return {
            "step_time_s": self._with_paths(step),
            "tail_s": self._tail(),
            "buffer_bytes": Why(
                name="buffer of a switch",
                value=self.buffer.needed_bytes,
                unit="B",
                how=self.buffer.how,
            ),
            "network_capex_usd": explain_candidate(self.candidate, "network_capex_usd"),
            "network_power_w": explain_candidate(self.candidate, "network_power_w"),
            "limit": Why(
                name="what limits it",
                value=self.limit,
                how="the step again, one thing at a time made perfect",
                parts=tuple(
                    Why(name=limit.what, value=limit.saved_s, unit="s", how="saved of the step")
                    for limit in self.limits
                ),
            ),
        }

    def _with_paths(self, step: Why) -> Why:
        if not self.measures_paths:
            return step
        paths = Why(
            name="share of the paths",
            value=self.runs.path_share,
            how="a permutation of the reference network, packet by packet: its slowest flow alone "
            "over its slowest flow",
        )
        return Why(
            name=step.name,
            value=step.value,
            unit=step.unit,
            how=step.how,
            source=step.source,
            parts=(paths, *step.parts),
        )

    def _tail(self) -> Why:
        own = self.architecture
        return Why(
            name="p99 of an all-to-all" if self.is_exchanged else "p99 of a permutation",
            value=self.tail_s,
            unit="s",
            how=f"packets, mean over seeds; {own.mapping}",
            source=own.sources[0],
            parts=tuple(
                Why(name=name, value=float(value), unit=unit)
                for name, value, unit in (
                    ("permutation: share of the paths", self.runs.path_share, ""),
                    ("all-to-all over what its ports need", self.runs.exchange_ratio, ""),
                    ("incast over what its port needs", self.runs.incast_ratio, ""),
                    ("innocent flow beside it", self.runs.victim_slowdown, ""),
                    ("longest queue", self.runs.peak_queue_bytes, "B"),
                )
            ),
        )
