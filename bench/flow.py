"""The flow engine beside SimGrid, and alone at sizes that SimGrid does not reach.

``python -m bench.flow NAME`` runs one of them; each runs in a process of its own, so that the
peak memory it prints is its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.fat_tree import fat_tree
from bench.peers import median_s
from netloom.engines.flow import FlowSettings, Phase, run_phases, settings_for
from netloom.engines.flow.phases import at_once
from netloom.engines.flow.routes import ground
from netloom.engines.flow.run import deliver, lay
from netloom.fabric.build import build
from netloom.parts.load import load_catalog
from netloom.spec.example import example
from netloom.spec.scenario import Cluster
from netloom.study.networks import network_of
from netloom.study.predict.engines import engine_named
from netloom.study.predict.prediction import predict

if TYPE_CHECKING:
    from netloom.engines.delivery import Delivery
    from netloom.engines.flow.phases import Phases
    from netloom.engines.flow.run import RoutedTransfers
    from netloom.workload.transfers import Transfers

SIMGRID = ("/usr/bin/python3", str(Path(__file__).with_name("simgrid_peer.py")))
GIB = 2.0**30
# What must be kept, whatever else the machine does.
MIN_RATIO = 100
MAX_S = {"all-to-all-1024": 30.0, "all-reduce-131072": 10.0, "step-16384": 20.0}
MAX_GIB = {"all-to-all-1024": 2.0, "all-reduce-131072": 6.0, "all-reduce-1048576": 12.0}
MAX_S["all-reduce-1048576"] = 60.0


def peak_gib() -> float:
    """Return the most memory this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIB


def all_pairs(num_hosts: int, size_bytes: int) -> Transfers:
    """Return one transfer from each host to each other, all at once."""
    source, target = np.divmod(np.arange(num_hosts**2), num_hosts)
    apart = source != target
    return at_once(source[apart], target[apart], size_bytes=size_bytes)


def has_simgrid() -> bool:
    """Return whether Debian's python3 finds SimGrid."""
    if not Path(SIMGRID[0]).exists():
        return False
    asked = subprocess.run(  # noqa: S603
        [SIMGRID[0], "-c", "import simgrid"], capture_output=True, check=False
    )
    return asked.returncode == 0


def in_simgrid(laid: RoutedTransfers) -> dict[str, Any]:
    """Run the same flows over the same links in SimGrid."""
    transfers, ways = laid.transfers, laid.ways
    flows = [
        {
            "source": int(transfers.source[i]),
            "target": int(transfers.target[i]),
            "links": ways.links[ways.offsets[i] : ways.offsets[i + 1]].tolist(),
            "size_bytes": int(transfers.size_bytes[i]),
            "start_s": float(transfers.start_ps[i]) * 1e-12,
        }
        for i in range(len(transfers))
    ]
    asked = {"capacity_bps": laid.on.capacity_bps(laid.settings).tolist(), "flows": flows}
    ran = subprocess.run(  # noqa: S603
        SIMGRID, input=json.dumps(asked), capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def timed(laid: RoutedTransfers) -> tuple[Delivery, float, float]:
    """Return the delivery, the median wall time of five runs and their mean processor time."""
    found = deliver(laid)
    began = time.process_time()
    wall_s = median_s(lambda: deliver(laid), repeats=5)
    return found, wall_s, (time.process_time() - began) / 5


def all_to_all_128() -> None:
    """16,256 flows at once on a fat tree of k = 8, with static routes and hashed."""
    for balance in ("static", "ecmp"):
        laid = lay(ground(fat_tree(8)), all_pairs(128, 10**6), FlowSettings(balance=balance))
        found, ours_s, ours_cpu_s = timed(laid)
        line = f"\nall-to-all among 128 hosts ({balance}, {len(laid.ways):,} flows): "
        line += f"netloom {ours_s * 1e3:.3g} ms, peak {peak_gib():.2f} GiB"
        if not has_simgrid():
            print(f"{line}; SimGrid is not installed (apt-get install python3-simgrid)")
            continue
        peer = in_simgrid(laid)
        off = np.abs(found.finish_ps * 1e-12 / np.array(peer["finish_s"]) - 1).max()
        ratio = peer["cpu_s"] / ours_cpu_s  # a busy machine stretches wall time by chance
        print(
            f"{line}; SimGrid {peer['wall_s']:.3g} s: {peer['wall_s'] / ours_s:.3g} times as fast "
            f"({ratio:.3g} in processor time); completion times differ by {off:.1e} at most"
        )
        assert off < 0.01
        assert ratio >= MIN_RATIO


def all_to_all_1024() -> None:
    """1,047,552 flows at once on a fat tree of k = 16, hashed; routing included."""
    began = time.perf_counter()
    found = deliver(lay(ground(fat_tree(16)), all_pairs(1024, 10**6), FlowSettings()))
    told("all-to-all-1024", began, f"{found.counters['flows']:,} flows at once")


def told(name: str, began: float, what: str) -> None:
    """Print time and memory, and hold them to what was promised."""
    wall_s = time.perf_counter() - began
    cpu_s = time.process_time()  # of this process so far
    print(
        f"\n{name}: {what} in {wall_s:.2f} s ({cpu_s:.2f} s of processor time so far), "
        f"peak {peak_gib():.2f} GiB"
    )
    # On a busy machine the processor time is what can be promised.
    assert min(wall_s, cpu_s) <= MAX_S[name]
    assert peak_gib() <= MAX_GIB.get(name, 64.0)


def all_reduce(num_nodes: int, *, kind: str, scattered: bool = True) -> Phases:
    """Run an all-reduce of 1 GiB over all GPUs by the real hash, nodes in random order or packed.

    The ring visits the GPUs of a node one after another. The hierarchical one scatters inside the
    nodes, which are alike (one stands for all), reduces in rings of equal GPUs, and gathers.
    """
    network = network_of(Cluster(nodes=num_nodes), load_catalog(), technology="rocev2-400g")
    on = ground(build(network.design, network.node, network.scale_up))
    gpus = network.node.num_gpus
    rng = np.random.default_rng(7)
    node = rng.permutation(num_nodes) if scattered else np.arange(num_nodes)
    rank = (node[:, None] * gpus + np.arange(gpus)).ravel()
    size = 2**30
    if kind == "ring":
        steps = 2 * (len(rank) - 1)
        phases: tuple[Phase, ...] = (
            phase("ring", rank, np.roll(rank, -1), size // len(rank), steps),
        )
    else:
        inside = np.arange(gpus)
        one = phase("scatter", inside, np.roll(inside, -1), size // gpus, 2 * (gpus - 1))
        rails = phase("rails", rank, np.roll(rank, -gpus), size // len(rank), 2 * (num_nodes - 1))
        phases = (one, rails)
    return run_phases(on, phases, settings_for(network.technology), seed=1)


def phase(name: str, source: Any, target: Any, size_bytes: int, repeats: int) -> Phase:
    """Return equal flows; a connection's port is its own."""
    return Phase(
        name=name,
        source=source,
        target=target,
        source_port=np.full(len(source), 0xC000, np.uint16),
        size_bytes=np.full(len(source), max(1, size_bytes)),
        repeats=repeats,
    )


def all_reduce_131072() -> None:
    """A ring and a hierarchical all-reduce over 131,072 GPUs on three tiers."""
    for kind in ("ring", "hierarchical"):
        began = time.perf_counter()
        found = all_reduce(16_384, kind=kind)
        flows = sum(one.num_flows for one in found.phases)
        told("all-reduce-131072", began, f"{kind}, {flows:,} flows, {found.duration_s:.3g} s long")


def all_reduce_1048576() -> None:
    """A hierarchical all-reduce over 1,048,576 GPUs on three tiers: packed, then scattered."""
    for scattered in (False, True):
        began = time.perf_counter()
        found = all_reduce(131_072, kind="hierarchical", scattered=scattered)
        flows = sum(one.num_flows for one in found.phases)
        order = "scattered" if scattered else "packed"
        told(
            "all-reduce-1048576", began, f"{order}, {flows:,} flows, {found.duration_s:.3g} s long"
        )


def step_16384() -> None:
    """All distinct collectives of one step of Llama 3.1 405B on 16,384 GPUs over RoCEv2."""
    scenario = example()
    fabric = scenario.cluster.fabric.model_copy(update={"technology": "rocev2-400g"})
    cluster = scenario.cluster.model_copy(update={"fabric": fabric})
    began = time.perf_counter()
    found = predict(scenario.model_copy(update={"cluster": cluster}), engine=engine_named("flow"))
    told("step-16384", began, f"a step of {found.step.duration_s:.3f} s")


BENCHMARKS = {
    "all-to-all-128": all_to_all_128,
    "all-to-all-1024": all_to_all_1024,
    "all-reduce-131072": all_reduce_131072,
    "step-16384": step_16384,
    "all-reduce-1048576": all_reduce_1048576,
}


def each_in_its_own_process() -> None:
    """Run all of them."""
    for name in BENCHMARKS:
        subprocess.run(  # noqa: S603
            [sys.executable, "-m", "bench.flow", name], check=True
        )


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] not in BENCHMARKS:
        sys.exit(f"bench.flow: {sys.argv[1]!r} is not known; choose one of {', '.join(BENCHMARKS)}")
    BENCHMARKS.get(" ".join(sys.argv[1:2]), each_in_its_own_process)()
