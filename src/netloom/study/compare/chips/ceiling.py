"""Where RoCEv2 with PFC and DCQCN stops scaling, and which single change moves it most."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import SpecError
from netloom.fabric.wire.headroom import textbook_bytes
from netloom.fabric.wire.link_retry import retry_share
from netloom.fabric.wire.recovery import go_back_n_share, path_loss
from netloom.results.progress import counter
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.study.compare.chips.evaluate import on_job
from netloom.study.compare.chips.knobs import KNOBS, turn
from netloom.study.compare.chips.ranking import BASELINE, chips_named, compare_chips
from netloom.study.compare.chips.runs import ChipBench
from netloom.study.inputs import catalog_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.engines.base import Engine
    from netloom.parts.load import Catalog
    from netloom.provenance import Why
    from netloom.results.progress import OnProgress
    from netloom.spec.scenario import Scenario
    from netloom.study.compare.chips.knobs import ChipKnob, KnobSweep
    from netloom.study.compare.chips.ranked import RankedChip
    from netloom.study.compare.chips.ranking import ChipComparison

__all__ = ["Ceiling", "ChipReach", "HeadroomReach", "IncastPoint", "LossPoint", "ceiling"]

FAN_INS: Final = (2, 4, 8, 16, 32, 47)
BEARABLE: Final = 1.5  # times its own time that an innocent flow may take
LOSSES: Final = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
RATES_BPS: Final = (100e9, 200e9, 400e9, 800e9)
HALF: Final = 0.5  # of the buffer, beyond which headroom leaves too little to share


@dataclass(frozen=True, slots=True, kw_only=True)
class IncastPoint:
    """An innocent flow beside an incast of *fan_in* senders, mean over seeds."""

    fan_in: int
    victim_slowdown: float
    pauses: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChipReach:
    """How far a chip goes.

    Attributes:
        chip: As ranked.
        is_single: Whether it changes one thing of RoCEv2, or is another network altogether.
        incasts: By fan-in.
    """

    chip: RankedChip
    is_single: bool
    incasts: tuple[IncastPoint, ...]

    @property
    def limit_gpus(self) -> int | None:
        """Up to which the job keeps 90 % of its efficiency."""
        return self.chip.candidate.scaling.limit_gpus

    @property
    def incast_limit(self) -> int:
        """The largest fan-in up to which an innocent flow stays bearable."""
        limit = 0
        for point in self.incasts:
            if point.victim_slowdown > BEARABLE:
                break
            limit = point.fan_in
        return limit

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        scaling = self.chip.candidate.scaling
        return {
            "chip": self.chip.name,
            "title": self.chip.architecture.title,
            "is_single": self.is_single,
            "fidelity": self.chip.architecture.fidelity,
            "limit_gpus": scaling.limit_gpus,
            "limit_reason": scaling.limit_reason,
            "incast_limit": self.incast_limit,
            "incasts": [
                {"fan_in": p.fan_in, "victim_slowdown": p.victim_slowdown, "pauses": p.pauses}
                for p in self.incasts
            ],
            "scaling": [
                {"gpus": p.num_gpus, "mfu": p.mfu, "whole": p.whole} for p in scaling.points
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadroomReach:
    """The longest cable at which headroom of all ports leaves half of a chip's memory.

    Attributes:
        ports: Of the chip at this rate, all of its capacity.
        length_m: 0 where even the shortest cable takes more.
    """

    rate_bps: float
    ports: int
    length_m: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LossPoint:
    """What is left of a path's rate when its links lose packets.

    Attributes:
        loss: Of a link.
        go_back_n: RoCEv2's reliable connection, end to end.
        retried: Each link repeats by itself.
    """

    loss: float
    go_back_n: float
    retried: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Ceiling(Tabular):
    """What ``compare --chips --ceiling`` found.

    Attributes:
        compared: The chips, ranked.
        reaches: How far each goes, the farthest first, RoCEv2 as deployed among them.
        sweeps: Knobs, one at a time.
        headroom: By rate, RoCEv2's switch.
        losses: By the loss of a link.
    """

    compared: ChipComparison
    reaches: tuple[ChipReach, ...]
    sweeps: tuple[KnobSweep, ...]
    headroom: tuple[HeadroomReach, ...]
    losses: tuple[LossPoint, ...]

    def __repr__(self) -> str:
        """Return one line."""
        return f"<Ceiling {self.compared.title}: {self.baseline.limit_gpus} GPUs>"

    @property
    def baseline(self) -> ChipReach:
        """RoCEv2 as deployed."""
        return next(one for one in self.reaches if one.chip.name == BASELINE)

    @property
    def best_single(self) -> ChipReach:
        """The single change that reaches farthest."""
        return next(one for one in self.reaches if one.is_single)

    @property
    def best_incast(self) -> ChipReach:
        """The single change beside which innocent flows bear the largest incast."""
        singles = [one for one in self.reaches if one.is_single]
        return max(singles, key=lambda one: (one.incast_limit, -_worst(one)))

    def why(self, question: str) -> Why:
        """Return how a number of a chip came about; as of the chips ranked."""
        return self.compared.why(question)

    def table(self) -> Table:
        """Return one row a chip."""
        return Table.from_rows(
            {
                key: value
                for key, value in one.to_json().items()
                if value is None or isinstance(value, (str, int, float))
            }
            for one in self.reaches
        )

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "baseline": BASELINE,
            "baseline_limit_gpus": self.baseline.limit_gpus,
            "baseline_incast_limit": self.baseline.incast_limit,
            "best_single_change": self.best_single.chip.name,
            "best_single_limit_gpus": self.best_single.limit_gpus,
            "best_single_for_incast": self.best_incast.chip.name,
            "reaches": [one.to_json() for one in self.reaches],
            "sweeps": [one.to_json() for one in self.sweeps],
            "headroom": [
                {"rate_bps": one.rate_bps, "ports": one.ports, "length_m": one.length_m}
                for one in self.headroom
            ],
            "losses": [
                {"loss": one.loss, "go_back_n": one.go_back_n, "retried": one.retried}
                for one in self.losses
            ],
        }


def _worst(one: ChipReach) -> float:
    return max(point.victim_slowdown for point in one.incasts)


def ceiling(  # noqa: PLR0913  (a facade)
    scenario: Scenario,
    catalog: Catalog | None = None,
    *,
    chips: Sequence[str] = (),
    knobs: Sequence[ChipKnob] = KNOBS,
    engine: Engine | str = "analytic",
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> Ceiling:
    """Return how far RoCEv2 and every chip go on the scenario's job, and what each knob does.

    Args:
        scenario: What was asked for.
        catalog: The parts; default: the shipped ones and the scenario's own.
        chips: Names of the register, RoCEv2 as deployed apart; default: all.
        knobs: What is turned; default: all.
        engine: Asked for the steps' collectives.
        seed: The first of the seeds of the packets' runs.
        on_progress: Told how much is done, and how much there is.

    Raises:
        NetloomError: nothing can be built.
    """
    parts = catalog or catalog_of(scenario)
    asked = (BASELINE, *chips) if chips else ()
    num_chips = sum(one.is_run for one in chips_named(asked))
    advance = counter(on_progress, 2 * num_chips + len(knobs))
    compared = compare_chips(
        scenario,
        parts,
        chips=asked,
        engine=engine,
        seed=seed,
        on_progress=lambda _done, _all: advance(),
    )
    advance(num_chips - len(compared.ranked))  # those refused have no reach
    reaches = []
    for chip in compared.ranked:
        reaches.append(_reach(chip, compared, parts))
        advance()
    sweeps = []
    for knob in knobs:
        sweeps.append(turn(knob, scenario, parts, compared.bench))
        advance()
    base = next(one.chip for one in reaches if one.chip.name == BASELINE)
    return Ceiling(
        compared=compared,
        reaches=tuple(sorted(reaches, key=_order)),
        sweeps=tuple(sweeps),
        headroom=tuple(_headrooms(base)),
        losses=tuple(_losses(base)),
    )


def _order(one: ChipReach) -> tuple[float, int, float]:
    return -(one.limit_gpus or 0), -one.incast_limit, one.chip.step_s


def _reach(chip: RankedChip, compared: ChipComparison, catalog: Catalog) -> ChipReach:
    network = on_job(chip.design, compared.scenario, catalog).network
    bench = ChipBench.of(chip.design, network, compared.scenario.cluster.fabric.floor)
    points = []
    for fan_in in FAN_INS:
        traffic = replace(compared.bench.traffic, fan_in=fan_in)
        runs = [bench.incast(traffic, seed) for seed in compared.bench.seeds]
        points.append(
            IncastPoint(
                fan_in=fan_in,
                victim_slowdown=fmean(run.last_slowdown for run in runs),
                pauses=fmean(int(run.delivery.counters["pauses"]) for run in runs),
            )
        )
    single = chip.architecture.family == "rocev2"
    return ChipReach(chip=chip, is_single=single, incasts=tuple(points))


def _headrooms(base: RankedChip) -> list[HeadroomReach]:
    """Return the reach by rate of a chip of the same capacity and memory."""
    switch = base.design.switch
    capacity_bps = switch.modes[0].count * switch.modes[0].rate_bps
    found = []
    for rate_bps in RATES_BPS:
        ports = round(capacity_bps / rate_bps)
        try:
            length_m = _longest_m(rate_bps, ports, switch.buffer_bytes or 0.0)
        except SpecError:  # no pause response is tabulated at this rate
            continue
        found.append(HeadroomReach(rate_bps=rate_bps, ports=ports, length_m=length_m))
    return found


def _longest_m(rate_bps: float, ports: int, buffer_bytes: float) -> float:
    """Return the length at which *ports* headrooms are half of the buffer: it grows with length."""
    room = HALF * buffer_bytes / ports
    none, one = (textbook_bytes(rate_bps=rate_bps, length_m=length) for length in (0.0, 1.0))
    return max(0.0, (room - none) / (one - none))


def _losses(base: RankedChip) -> list[LossPoint]:
    """Return what is left of the longest path's rate: go-back-N end to end, and link by link."""
    technology, latency_s = base.candidate.technology, base.candidate.latency_s
    packet = technology.payload_bytes + technology.header_bytes
    num_links = base.candidate.network.design.reaches[-1].num_hops + 1
    window = 2 * latency_s * technology.rate_bps / 8 / packet
    link_rtt_s = 2 * latency_s / num_links
    return [
        LossPoint(
            loss=loss,
            go_back_n=go_back_n_share(path_loss(loss, num_links=num_links), window_packets=window),
            retried=retry_share(
                loss,
                rate_bps=technology.rate_bps,
                link_rtt_s=link_rtt_s,
                packet_bytes=packet,
            ),
        )
        for loss in LOSSES
    ]
