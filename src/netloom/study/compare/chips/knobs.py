"""Knobs of a chip, and what turning one of them does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from netloom.errors import CatalogError, InfeasibleError, SpecError
from netloom.parts.parts import PortMode
from netloom.study.compare.chips.design import base_design
from netloom.study.compare.chips.entry import CHIPS
from netloom.study.compare.chips.evaluate import on_job
from netloom.study.compare.chips.runs import ChipBench
from netloom.study.compare.scaled_scenario import weak_scaling

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario
    from netloom.study.compare.chips.design import ChipDesign
    from netloom.study.compare.chips.evaluate import BenchPlan

__all__ = ["KNOBS", "ChipKnob", "KnobPoint", "KnobSweep", "turn"]

Measured = Literal["packets", "scaling"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipKnob:
    """Something of a chip that can be more or less.

    Attributes:
        chip: Of which architecture.
        values: Ascending.
        measured: ``packets``: on the reference network; ``scaling``: the job on growing clusters,
            by the closed form.
        change: Turns it.
    """

    name: str
    title: str
    unit: str
    chip: str
    values: tuple[float, ...]
    measured: Measured
    change: Callable[[ChipDesign, float], ChipDesign]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobPoint:
    """A chip with its knob at one value; None where it was not measured.

    Attributes:
        path_share: Of a permutation.
        tail_s: p99 of an all-to-all of the reference network.
        victim_slowdown: Of the innocent flow beside an incast.
        limit_gpus: Up to which the job keeps 90 % of its efficiency.
        tiers: Of the scenario's cluster.
        reason: Why nothing was measured; empty where something was.
    """

    value: float
    path_share: float | None = None
    tail_s: float | None = None
    victim_slowdown: float | None = None
    limit_gpus: int | None = None
    tiers: int | None = None
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "value": self.value,
            "path_share": self.path_share,
            "tail_s": self.tail_s,
            "victim_slowdown": self.victim_slowdown,
            "limit_gpus": self.limit_gpus,
            "tiers": self.tiers,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobSweep:
    """A knob at all its values."""

    knob: ChipKnob
    points: tuple[KnobPoint, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "knob": self.knob.name,
            "title": self.knob.title,
            "unit": self.knob.unit,
            "chip": self.knob.chip,
            "measured": self.knob.measured,
            "points": [point.to_json() for point in self.points],
        }


def turn(knob: ChipKnob, scenario: Scenario, catalog: Catalog, bench: BenchPlan) -> KnobSweep:
    """Return *knob* at all its values, for *scenario*."""
    chip = CHIPS.get(knob.chip)
    base = chip.design(base_design(chip.family, scenario, catalog), catalog)
    points = []
    for value in knob.values:
        try:
            design = knob.change(base, value)
            measure = _packets if knob.measured == "packets" else _scaling
            points.append(measure(design, value, scenario, catalog, bench))
        except (InfeasibleError, SpecError, CatalogError) as error:
            points.append(KnobPoint(value=value, reason=str(error)))
    return KnobSweep(knob=knob, points=tuple(points))


def _packets(
    design: ChipDesign, value: float, scenario: Scenario, catalog: Catalog, bench: BenchPlan
) -> KnobPoint:
    network = on_job(design, scenario, catalog).network
    built = ChipBench.of(design, network, scenario.cluster.fabric.floor)
    traffic, seeds = bench.traffic, bench.seeds
    spread = [built.permutation(traffic, seed) for seed in seeds]
    exchanged = built.exchange(traffic, seeds[0])
    met = [built.incast(traffic, seed) for seed in seeds]
    return KnobPoint(
        value=value,
        path_share=min(1.0, fmean(run.path_share for run in spread)),
        tail_s=float(np.percentile(exchanged.fct_s, 99)),
        victim_slowdown=fmean(run.last_slowdown for run in met),
    )


def _scaling(
    design: ChipDesign, value: float, scenario: Scenario, catalog: Catalog, _bench: BenchPlan
) -> KnobPoint:
    job = on_job(design, scenario, catalog)
    curve = weak_scaling(job.scenario, job.catalog, technology=design.technology.name)
    try:
        tiers = len(job.network.design.tiers)
    except InfeasibleError:
        tiers = None
    return KnobPoint(value=value, limit_gpus=curve.limit_gpus, tiers=tiers)


def _buffer(design: ChipDesign, value: float) -> ChipDesign:
    return replace(design, switch=design.switch.model_copy(update={"buffer_bytes": value}))


def _radix(design: ChipDesign, value: float) -> ChipDesign:
    """Return a chip with that many ports at the scenario's rate; memory and price grow with it."""
    own = design.switch.radix(design.technology.rate_bps)
    mode = PortMode.model_construct(count=round(value), rate_bps=design.technology.rate_bps)
    grown: dict[str, Any] = {"modes": (mode,), "ports_per_cage": 1}
    for key in ("buffer_bytes", "power_w", "price_usd"):
        had = getattr(design.switch, key)
        grown[key] = None if had is None else had * value / own
    return replace(design, switch=design.switch.model_copy(update=grown))


def _inputs(design: ChipDesign, value: float) -> ChipDesign:
    """Return a chip whose memory is divided among its inputs."""
    ports = design.switch.radix(design.technology.rate_bps) or design.switch.modes[0].count
    return _buffer(design, value).with_packets("switch", ingress_bytes=int(value / ports))


def _speed_up(design: ChipDesign, value: float) -> ChipDesign:
    return replace(design, speed_up=value)


def _queue_pairs(design: ChipDesign, value: float) -> ChipDesign:
    changed = design.with_choices(qps=round(value))
    return changed.with_technology(flows_per_rank=round(value))


def _of(section: Any, name: str) -> Callable[[ChipDesign, float], ChipDesign]:
    return lambda design, value: design.with_packets(section, **{name: round(value)})


KNOBS: Final = (
    ChipKnob(
        name="buffer",
        title="Shared memory of the chip",
        unit="B",
        chip="roce-ecmp",
        values=(40e6, 80e6, 165e6, 330e6, 660e6, 2.64e9),
        measured="packets",
        change=_buffer,
    ),
    ChipKnob(
        name="voq-buffer",
        title="The same memory divided among inputs",
        unit="B",
        chip="voq-buffers",
        values=(40e6, 80e6, 165e6, 330e6, 660e6, 2.64e9),
        measured="packets",
        change=_inputs,
    ),
    ChipKnob(
        name="radix",
        title="Ports of the chip",
        unit="ports",
        chip="roce-ecmp",
        values=(32, 64, 128, 256, 512),
        measured="scaling",
        change=_radix,
    ),
    ChipKnob(
        name="queue-pairs",
        title="Queue pairs of a connection",
        unit="",
        chip="roce-ecmp",
        values=(1, 2, 4, 8, 16, 32),
        measured="packets",
        change=_queue_pairs,
    ),
    ChipKnob(
        name="speed-up",
        title="Fabric links over host links",
        unit="x",
        chip="roce-ecmp",
        values=(1.0, 1.05, 1.1, 1.25, 1.5, 2.0),
        measured="packets",
        change=_speed_up,
    ),
    ChipKnob(
        name="credit-buffer",
        title="Credits of an input and channel",
        unit="B",
        chip="credit-flow-control",
        values=(16_384, 32_768, 65_536, 131_072),
        measured="packets",
        change=_of("credits", "buffer_bytes"),
    ),
    ChipKnob(
        name="credit-size",
        title="Credit of a scheduled fabric",
        unit="B",
        chip="scheduled-cells",
        values=(2_048, 4_096, 8_192, 16_384),
        measured="packets",
        change=_of("schedule", "grant_bytes"),
    ),
    ChipKnob(
        name="cell-size",
        title="Cell of a scheduled fabric",
        unit="B",
        chip="scheduled-cells",
        values=(128, 256, 512),
        measured="packets",
        change=_of("schedule", "cell_bytes"),
    ),
    ChipKnob(
        name="cell-speed-up",
        title="Fabric links over host links, scheduled",
        unit="x",
        chip="scheduled-cells",
        values=(1.0, 1.05, 1.1),
        measured="packets",
        change=_speed_up,
    ),
)
