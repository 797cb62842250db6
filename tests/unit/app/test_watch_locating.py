"""A watch that locates: findings open, are told and served, close, and outlive the process."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from netloom.app.watch.cabling import CablingAudit
from netloom.app.watch.locating import SHARE, Locator
from netloom.app.watch.loop import Watch
from netloom.app.watch.probing import FlowFileCollector
from netloom.cli.operate.designed import designed_at
from netloom.errors import LabError
from netloom.formats.prometheus.metrics import MAX_FINDINGS, Now, Suspect, render
from netloom.ops.locate.network import DesignedNetwork
from netloom.ops.observe.cases import MISSES_TO_CLOSE, case_history, open_cases
from netloom.ops.observe.compare import Built, BuiltCable, Jack
from netloom.ops.observe.observation import Observation, Reading
from netloom.ops.observe.retention import RetentionLimits
from netloom.ops.observe.store import ObservationStore
from netloom.spec.observed import Observed, ObservedFlow

if TYPE_CHECKING:
    from pathlib import Path

    from netloom.ops.observe.designed import Designed

START_S = 1_800_000_000.0
SCENARIO = """
cluster:
  nodes: 2
  node: dgx-h100
  fabric: {technology: infiniband-ndr, topology: {kind: fat-tree, tiers: 2}}
job: {model: llama-3.1-8b, training: {sequence: 8192, global_batch: 64}}
"""


@dataclass
class Clock:
    passed_s: float = 0.0

    def now_s(self) -> float:
        return START_S + self.passed_s

    def ticks_s(self) -> float:
        return self.passed_s

    def wait(self, wait_s: float) -> bool:
        self.passed_s += wait_s
        return False


@dataclass
class Ports:
    """Every port of the design, those of some cables down; fails when told to."""

    designed: Designed
    down: set[int] = field(default_factory=set)
    fails: bool = False
    source: str = "ports"

    def read(self, time_s: float, cursor: str) -> Reading:
        if self.fails:
            message = "no answer"
            raise LabError(message)
        plant = self.designed.plant
        seen = [
            Observation(time_s, plant.port_name(port), "link_up", float(c.number not in self.down))
            for c in plant.cables
            for port in c.ends
        ]
        return Reading(source=self.source, time_s=time_s, observations=seen, is_whole=True)


@dataclass
class Desk:
    """A watch over one network, with what it says."""

    designed: Designed
    ports: Ports
    clock: Clock = field(default_factory=Clock)
    logged: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def watch(self, store: ObservationStore, *more: Any) -> tuple[Watch, Locator]:
        def log(event: str, **fields: object) -> None:
            self.logged.append((event, fields))

        collectors = (self.ports, *more)
        locator = Locator(
            store=store,
            network=DesignedNetwork(
                fabric=self.designed.fabric,
                plant=self.designed.plant,
                rate_bps=lambda cable: cable.rate_bps,
            ),
            technology=self.designed.network.technology,
            collectors=collectors,
            clock=self.clock,
            log=log,
            say=self.said.append,
            vital=frozenset({"ports"}),
        )
        watch = Watch(
            store=store,
            collectors=collectors,
            clock=self.clock,
            log=log,
            publish=lambda _: None,
            locate=locator,
        )
        return watch, locator


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    path = tmp_path / "small.yaml"
    path.write_text(SCENARIO, encoding="utf-8")
    designed = designed_at(path)
    return Desk(designed=designed, ports=Ports(designed))


def uplink(desk: Desk) -> int:
    return desk.designed.plant.find("leaf:0")[-1].number


def test_a_finding_opens_once_and_closes_once(desk: Desk, tmp_path: Path) -> None:
    with ObservationStore(tmp_path / "a.db") as store:
        watch, locator = desk.watch(store)
        watch.run(rounds=3)
        assert not locator.cases
        assert desk.said == []
        desk.ports.down = {uplink(desk)}
        watch.run(rounds=5)
        (case,) = locator.cases
        desk.ports.down = set()
        watch.run(rounds=MISSES_TO_CLOSE)
        assert not open_cases(store)
        (over,) = case_history(store, START_S)
    assert over.opened_s == case.opened_s
    assert over.closed_s is not None
    told = [(event, fields["part"]) for event, fields in desk.logged if "finding" in event]
    assert told == [("finding-opened", case.label), ("finding-closed", case.label)]
    assert desk.said[0].startswith(f"opened: {case.label}: missing cable, 100% sure: ")
    assert desk.said[1].startswith(f"closed: {case.label}: missing cable")


def test_a_restart_goes_on_with_the_same_case(desk: Desk, tmp_path: Path) -> None:
    desk.ports.down = {uplink(desk)}
    for _ in range(3):
        with ObservationStore(tmp_path / "a.db") as store:
            desk.watch(store)[0].run(rounds=2)
    with ObservationStore(tmp_path / "a.db") as store:
        assert store.num_rows()["finding"] == 1
        (case,) = open_cases(store)
    assert case.opened_s == pytest.approx(START_S, abs=1)
    assert len(desk.said) == 1


def test_while_a_network_is_not_seen_nothing_is_over(desk: Desk, tmp_path: Path) -> None:
    desk.ports.down = {uplink(desk)}
    with ObservationStore(tmp_path / "a.db") as store:
        watch, locator = desk.watch(store)
        watch.run(rounds=2)
        desk.ports.fails = True
        watch.run(rounds=200)  # longer than the window
        assert len(locator.cases) == 1
        desk.ports.fails, desk.ports.down = False, set()
        watch.run(rounds=MISSES_TO_CLOSE)
        assert not open_cases(store)


def test_locating_takes_no_more_than_its_share_of_the_time(desk: Desk, tmp_path: Path) -> None:
    with ObservationStore(tmp_path / "a.db") as store:
        _, locator = desk.watch(store)
        turns = []

        @dataclass
        class Slow(Clock):
            def ticks_s(self) -> float:
                self.passed_s += 4.0  # each time it is asked
                return self.passed_s

        locator.clock = Slow()
        for number in range(30):
            before = locator._due_s
            locator(START_S + 10 * number)
            turns.append(locator._due_s != before)
    # A run asks twice, 4 s apart: the next is due 4 / SHARE = 40 s after it began, and each call
    # that is turned away takes 4 s too.
    assert SHARE == 0.1
    assert sum(turns) <= 4


def test_flows_of_a_file_convict_and_what_names_strangers_is_refused(
    desk: Desk, tmp_path: Path
) -> None:
    path = tmp_path / "flows.json"
    leaf = next(c for c in desk.designed.plant.cables if c.lower.device == 3)
    name = desk.designed.plant.devices[leaf.upper.device].name
    flows = [
        {
            "source": f"gpu:{source}",
            "target": f"gpu:{target}",
            "path": [f"gpu:{source}->nic:{source}", f"nic:{source}->{name}"],
            "packets": 100_000,
            "lost": 1000 if source == 3 else 0,
        }
        for source in range(8)
        for target in range(8, 16)
    ]
    path.write_text(json.dumps({"flows": flows}), encoding="utf-8")
    with ObservationStore(tmp_path / "a.db") as store:
        watch, locator = desk.watch(store, FlowFileCollector(path=path, fresh_s=30.0))
        watch.run(rounds=1)
        (case,) = locator.cases
        assert (case.label, case.kind, case.hurts) == ("nic:3", "loss", 1)
        assert case.magnitude == pytest.approx(0.01, rel=0.01)
        assert case.confidence > 0.95
        flows[0]["source"] = "gpu:4711"
        path.write_text(json.dumps({"flows": flows}), encoding="utf-8")
        watch.run(rounds=1)
        refused = [fields["error"] for event, fields in desk.logged if event == "flows-refused"]
        assert "gpu:4711" in refused[0]
        watch.run(rounds=5)  # the file says nothing new for more than 30 s
        assert "flows " + str(path) in watch.failing


@dataclass
class Probes:
    """Probes of all GPUs of one node to those of the other, and what each of them loses."""

    designed: Designed
    lost: int = 0
    observed: Observed | None = None
    source: str = "probes"

    def read(self, time_s: float, cursor: str) -> Reading:
        plant = self.designed.plant
        leaf = {
            plant.devices[c.lower.device].name: plant.devices[c.upper.device].name
            for c in plant.cables
        }
        flows = tuple(
            ObservedFlow(
                source=f"gpu:{source}",
                target=f"gpu:{target}",
                path=(f"gpu:{source}->nic:{source}", f"nic:{source}->{leaf[f'nic:{source}']}"),
                packets=50,
                lost=self.lost if source == 3 else 0,
            )
            for source in range(8)
            for target in range(8, 16)
        )
        self.observed = Observed(flows=flows)
        return Reading(source=self.source, time_s=time_s)


def test_some_packets_lost_in_one_look_open_no_case_and_in_two_they_do(
    desk: Desk, tmp_path: Path
) -> None:
    probes = Probes(desk.designed)
    with ObservationStore(tmp_path / "a.db") as store:
        watch, _ = desk.watch(store, probes)
        watch.run(rounds=5)
        for lost, rounds, opened in (
            (1, 1, []),  # as routes change
            (0, 20, []),  # nor do they add up
            (1, 2, ["nic:3"]),
            (0, 20, []),
            (30, 1, ["nic:3"]),  # so many are no change of routes
        ):
            probes.lost = lost
            watch.run(rounds=rounds)
            assert [case.label for case in open_cases(store)] == opened


def test_a_comparison_of_half_a_network_is_not_made(desk: Desk) -> None:
    @dataclass
    class Seer:
        built: Built | None
        seen_s: float | None

    plant = desk.designed.plant
    jacks = [
        [Jack(plant.devices[port.device].name, port.number) for port in cable.ends]
        for cable in plant.cables
    ]
    cables = tuple(
        BuiltCable(one=one, other=other, rate_bps=c.rate_bps)
        for (one, other), c in zip(jacks, plant.cables, strict=True)
    )
    seer = Seer(Built(cables=cables[1:]), None)
    cabling = CablingAudit(designed=desk.designed, rate_bps=lambda c: c.rate_bps, seers=[seer])
    with pytest.raises(LabError, match="not compared"):
        cabling.read(START_S, "")
    seer.seen_s = START_S
    names = {(o.part, o.metric) for o in cabling.read(START_S, "").observations}
    assert names == {("nic:0", "device_silent")}
    slow = BuiltCable(one=jacks[0][0], other=jacks[0][1], rate_bps=cables[0].rate_bps / 2)  # type: ignore[operator]
    seer.built = Built(cables=(slow, *cables[1:]))
    (one,) = cabling.read(START_S, "").observations
    assert (one.part, one.metric, one.value) == ("cable:" + str(plant.cables[0].number),
                                                 "cable_slowdown", 2.0)  # fmt: skip


def test_findings_are_served_one_by_one_up_to_a_bound() -> None:
    many = [Suspect(part=f"cable:{n}", kind="loss", confidence=0.9) for n in range(500)]
    text = render(Now(values=(), devices={}, findings=many)).decode()
    assert text.count("\nnetloom_finding_confidence{") == MAX_FINDINGS
    assert "netloom_findings_open 500.0" in text


def test_memory_does_not_grow_with_findings(desk: Desk, tmp_path: Path) -> None:
    """Cables that go and come back every few rounds, over 240 rounds: nothing piles up."""
    quiet = Desk(designed=desk.designed, ports=desk.ports)
    numbers = [cable.number for cable in desk.designed.plant.cables]
    limits = RetentionLimits(single_s=600.0, window_s=1200.0)
    with ObservationStore(tmp_path / "a.db") as store:
        watch, locator = quiet.watch(store)
        watch.limits, watch.log, locator.log, locator.say = limits, deaf, deaf, deaf

        def rounds(count: int) -> None:
            for number in range(count):
                down = numbers[number // 8 % len(numbers)]
                quiet.ports.down = {down} if number % 8 < 4 else set()
                watch.run(rounds=1)
                quiet.clock.passed_s += 10

        rounds(120)
        tracemalloc.start()
        rounds(40)
        before, _ = tracemalloc.get_traced_memory()
        rounds(80)
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        rows = store.num_rows()
    assert after - before < 100_000
    # One every eight rounds of ten seconds is closed, and kept for 1,200 s and at most 300 more.
    assert 0 < rows["finding"] <= 1500 / 80 + 2


def deaf(*_: object, **__: object) -> None:
    """Listen to nothing."""


def test_flows_of_a_file_tell_losses_and_delays_of_each_gpu(tmp_path: Path) -> None:
    flows = [
        {"source": "gpu:0", "target": "gpu:8", "packets": 50, "lost": n % 2, "delay": f"{n}us"}
        for n in range(1, 201)
    ]
    flows.append({"source": "gpu:1", "target": "gpu:8", "packets": 10})
    path = tmp_path / "flows.json"
    path.write_text(json.dumps({"flows": flows}), encoding="utf-8")
    reading = FlowFileCollector(path=path, fresh_s=30.0).read(1.0, "")
    found = {(one.part, one.metric): one.value for one in reading.observations}
    # Of 1 to 200 us: half are at most 100, and 99 % at most 198; every second flow lost 1 of 50.
    assert found == {
        ("gpu:0", "probe_loss"): 0.01,
        ("gpu:0", "probe_delay_p50_s"): pytest.approx(100e-6),
        ("gpu:0", "probe_delay_p99_s"): pytest.approx(198e-6),
        ("gpu:1", "probe_loss"): 0.0,
    }
