"""Published effects of chips against RoCEv2 or TCP, on the reference network of ``compare``."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.spec.example import example
from netloom.study.compare.chips.design import base_design
from netloom.study.compare.chips.entry import CHIPS
from netloom.study.compare.chips.evaluate import on_job
from netloom.study.compare.chips.reference import REFERENCE, ReferenceTraffic
from netloom.study.compare.chips.runs import SEEDS, ChipBench
from netloom.validation.chips.row import in_band, not_checked
from netloom.workload.dag import Label, to_transfers
from netloom.workload.exchange import all_to_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.parts.load import Catalog
    from netloom.study.compare.chips.design import ChipDesign
    from netloom.validation.chips.row import ChipRow
    from netloom.workload.transfers import Transfers

__all__ = ["reference_rows"]

_TRAFFIC: Final = ReferenceTraffic()
_MESSAGE_BYTES: Final = 1 << 20
_SCALA: Final = "DriveNets, Network Cloud-AI: from theory to practice (2023), by Scala Computing"
_META: Final = "Gangidi et al. (Meta), SIGCOMM 2024, by accounts of it"
_ON: Final = "64 hosts at 400 Gb/s, two tiers, permutation of 4 MB"


class _PublishedBench:
    """Chips on the reference network, each run once."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._scenario = example()
        self._shares: dict[tuple[str, float], float] = {}

    def design(self, name: str) -> ChipDesign:
        """Return a chip's design."""
        chip = CHIPS.get(name)
        return chip.design(base_design(chip.family, self._scenario, self._catalog), self._catalog)

    def built(self, design: ChipDesign) -> ChipBench:
        """Return a design on the reference network."""
        network = on_job(design, self._scenario, self._catalog).network
        return ChipBench.of(design, network, self._scenario.cluster.fabric.floor)

    def share(self, name: str, *, speed_up: float = 1.0) -> float:
        """Return the share of the paths that a permutation reaches."""
        key = (name, speed_up)
        if key not in self._shares:
            built = self.built(replace(self.design(name), speed_up=speed_up))
            runs = [built.permutation(_TRAFFIC, seed) for seed in SEEDS]
            self._shares[key] = fmean(run.path_share for run in runs)
        return self._shares[key]

    def innocent(self, name: str) -> float:
        """Return how many times its own time an innocent flow takes beside an incast."""
        built = self.built(self.design(name))
        return fmean(built.incast(_TRAFFIC, seed).last_slowdown for seed in SEEDS)

    def exchanges_s(self, name: str) -> float:
        """Return when the last message is there of four jobs that each exchange all with all."""
        built = self.built(self.design(name))
        return fmean(float(built.run(_four_jobs(seed), seed).fct_s.max()) for seed in SEEDS)

    @cached_property
    def tcp_mean_s(self) -> float:
        """Return the mean flow of a permutation over DCTCP and hashed paths that drop."""
        base = self.design("roce-ecmp").with_choices(
            transport="tcp", congestion_control="dctcp", flow_control="none", qps=1
        )
        return self.mean_s(base)

    def mean_s(self, design: ChipDesign) -> float:
        """Return the mean flow of a permutation."""
        built = self.built(design)
        return fmean(float(built.permutation(_TRAFFIC, seed).fct_s.mean()) for seed in SEEDS)


def _four_jobs(seed: int) -> Transfers:
    rng = np.random.default_rng(seed)
    hosts = np.sort(rng.permutation(REFERENCE.num_hosts).reshape(4, -1), axis=1)
    dags = [all_to_all(members, _MESSAGE_BYTES * len(members)) for members in hosts]
    labels = [Label(priority=3, job=number) for number in range(len(dags))]
    return to_transfers(dags, labels, rng=rng)


def reference_rows(catalog: Catalog) -> Iterator[ChipRow]:
    """Yield a row for each published effect."""
    bench = _PublishedBench(catalog)
    yield from _paths(bench)
    yield from _scheduled(bench)
    yield in_band(
        "eqds-over-tcp",
        "mean flow of TCP over that of EQDS",
        2.0,
        (1.5, 3.0),
        bench.tcp_mean_s / bench.mean_s(bench.design("eqds")),
        unit="x",
        tag="S",
        direction=1.0,
        reason=f"DCTCP with one path against credits and spraying; {_ON}",
        source="Olteanu et al., EQDS, NSDI 2022, abstract: halves the completion time of TCP",
    )
    yield from _not_run()


def _paths(bench: _PublishedBench) -> Iterator[ChipRow]:
    hashed = bench.share("roce-ecmp")
    yield in_band(
        "adaptive-share",
        "bandwidth that adaptive routing reaches",
        0.97,
        (0.94, 1.0),
        bench.share("adaptive-routing"),
        tag="S2",
        direction=0.845,
        reason=f"{_ON}; hashing reached 84.5 % in the source, on 2 nodes",
        source="Asterfusion, Maximizing NCCL cluster performance (2025): 97 % against 84.5 %",
    )
    yield in_band(
        "adaptive-over-hashing",
        "adaptive routing over hashing",
        1.6,
        (1.28, 2.0),
        bench.share("adaptive-routing") / hashed,
        unit="x",
        tag="S2",
        direction=1.0,
        reason=f"4 QPs hashed; within 25 %; {_ON}",
        source="NVIDIA on Spectrum-X: 1.6 times commodity Ethernet, by accounts of it",
    )
    yield in_band(
        "queue-pair-scaling",
        "16 queue pairs over 4, hashed",
        1.4,
        (1.2, 1.6),
        bench.share("ecmp-16-qps") / hashed,
        unit="x",
        tag="S2",
        direction=1.0,
        reason=f"up to 40 % in the source, taken as 20 to 60 %; {_ON}",
        source=f"{_META}: E-ECMP and queue-pair scaling, up to 40 % on all-reduce",
    )
    yield in_band(
        "flowlets-over-hashing",
        "flowlets over hashing",
        1.0,
        (0.95, 1.05),
        bench.share("flowlets") / hashed,
        unit="x",
        tag="S2",
        reason=f"a gap of 256 us; RDMA has none; {_ON}",
        source=f"{_META}: with gaps of 256 to 512 us hardly a packet changes its path",
    )
    yield in_band(
        "spectrum-x-claim",
        "bandwidth of hashed Ethernet",
        0.6,
        (0.45, 0.75),
        hashed,
        tag="R",
        reason=_ON,
        source="NVIDIA on Spectrum-X: 95 % against 60 %, recalled",
    )


def _scheduled(bench: _PublishedBench) -> Iterator[ChipRow]:
    clos_s, cells_s = (bench.exchanges_s(name) for name in ("roce-ecmp", "scheduled-cells"))
    yield in_band(
        "ddc-steady",
        "all-to-all of a Clos over that of a scheduled fabric",
        1.10,
        (1.03, 1.25),
        clos_s / cells_s,
        unit="x",
        tag="F",
        direction=1.0,
        reason="four jobs of 16 hosts drawn from 64, 1 MiB to each of 15 others, of twelve set-ups "
        "between 0.85 and 3.28; 500 GPUs each in the source",
        source=f"{_SCALA}: job completion 10 % better at steady state",
    )
    yield in_band(
        "ddc-neighbour",
        "innocent flow beside an incast, scheduled fabric",
        1.0,
        (0.98, 1.03),
        bench.innocent("scheduled-cells"),
        unit="x",
        tag="S",
        reason="16 senders of 1 MB to one",
        source=f"{_SCALA}: an impaired workload hurts itself alone",
    )
    yield in_band(
        "clos-neighbour",
        "innocent flow beside an incast, Clos with pauses",
        None,
        (None, None),
        bench.innocent("roce-ecmp"),
        unit="x",
        tag="S",
        direction=1.0,
        reason="16 senders of 1 MB to one; the source states no size",
        source=f"{_SCALA}: in an Ethernet Clos all workloads that share it degrade",
    )
    clos = bench.share("roce-ecmp", speed_up=2.0) / bench.share("roce-ecmp")
    yield in_band(
        "clos-fabric-speed",
        "Clos with fabric links twice as fast over equal ones",
        None,
        (None, None),
        clos,
        unit="x",
        tag="S",
        direction=1.0,
        reason=f"{_ON}; the source states no size",
        source=f"{_SCALA}: a Clos degrades with a 400G fabric against one of 800G",
    )
    cells = bench.share("scheduled-cells", speed_up=2.0) / bench.share("scheduled-cells")
    yield in_band(
        "ddc-fabric-speed",
        "scheduled fabric with links twice as fast over equal ones",
        1.0,
        (0.98, 1.10),
        cells,
        unit="x",
        tag="S",
        reason=f"{_ON}; headers of cells are what is won back",
        source=f"{_SCALA}: a scheduled fabric is agnostic to its speed",
    )


def _not_run() -> Iterator[ChipRow]:
    yield not_checked(
        "homa-short",
        "p99 round trip of short messages at 80 % load, 10 Gb/s: under 15 us",
        tag="S",
        source="Montazeri et al., Homa, SIGCOMM 2018, abstract",
        reason="priorities by what is left to send are not in the engine: homa is a stand-in",
    )
    yield not_checked(
        "dcpim-load",
        "6 to 10 % higher loads than others",
        tag="S",
        source="github.com/Terabit-Ethernet/dcPIM",
        reason="matching rounds are not in the engine: dcpim is a stand-in",
    )
    yield not_checked(
        "hpcc-short-flows",
        "p95 slowdown of tiny flows, WebSearch at 50 %: 1.42 against 4.72 with DCQCN",
        tag="S",
        source="HPCC project page, digitised",
        reason="netloom validate fct runs it: minutes",
    )
