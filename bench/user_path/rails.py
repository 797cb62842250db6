"""Eight rails that share nothing, on one worker and on two: ``python -m bench.user_path.rails``."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import netloom as nl

TURNS = 3
SCENARIO = {
    "cluster": {
        "gpus": 1024,
        "node": "dgx-h100",
        "fabric": {"technology": "rocev2-400g", "topology": {"kind": "rail-only"}},
    },
    "traffic": [
        {
            "kind": "collective",
            "operation": "all-reduce",
            "group": 128,
            "stride": 8,
            "size": "16MiB",
        }
    ],
}


@dataclass(slots=True)
class Threads:
    """Processor time of each thread of this process, read while they run."""

    cpu_s: dict[str, float] = field(default_factory=dict)

    def read(self, _done: int = 0, _total: int = 0) -> bool:
        """Read what each has taken so far; stop nothing."""
        for task in Path("/proc/self/task").iterdir():
            try:
                cells = (task / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            self.cpu_s[task.name] = (int(cells[11]) + int(cells[12])) / os.sysconf("SC_CLK_TCK")
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class RailsCost:
    """What a run took.

    Attributes:
        wall_s: From its beginning to its end, with all that is set up.
        cpu_s: Of all threads.
        busiest_s: Of the worker that took most, within a tenth of a second.
        finish_ps: When the last transfer ended.
    """

    wall_s: float
    cpu_s: float
    busiest_s: float
    finish_ps: int


def run(workers: int) -> RailsCost:
    """Run the rails on so many workers."""
    threads = Threads()
    threads.read()
    before = dict(threads.cpu_s)
    wall_s, cpu_s = perf_counter(), process_time()
    found = nl.simulate(nl.load(SCENARIO), workers=workers, on_progress=threads.read)
    wall_s, cpu_s = perf_counter() - wall_s, process_time() - cpu_s
    threads.read()
    own = {name: taken - before.get(name, 0.0) for name, taken in threads.cpu_s.items()}
    workers_s = own if workers == 1 else {n: s for n, s in own.items() if n not in before}
    finish_ps = int(found.first.delivery.finish_ps.max())
    return RailsCost(
        wall_s=wall_s, cpu_s=cpu_s, busiest_s=max(workers_s.values()), finish_ps=finish_ps
    )


def rails() -> None:
    """Print medians of runs in turn on one worker and on two."""
    print("\nRing all-reduces of 16 MiB on 8 rails of 128 GPUs, rocev2-400g, packets:")
    found: dict[int, list[RailsCost]] = {1: [], 2: []}
    for _ in range(TURNS):
        for workers, costs in found.items():
            costs.append(run(workers))
    assert len({cost.finish_ps for costs in found.values() for cost in costs}) == 1
    for workers, costs in found.items():
        wall_s, cpu_s, busiest_s = (
            median(getattr(cost, name) for cost in costs)
            for name in ("wall_s", "cpu_s", "busiest_s")
        )
        print(
            f"  {workers} workers: {wall_s:.1f} s of wall time, {cpu_s:.1f} s of processor time, "
            f"{busiest_s:.1f} s of it on the busiest",
            flush=True,
        )


if __name__ == "__main__":
    rails()
