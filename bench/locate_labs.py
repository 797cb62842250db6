"""Every fault that the real labs can make, located by a watch: OpenSM on ibsim, FRR in namespaces.

Run as root: ``python -m bench.locate_labs``. Prints the table of docs/models/locate.md.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from netloom.app.lab.labs import bring_down
from netloom.app.lab.rates import lab_rates
from netloom.app.lab.store import LabFolder
from netloom.app.watch.locating import Locator
from netloom.app.watch.loop import Watch
from netloom.app.watch.sources import collectors_in_lab
from netloom.app.watch.targets import cabling_of
from netloom.cli.main import main
from netloom.cli.operate.designed import designed_at
from netloom.drivers.clock import WallClock
from netloom.drivers.programs import run
from netloom.ops.lab import namespace_of
from netloom.ops.locate.network import DesignedNetwork
from netloom.ops.observe.store import ObservationStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.observe.cases import Case
    from netloom.ops.observe.designed import Designed

OWN = """
[switches.QM9700]
modes = [{ count = 8, rate = "400Gbps" }, { count = 16, rate = "200Gbps" }]
[switches.Tomahawk-5]
modes = [{ count = 2, rate = "800Gbps" }, { count = 4, rate = "400Gbps" }]
"""
SCENARIO = """
cluster:
  nodes: {nodes}
  node: dgx-h100
  fabric: {{technology: {technology}, topology: {{kind: fat-tree, tiers: 2}}}}
job: {{model: llama-3.1-8b, training: {{sequence: 8192, global_batch: 64}}}}
catalog: own.toml
"""
EVERY_S = 1.0
MAX_ROUNDS = 12


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A fault, and the finding that names it.

    Attributes:
        name: What is done.
        arguments: Of ``netloom lab fault``; none for a path taken out of the kernel.
        parts: Any of these is right.
        kinds: So is any of these.
    """

    name: str
    arguments: tuple[str, ...]
    parts: frozenset[str]
    kinds: frozenset[str]

    def is_named_by(self, case: Case) -> bool:
        return str(case.part) in self.parts and case.kind in self.kinds


@dataclass(kw_only=True)
class Bench:
    """A lab, and what watches it."""

    place: LabFolder
    designed: Designed
    clock: WallClock = field(default_factory=WallClock)

    def cable(self, part: str) -> str:
        return f"cable:{self.designed.plant.find(part)[-1].number}"

    def fault(self, *arguments: str) -> None:
        where = [self.place.name, *arguments, "--dir", str(self.place.path.parent)]
        with contextlib.redirect_stdout(io.StringIO()):
            assert main(["lab", "fault", *where]) == 0

    def take_a_path_away(self) -> None:
        """Take one of two next hops out of the kernel of leaf:0; FRR still has both."""
        leaf = namespace_of(self.place.mark, "leaf:0")
        hop = ["proto", "bgp", "metric", "20", "via", "169.254.0.1", "dev", "swp3", "onlink"]
        run(["ip", "-n", leaf, "route", "replace", "10.128.0.14/31", *hop])


@contextlib.contextmanager
def lab(folder: Path, technology: str, nodes: int) -> Iterator[Bench]:
    """Give a lab of two tiers."""
    (folder / "own.toml").write_text(OWN, encoding="utf-8")
    path = folder / f"{technology}.yaml"
    path.write_text(SCENARIO.format(technology=technology, nodes=nodes), encoding="utf-8")
    name = f"bench-{technology[:4]}"
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["lab", "up", str(path), "--name", name, "--dir", str(folder / "labs")]) == 0
    place = LabFolder.of(name, folder / "labs")
    try:
        yield Bench(place=place, designed=designed_at(path))
    finally:
        bring_down(place)


def planted(name: str, arguments: str, parts: str, kinds: str) -> Planted:
    return Planted(
        name=name,
        arguments=tuple(arguments.split()),
        parts=frozenset(part.replace("-0", " 0") for part in parts.split()),
        kinds=frozenset(kinds.split(", ")),
    )


def faults_of_infiniband(bench: Bench) -> list[Planted]:
    up, host, other = bench.cable("leaf:3"), bench.cable("nic:5"), bench.cable("leaf:2")
    loss = "loss, missing cable"
    return [
        planted("unlink", f"unlink {up}", up, "missing cable"),
        planted("unlink of a host", f"unlink {host}", host, "missing cable"),
        planted("flap, 3 times", f"flap {up}", up, "flapping"),
        planted("error rate 30 %", f"error-rate {up} --share 0.3", up, loss),
        planted("symbol errors, 1,234", f"symbol-errors {up} --count 1234", up, "symbol errors"),
        planted("slow link, half", f"slow-link {up} --factor 2", up, "wrong speed"),
        planted("dead spine", "dead-switch spine:1", "spine:1", "silent device"),
        planted("dead leaf", "dead-switch leaf:3", "leaf:3", "silent device"),
        planted("dead subnet manager", "dead-sm", "subnet-0", "dead subnet manager"),
        planted("miswiring", f"miswire {other} {up}", f"{up} {other}", "miswired"),
    ]


def faults_of_roce(bench: Bench) -> list[Planted]:
    up, host, other = bench.cable("leaf:3"), bench.cable("nic:5"), bench.cable("leaf:2")
    lossy, large = "loss, black hole, large-packet loss", "large-packet loss"
    one_way = bench.cable("link:leaf:2-spine:1")
    return [
        planted("unlink", f"unlink {up}", up, "missing cable"),
        planted("unlink of a host", f"unlink {host}", host, "missing cable"),
        planted("flap, 3 times", f"flap {up}", up, "flapping"),
        planted("error rate 30 %", f"error-rate {up} --share 0.3", up, lossy),
        planted("silent drop, all", f"silent-drop {up}", up, lossy),
        planted("silent drop, full packets", f"silent-drop {up} --larger-than 1000", up, large),
        planted("silent drop, one way 30 %", "silent-drop leaf:2->spine:1 --share 0.3",
                one_way, lossy),
        planted("silent drop of a host, 20 %", "silent-drop nic:5 --share 0.2", "nic:5", lossy),
        planted("slow link, half", f"slow-link {up} --factor 2", up, "wrong speed"),
        planted("dead spine", "dead-switch spine:1", "spine:1", "silent device"),
        planted("dead leaf", "dead-switch leaf:3", "leaf:3", "silent device"),
        planted("miswiring", f"miswire {other} {up}", f"{up} {other}", "miswired"),
        planted("path lost in the kernel", "", "leaf:0", "forwarding lost paths"),
    ]  # fmt: skip


@dataclass(kw_only=True)
class Trial:
    """One fault, watched from before it until it is named."""

    bench: Bench
    fault: Planted
    store: ObservationStore
    false: list[Case] = field(default_factory=list)

    def run(self) -> str:
        bench, designed = self.bench, self.bench.designed
        rates = lab_rates(designed.plant, is_infiniband=designed.is_infiniband)
        seers = collectors_in_lab(bench.place, designed)
        collectors = [*seers, *cabling_of(seers, designed, rates)]
        locator = Locator(
            store=self.store,
            network=DesignedNetwork(fabric=designed.fabric, plant=designed.plant, rate_bps=rates),
            technology=designed.network.technology,
            collectors=collectors,
            clock=bench.clock,
            log=lambda *_, **__: None,
            say=lambda _: None,
        )
        watch = Watch(
            store=self.store,
            collectors=collectors,
            clock=bench.clock,
            log=lambda *_, **__: None,
            publish=lambda _: None,
            locate=locator,
            every_s=EVERY_S,
        )
        watch.run(rounds=2)
        self.false += locator.cases
        begun_s = time.monotonic()
        if self.fault.arguments:
            bench.fault(*self.fault.arguments)
        else:
            bench.take_a_path_away()
        rounds = 0
        while rounds < MAX_ROUNDS:
            watch.run(rounds=1)
            rounds += 1
            if any(self.fault.is_named_by(case) for case in locator.cases):
                break
            time.sleep(EVERY_S)
        return self._row(locator.cases, rounds, time.monotonic() - begun_s)

    def _row(self, cases: tuple[Case, ...], rounds: int, took_s: float) -> str:
        named = [case for case in cases if self.fault.is_named_by(case)]
        others = "; ".join(
            f"{case.label}: {case.kind} ({case.confidence:.2f})"
            for case in cases
            if not self.fault.is_named_by(case)
        )
        if not named:
            return f"{self.fault.name:<28}| no | | | | | | {others}"
        top = "yes" if self.fault.is_named_by(cases[0]) else "no"
        return (
            f"{self.fault.name:<28}| yes | {top} | {named[0].kind} | {named[0].confidence:.4f} | "
            f"{rounds} | {took_s:.1f} | {others}"
        )


def every_fault_of_the_labs() -> None:
    """Print what a watch makes of each."""
    print("fault | found | top-1 | kind | confidence | rounds | seconds | other findings")
    kinds = {"infiniband-ndr": (2, faults_of_infiniband), "rocev2-400g": (1, faults_of_roce)}
    for technology, (nodes, faults_of) in kinds.items():
        with tempfile.TemporaryDirectory() as name, lab(Path(name), technology, nodes) as bench:
            num_false = 0
            print(f"{technology}, {nodes * 8} hosts, a look every {EVERY_S:g} s")
            for number, fault in enumerate(faults_of(bench)):
                with ObservationStore(Path(name) / f"{number}.db") as store:
                    trial = Trial(bench=bench, fault=fault, store=store)
                    print(trial.run(), flush=True)
                num_false += len(trial.false)
                bench.fault("clear")
                time.sleep(6 if technology.startswith("roce") else 3)
            print(f"findings before the fault: {num_false}")


if __name__ == "__main__":
    every_fault_of_the_labs()
