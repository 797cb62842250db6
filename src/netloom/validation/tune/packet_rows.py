"""Rows that run packets: T1 to T5, T7, T11 and T12."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.engines.packet.engine import run_packets
from netloom.engines.packet.settings import Ecn, PacketSettings, SwitchSettings, Transport
from netloom.fabric.wiring.plain import CableList, wire_up
from netloom.parts.load import load_catalog
from netloom.spec.fabric.settings import OwnSettings
from netloom.spec.load import parse
from netloom.study.sweep.question import SweepRequest
from netloom.study.tune.measure import TrialOptions, measured
from netloom.study.tune.stages.measure import StageOptions, measured_stages, window_of
from netloom.study.tune.stages.tuning import candidates_of
from netloom.study.tune.tuning import TuneRequest, tune_with
from netloom.validation.span.row import inside
from netloom.workload.dag import Dag, Label, beside, to_transfers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.spec.scenario import Scenario
    from netloom.study.tune.plan import TrialRequest
    from netloom.validation.span.row import SpanRow

__all__ = ["packet_rows"]

JITTER_S: Final = 10e-6
STRICT: Final = {"kmin_bytes": 5e3, "kmax_bytes": 2e4, "pmax": 1.0}
FABRIC: Final = (
    "cluster: {{gpus: {gpus}, node: dgx-h100, fabric: {{technology: {technology}, "
    "topology: {{kind: fat-tree, tiers: 2, hosts_per_leaf: 16}}}}}}\n"
)
STORAGE: Final = (
    "traffic:\n"
    "  - {kind: storage, servers: 4, size: 8MB, bursts: 2, period: 2ms, count: 36}\n"
    "  - {kind: poisson, first: 16, count: 48, load: 30%, duration: 2ms}\n"
)
RING: Final = "traffic: [{kind: collective, operation: all-reduce, size: 32MB, channels: 8}]\n"
INCAST: Final = "traffic: [{{kind: incast, target: 0, first: 8, fan_in: {count}, size: 16MB}}]\n"
MIXTURE: Final = (
    "job: {model: mixtral-8x7b, training: {sequence: 4096, global_batch: 64},\n"
    "      parallel: {tensor: 2, pipeline: 2, data: 16, expert: 8}}\n"
)
AZURE_WAY_PS: Final = 885_000_000  # half of 1.77 ms
ITERATIONS: Final = 4
_MS: Final = 1_000_000_000


def packet_rows(*, long: bool = False) -> Iterator[SpanRow]:
    """Yield the rows; *long* runs more seeds and trials."""
    yield from _storage(long=long)
    yield _long_way()
    yield _strict_ring(long=long)
    yield from _incast()
    yield _queue_pairs(long=long)
    yield _offset_marks()
    yield from _classes()
    yield _other_traffic(long=long)


def _values(
    text: str, settings: Mapping[str, Any] | str | None, objective: Any, seeds: Sequence[int]
) -> list[dict[str, Any]]:
    asked = parse(text, name="validate tune")
    if settings is not None:
        own = settings if isinstance(settings, str) else OwnSettings.of_numbers(**settings)
        asked = asked.with_settings(own)
    options = TrialOptions(objective=objective, jitter_s=JITTER_S)
    return [measured(SweepRequest(scenario=asked, options=options, seed=seed)) for seed in seeds]


def _mean(trials: Sequence[Mapping[str, Any]]) -> float:
    return float(np.mean([trial["value"] for trial in trials]))


def _ask(requests: Sequence[TrialRequest]) -> list[dict[str, Any]]:
    return [
        measured(SweepRequest(scenario=scenario, options=options, seed=seed))
        for scenario, options, seed in requests
    ]


def _storage(*, long: bool) -> Iterator[SpanRow]:
    text = FABRIC.format(gpus=64, technology="rocev2-400g") + STORAGE
    asked = parse(text, name="T1")
    request = TuneRequest(
        objective="p99",
        over=("ecn", "dcqcn"),
        budget=60 if long else 16,
        verdict_seeds=8 if long else 3,
        explores=False,
    )
    found = tune_with(asked, load_catalog(), _ask, request)
    alone = next(one for one in found.presets if one.name == "meta-400g")
    strict = _mean(_values(text, STRICT, "p99", found.seeds))
    yield inside(
        "T1-strict",
        "storage bursts beside other traffic, p99: too strict marks over PFC alone",
        (1.0, 100.0),
        strict / alone.mean,
        tag="S",
        unit="x",
        kind="sim",
        reason="order alone; Azure's figure 11 is of another load",
    )
    yield inside(
        "T1-tuned",
        "the same: tuned over the better of the two",
        (0.0, 1.0),
        found.best.mean / min(strict, alone.mean),
        tag="S",
        unit="x",
        kind="sim",
        reason=f"{request.budget} trials, {len(found.seeds)} seeds that they did not see",
    )


def _dumbbell(num_pairs: int, rate_bps: float, way_ps: Sequence[int]) -> PacketTopology:
    """Return senders and receivers, two switches and one cable between them."""
    count = 2 * num_pairs
    left, right = count, count + 1
    lower = np.array([*range(num_pairs), *range(num_pairs, count), left], dtype=np.int64)
    upper = np.array([left] * num_pairs + [right] * num_pairs + [right], dtype=np.int64)
    delay = np.array([*way_ps, *([500_000] * num_pairs), 500_000], dtype=np.int64)
    names = (*(f"host:{n}" for n in range(count)), "leaf:0", "leaf:1")
    cables = CableList(
        lower=lower,
        upper=upper,
        rate_bps=np.full(len(lower), rate_bps),
        delay_ps=delay,
        up=np.ones(len(lower), dtype=np.bool_),
    )
    forward = np.zeros(count + 2, dtype=np.int64)
    return wire_up(cables, num_endpoints=count, name=names, forward_ps=forward)


def _settings(marks: Ecn, buffer_bytes: int) -> PacketSettings:
    return PacketSettings(
        congestion_control="dcqcn",
        ecn=marks,
        switch=SwitchSettings(buffer_bytes=buffer_bytes),
        transport=Transport(cnp_interval_ps=50_000_000, ask_every_packets=256),
    )


def _long_way() -> SpanRow:
    """T2: a flow over 1.77 ms beside a near one, as marks get sparser."""
    wiring = _dumbbell(2, 40e9, [1_000_000, AZURE_WAY_PS])
    marks = ((5e3, 2e5, 1.0), (1e5, 4e5, 0.2), (1e6, 2e6, 0.05))
    rates = []
    for kmin, kmax, pmax in marks:
        ecn = Ecn(kmin_bytes=int(kmin), kmax_bytes=int(kmax), pmax=pmax, at_rate_bps=0)
        sizes = Dag.of(np.array([0, 1]), np.array([2, 3]), np.array([10**9, 10**9]))
        transfers = to_transfers([sizes], [Label(priority=3)], rng=np.random.default_rng(0))
        far = np.flatnonzero((wiring.link_source == 1) & (wiring.link_target == 4))
        delivery = run_packets(
            wiring, transfers, _settings(ecn, 400_000_000), seed=0, until_ps=60 * _MS
        )
        rates.append(float(delivery.link_bytes[far[0]]))
    rises = min(later / sooner for sooner, later in pairwise(rates))
    return inside(
        "T2",
        "flow over 1.77 ms: bytes as Kmax - Kmin grows and Pmax falls, least rise",
        (1.0, 100.0),
        rises,
        tag="S",
        unit="x",
        kind="sim",
        gap="the far flow has 48 to 50 % of what both get at every threshold: rates of DCQCN do "
        "not see the way's length here, and a higher Kmin costs a longer overshoot at the start",
        reason="40 Gb/s, 60 ms, three pairs of thresholds up to Azure's",
    )


def _strict_ring(*, long: bool) -> SpanRow:
    text = FABRIC.format(gpus=64, technology="rocev2-200g") + RING
    seeds = range(8 if long else 3)
    usual = _mean(_values(text, {"qps": 8}, "step", seeds))
    strict = _mean(_values(text, {"of": "conweave", "qps": 8}, "step", seeds))
    return inside(
        "T3",
        "all-reduce, 200G, thresholds at an eighth: slower by",
        (0.02, 0.10),
        strict / usual - 1,
        tag="S2",
        kind="sim",
        gap="hashes spread an all-reduce of this length by more than the effect; Meta's settings, "
        "sizes and topology are not published",
        reason="8 queue pairs, 32 MB on 64 GPUs",
    )


def _incast() -> Iterator[SpanRow]:
    text = FABRIC.format(gpus=32, technology="rocev2-400g")
    first = next(
        count
        for count in range(2, 24)
        if _values(text + INCAST.format(count=count), None, "step", (0,))[0]["pauses"]
    )
    yield inside(
        "T4-pauses",
        "incast: fewest senders that pause",
        (8, 12),
        first,
        tag="S2",
        kind="sim",
        reason="near 10 published; 16 MB each",
    )
    many = text + INCAST.format(count=15)
    usual = _mean(_values(many, None, "step", (0, 1, 2)))
    for row_id, settings, band in (
        ("T4-aggressive", "conweave", (0.05, 0.15)),
        ("T4-most", "dcqcn-paper", (0.15, 0.25)),
    ):
        slow = _mean(_values(many, settings, "step", (0, 1, 2)))
        yield inside(
            row_id,
            f"15:1, {settings}: throughput lost",
            band,
            1 - usual / slow,
            tag="S2",
            kind="sim",
            gap="the published settings are not known; these are the two strictest of the register",
        )


def _queue_pairs(*, long: bool) -> SpanRow:
    text = FABRIC.format(gpus=64, technology="rocev2-200g") + RING
    seeds = range(6 if long else 2)
    few = _mean(_values(text, {"congestion_control": "none", "qps": 4}, "step", seeds))
    more = _mean(_values(text, {"congestion_control": "none", "qps": 16}, "step", seeds))
    return inside(
        "T5",
        "all-reduce over ECMP, 16 queue pairs over 4: faster by",
        (0.2, 0.6),
        few / more - 1,
        tag="S2",
        kind="sim",
        reason="congestion control off, as Meta runs it; 32 MB on 64 GPUs",
    )


def _offset_marks() -> SpanRow:
    """T7: two jobs over one cable, at once and half an iteration apart."""
    wiring = _dumbbell(2, 100e9, [500_000, 500_000])
    ecn = Ecn(kmin_bytes=100_000, kmax_bytes=400_000, pmax=0.2, at_rate_bps=0)
    counts = []
    for later_ps in (0, 1_200_000_000):
        jobs = []
        for number in range(2):
            turns = np.arange(ITERATIONS)
            line = Dag.of(
                np.full(ITERATIONS, number),
                np.full(ITERATIONS, 2 + number),
                12_500_000,
                start_ps=np.where(turns == 0, number * later_ps, 0),
                waits=(turns[1:], turns[:-1]),
            )
            jobs.append(replace(line, delay_ps=np.where(turns > 0, 1_300_000_000, 0)))
        transfers = to_transfers([beside(jobs)], [Label(priority=3)], rng=np.random.default_rng(0))
        delivery = run_packets(wiring, transfers, _settings(ecn, 64_000_000), seed=0)
        counts.append(int(delivery.counters["marks"]))
    return inside(
        "T7",
        "two jobs on one cable: marks at once over marks apart",
        (10.0, 1e9),
        counts[0] / max(counts[1], 1),
        tag="S2",
        unit="x",
        kind="sim",
        reason=f"{counts[0]:,} and {counts[1]:,} marks in {ITERATIONS} iterations; 33x published",
    )


def _classes() -> Iterator[SpanRow]:
    gains = []
    for technology in ("rocev2-200g", "rocev2-400g"):
        asked = parse(FABRIC.format(gpus=64, technology=technology) + MIXTURE, name="T11")
        one, rule = (_window(asked, number) for number in (0, 1))
        gains.append(1 - rule / one)
    yield inside(
        "T11",
        "classes of a mixture in order, 200G: window shorter by",
        (0.08, 0.25),
        gains[0],
        tag="S2",
        kind="sim",
        reason="16 to 18.6 % published, one case of at least 8 % asked",
    )
    yield inside(
        "T11-never",
        "the same, worst of two fabrics",
        (-0.02, 1.0),
        min(gains),
        tag="S2",
        kind="sim",
    )


def _window(asked: Scenario, number: int) -> float:
    window = window_of(asked)
    levels = candidates_of((*window.chain, *window.bulk))[number]
    options = StageOptions(level=dict(levels.level), jitter_s=JITTER_S)
    return _mean(
        [
            measured_stages(SweepRequest(scenario=asked, options=options, seed=seed))
            for seed in range(3)
        ]
    )


def _other_traffic(*, long: bool) -> SpanRow:
    """T12: of the published settings, those best for an incast tried on storage bursts."""
    incast = FABRIC.format(gpus=32, technology="rocev2-400g") + INCAST.format(count=15)
    storage = FABRIC.format(gpus=64, technology="rocev2-400g") + STORAGE
    names = ("conweave", "dcqcn-paper", "hpcc-artefact", "nvidia-roce", "meta-400g")
    seeds = range(6 if long else 3)
    here, there = (
        {name: _mean(_values(text, name, "p99", seeds)) for name in names}
        for text in (incast, storage)
    )
    chosen = min(names, key=lambda name: here[name])
    return inside(
        "T12",
        "settings best for an incast, on storage bursts: longer than their own best by",
        (0.0, 0.5),
        there[chosen] / min(there.values()) - 1,
        tag="S2",
        kind="sim",
        reason=f"{chosen} is best for the incast; up to 30 % published",
    )
