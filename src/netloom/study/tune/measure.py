"""One trial: a scenario's traffic or step with given settings, packet by packet."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import numpy as np
from pydantic import Field

from netloom.engines.analytic.engine import AnalyticEngine
from netloom.spec.strict import Strict
from netloom.spec.traffic import CollectiveTraffic, OpenLoop, Storage
from netloom.study.inputs import catalog_of, model_of
from netloom.study.networks import network_of
from netloom.study.predict.packet_contention import PacketContention, PacketEngine
from netloom.study.predict.prediction import step_on
from netloom.study.simulate.choices import Choices
from netloom.study.simulate.packet import PacketRunner
from netloom.study.simulate.run import case_of
from netloom.study.simulate.simulation import SeedRun

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.engines.delivery import Delivery
    from netloom.spec.scenario import Scenario
    from netloom.spec.traffic import Traffic
    from netloom.study.sweep.question import SweepRequest
    from netloom.workload.transfers import Transfers

__all__ = ["HOP_BYTES", "OBJECTIVES", "Objective", "TrialOptions", "measured", "shortened"]

Objective = Literal["step", "fct", "p99"]
OBJECTIVES: Final = ("step", "fct", "p99")
# What a hop of a step carries at full length: 160 us at 400 Gb/s, three periods of DCQCN.
HOP_BYTES: Final = 8 << 20
LEAST_BYTES: Final = 65_536  # of a shortened transfer
_S: Final = 1e-12


class TrialOptions(Strict):
    """What a trial is asked beside its scenario."""

    objective: Objective = "p99"
    jitter_s: Annotated[float, Field(ge=0, le=1)] = 0.0
    length: Annotated[float, Field(gt=0, le=64)] = 1.0


@dataclass(slots=True)
class _Seen:
    """What packet runs counted, added up.

    Attributes:
        link_time_ps: Simulated time, over all links.
    """

    counters: dict[str, int] = field(default_factory=dict)
    link_time_ps: float = 0.0
    all_ended: bool = True

    def add(self, delivery: Delivery) -> None:
        for name, count in delivery.counters.items():
            self.counters[name] = self.counters.get(name, 0) + int(count)
        self.link_time_ps += float(delivery.simulated_ps) * len(delivery.link_bytes)
        self.all_ended &= not delivery.partial

    def to_json(self) -> dict[str, Any]:
        """Return what limits are about."""
        counted = self.counters
        return {
            "lost": counted.get("drops", 0) + counted.get("lost", 0),
            "pause_share": counted.get("pause_ps", 0) / max(self.link_time_ps, 1.0),
            "pauses": counted.get("pauses", 0),
            "marks": counted.get("marks", 0),
            "data_packets": counted.get("data_packets", 0),
            "ended": self.all_ended,
        }


def measured(asked: SweepRequest) -> dict[str, Any]:
    """Return the objective of one trial and what limits are about; equal arguments, equal answers.

    Raises:
        NetloomError: the scenario cannot be run with these settings.
    """
    assert isinstance(asked.options, TrialOptions), asked.options
    seed = asked.seed or 0
    if asked.scenario.traffic is None and asked.options.objective == "step":
        return _step(asked.scenario, asked.options, seed)
    return _traffic(asked.scenario, asked.options, seed)


def _step(scenario: Scenario, options: TrialOptions, seed: int) -> dict[str, Any]:
    """Return the job's step, its collectives' hops run packet by packet."""
    catalog, seen = catalog_of(scenario), _Seen()
    network = network_of(scenario.cluster, catalog)
    contention = PacketContention(
        seed,
        choices=Choices(settings=scenario.cluster.fabric.settings or ""),
        floor=scenario.cluster.fabric.floor,
        hop_bytes=max(LEAST_BYTES, round(HOP_BYTES * options.length)),
        jitter_ps=round(options.jitter_s / _S),
        on_delivery=seen.add,
    )
    engine = PacketEngine(library=AnalyticEngine(contention=contention))
    step = step_on(network, scenario, model=model_of(scenario, catalog), engine=engine)
    return {"value": float(step.duration_s), **seen.to_json()}


def _traffic(scenario: Scenario, options: TrialOptions, seed: int) -> dict[str, Any]:
    short = shortened(scenario, options.length)
    case = case_of(short, catalog_of(short))
    transfers = jittered(
        case.traffic(seed), round(options.jitter_s / _S), np.random.default_rng([seed, 1])
    )
    assert isinstance(case.runner, PacketRunner), case.runner
    delivery, ideal_ps = case.runner.run(transfers, seed=seed, until_ps=None, on_progress=None)
    run = SeedRun(seed=seed, transfers=transfers, delivery=delivery, ideal_ps=ideal_ps, wall_s=None)
    seen = _Seen()
    seen.add(delivery)
    return {"value": _value(run, options.objective), **seen.to_json()}


def _value(run: SeedRun, objective: str) -> float:
    if not len(run.done):
        return float("inf")
    if objective == "step":
        return run.span_s
    return float(run.fct_s.mean() if objective == "fct" else np.percentile(run.fct_s, 99))


def jittered(transfers: Transfers, most_ps: int, rng: np.random.Generator) -> Transfers:
    """Return *transfers* whose first ones begin up to *most_ps* later, each by its own draw."""
    if most_ps <= 0:
        return transfers
    first = np.diff(transfers.wait_offsets) == 0
    later = rng.integers(0, most_ps, len(transfers), endpoint=True)
    return replace(transfers, start_ps=transfers.start_ps + np.where(first, later, 0))


def shortened(scenario: Scenario, length: float) -> Scenario:
    """Return *scenario* with that share of its traffic: of time, of repeats, or of bytes."""
    if scenario.traffic is None or length == 1:
        return scenario
    pieces = tuple(_short_piece(piece, length) for piece in scenario.traffic)
    return scenario.model_copy(update={"traffic": pieces})


def _short_piece(piece: Traffic, length: float) -> Traffic:
    update: Mapping[str, Any] = {}
    if isinstance(piece, OpenLoop):
        update = {"duration_s": piece.duration_s * length}
    elif isinstance(piece, CollectiveTraffic) and piece.repeats * length >= 1:
        update = {"repeats": round(piece.repeats * length)}
    elif isinstance(piece, Storage) and piece.bursts * length >= 1:
        update = {"bursts": round(piece.bursts * length)}
    elif hasattr(piece, "size_bytes"):
        size = float(piece.size_bytes)
        update = {"size_bytes": max(min(size, LEAST_BYTES), size * length)}
    return piece.model_copy(update=update)
