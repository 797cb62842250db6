from __future__ import annotations

import tracemalloc
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from netloom.app.watch.jobs import FlightRecorders, NcclLogFile, NcclTestsFile, StepTimeCollector
from netloom.app.watch.loop import Watch
from netloom.app.watch.publish import Publisher, health_of
from netloom.app.watch.scraped import observed
from netloom.cli.operate.designed import designed_at
from netloom.drivers.follow import MAX_BYTES, Position, follow
from netloom.drivers.metrics_server import Server
from netloom.errors import LabError
from netloom.ops.observe.observation import Collector, Event, Observation, Reading
from netloom.ops.observe.retention import RetentionLimits
from netloom.ops.observe.store import ObservationStore

RECORDED = Path(__file__).parents[2] / "data" / "watch"
START_S = 1_800_000_000.0
SCENARIO = """
cluster:
  nodes: 2
  node: dgx-h100
  fabric: {technology: infiniband-ndr, topology: {kind: fat-tree, tiers: 2}}
job: {model: llama-3.1-8b, training: {sequence: 8192, global_batch: 64}}
"""


@dataclass
class FakeClock:
    """Time that passes only when it is waited for, or when a collector takes some."""

    passed_s: float = 0.0
    set_back_s: float = 0.0
    waits_s: list[float] = field(default_factory=list)

    def now_s(self) -> float:
        return START_S + self.passed_s - self.set_back_s

    def ticks_s(self) -> float:
        return self.passed_s

    def wait(self, wait_s: float) -> bool:
        self.waits_s.append(wait_s)
        self.passed_s += wait_s
        return False


@dataclass
class Counting:
    """Gives the numbers from its cursor on, two a look, and fails when told to."""

    clock: FakeClock
    takes_s: float = 0.5
    fails_at: frozenset[int] = frozenset()
    looks: int = 0
    source: str = "counting"

    def read(self, time_s: float, cursor: str) -> Reading:
        self.looks += 1
        self.clock.passed_s += self.takes_s
        if self.looks in self.fails_at:
            message = "no answer"
            raise LabError(message)
        start = int(cursor or 0)
        seen = [Observation(time_s, f"part:{n}", "count", float(n)) for n in (start, start + 1)]
        event = Event(time_s=time_s, part="x", kind="count", text=str(start), key=str(start))
        return Reading(
            source=self.source,
            time_s=time_s,
            observations=seen,
            events=[event],
            cursor=str(start + 2),
        )


@dataclass
class Told:
    lines: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    published_s: list[float] = field(default_factory=list)

    def log(self, event: str, **fields: object) -> None:
        self.lines.append((event, fields))

    def publish(self, now_s: float) -> None:
        self.published_s.append(now_s)


def watch_over(
    store: ObservationStore, clock: FakeClock, *collectors: Collector, **more: Any
) -> Watch:
    told = more.pop("told", None) or Told()
    return Watch(
        store=store,
        collectors=collectors,
        clock=clock,
        log=told.log,
        publish=told.publish,
        **more,
    )


def test_rounds_begin_at_multiples_of_the_interval(tmp_path: Path) -> None:
    clock, told = FakeClock(), Told()
    with ObservationStore(tmp_path / "a.db") as store:
        assert watch_over(store, clock, Counting(clock), told=told).run(rounds=3) == 3
    # Each look takes half a second of the ten.
    assert clock.waits_s == [9.5, 9.5]
    assert told.published_s == [START_S + s for s in (0.5, 10.5, 20.5)]


def test_a_round_that_takes_too_long_leaves_out_those_it_ran_over(tmp_path: Path) -> None:
    clock = FakeClock()
    with ObservationStore(tmp_path / "a.db") as store:
        watch_over(store, clock, Counting(clock, takes_s=25.0)).run(rounds=2)
    assert clock.waits_s == [5.0]  # from 25 s to 30 s


def test_a_restart_goes_on_without_gaps_or_doubles(tmp_path: Path) -> None:
    for _ in range(3):
        clock = FakeClock()
        with ObservationStore(tmp_path / "a.db") as store:
            watch_over(store, clock, Counting(clock)).run(rounds=4)
    with ObservationStore(tmp_path / "a.db") as store:
        # 12 looks of two numbers each, every one once, and 12 events.
        assert sorted(value for *_, value in store.latest()) == [float(n) for n in range(24)]
        assert store.num_rows()["sample"] == 24
        keys = [event.key for event in store.events(0, START_S * 2)]
        assert keys == [str(2 * n) for n in range(12)]
        assert store.cursor("counting") == "24"


def test_a_source_that_fails_is_recorded_and_the_others_go_on(tmp_path: Path) -> None:
    clock, told = FakeClock(), Told()
    bad = Counting(clock, fails_at=frozenset({2, 3}), source="bad")
    good = Counting(clock, source="good")
    with ObservationStore(tmp_path / "a.db") as store:
        watch_over(store, clock, bad, good, told=told).run(rounds=3)
        now_s = clock.now_s()
        health = {one["source"]: one for one in health_of(store, now_s, stale_s=15)["sources"]}
        assert health["good"]["fresh"]
        assert not health["bad"]["fresh"]
        assert health["bad"]["error"] == "no answer"
        assert store.cursor("bad") == "2"  # as of its last good look
        watch_over(store, clock, bad, good, told=told).run(rounds=1)
        assert store.cursor("bad") == "4"
    names = [name for name, _ in told.lines]
    assert (names.count("source-failed"), names.count("round")) == (1, 4)


def test_a_defect_in_one_collector_ends_no_watch(tmp_path: Path) -> None:
    class Broken:
        source = "broken"

        def read(self, time_s: float, cursor: str) -> Reading:
            raise KeyError("\x1b[2J")  # noqa: EM101  (as a parser's slip would)

    clock, told = FakeClock(), Told()
    with ObservationStore(tmp_path / "a.db") as store:
        watch_over(store, clock, Broken(), Counting(clock, source="good"), told=told).run(rounds=3)
        assert store.cursor("good") == "6"
    (failed,) = [fields for name, fields in told.lines if name == "source-failed"]
    assert failed["error"].startswith("defect of netloom: KeyError")
    assert str(failed["error"]).isprintable()


def test_between_rounds_it_is_asked_whether_to_tell_at_once(tmp_path: Path) -> None:
    clock, told = FakeClock(), Told()
    asked: list[float] = []

    def wake() -> bool:
        asked.append(clock.ticks_s())
        return len(asked) == 5

    with ObservationStore(tmp_path / "a.db") as store:
        watch_over(store, clock, Counting(clock), told=told, wake=wake).run(rounds=2)
    # Every half second of the 9.5 that a round leaves; at the fifth, 2.5 s after it, it tells.
    assert len(asked) == 19
    assert [round(at_s - told.published_s[0], 3) for at_s in told.published_s] == [0.0, 2.5, 10.0]


def test_a_number_of_two_sources_is_served_once(tmp_path: Path) -> None:
    """And one of a source that was not seen for long is not served at all."""
    server = Server("127.0.0.1", 0)
    steps = [
        Reading(
            source=source,
            time_s=time_s,
            observations=[Observation(time_s, part, "step_s", 2.0)],
        )
        for source, time_s, part in (
            ("one", START_S, "job:a"),
            ("two", START_S, "job:a"),
            ("old", START_S - 100, "job:b"),
        )
    ]
    with ObservationStore(tmp_path / "a.db") as store:
        for reading in steps:
            store.add(reading)
        scenario = tmp_path / "small.yaml"
        scenario.write_text(SCENARIO, encoding="utf-8")
        designed = designed_at(scenario)
        publisher = Publisher(
            store=store,
            designed=designed,
            collectors=(),
            server=server,
            stale_s=30.0,
        )
        publisher(START_S + 1)
    said = server.answer("/metrics")[2].decode()
    status = server.answer("/health")[0]
    server.close()
    assert [line for line in said.splitlines() if line.startswith("netloom_step_seconds")] == [
        'netloom_step_seconds{part="job:a"} 2.0'
    ]
    assert status == 503


def test_a_clock_that_is_set_back_overwrites_nothing(tmp_path: Path) -> None:
    clock = FakeClock()
    with ObservationStore(tmp_path / "a.db") as store:
        watch_over(store, clock, Counting(clock)).run(rounds=2)
        clock.set_back_s = 3600.0
        watch_over(store, clock, Counting(clock)).run(rounds=2)
        assert store.num_rows()["poll"] == 4
        times = [event.time_s for event in store.events(0, START_S * 2)]
        assert times == sorted(times)


def test_memory_does_not_grow_with_time(tmp_path: Path) -> None:
    """Ten parts whose numbers change with every look, over 400 looks: nothing piles up."""

    @dataclass
    class Changing:
        source: str = "changing"

        def read(self, time_s: float, cursor: str) -> Reading:
            seen = [Observation(time_s, f"part:{n}", "count", time_s + n) for n in range(10)]
            return Reading(source="changing", time_s=time_s, observations=seen, is_whole=True)

    class QuietClock(FakeClock):
        def wait(self, wait_s: float) -> bool:
            self.passed_s += wait_s
            return False

    @dataclass
    class Deaf(Told):
        def log(self, event: str, **fields: object) -> None: ...

        def publish(self, now_s: float) -> None: ...

    limits = RetentionLimits(single_s=600.0, window_s=1200.0)
    with ObservationStore(tmp_path / "a.db") as store:
        watch = watch_over(store, QuietClock(), Changing(), limits=limits, told=Deaf())
        watch.run(rounds=200)
        tracemalloc.start()
        watch.run(rounds=50)
        before, _ = tracemalloc.get_traced_memory()
        watch.run(rounds=150)
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        rows = store.num_rows()
    assert after - before < 50_000
    # 600 s and at most one window of single values, every 10 s; 1,200 s of windows and polls.
    assert rows["sample"] <= 10 * (90 + 30)
    assert rows["coarse"] <= 10 * 5
    assert rows["poll"] <= 120 + 30


def test_a_file_is_followed_in_whole_lines_through_rotation(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("one\ntwo\nthr", encoding="utf-8")
    first = follow(path, Position())
    assert (first.text, first.position.offset) == ("one\ntwo\n", 8)
    with path.open("a", encoding="utf-8") as file:
        file.write("ee\n")
    second = follow(path, Position.from_text(first.position.to_text()))
    assert (second.text, second.start) == ("three\n", 8)
    path.write_text("new\n", encoding="utf-8")  # begun again in place: shorter
    third = follow(path, second.position)
    assert (third.text, third.is_new) == ("new\n", True)
    path.rename(tmp_path / "log.1")
    path.write_text("another and longer than before\n", encoding="utf-8")
    fourth = follow(path, third.position)
    assert (fourth.text, fourth.is_new) == ("another and longer than before\n", True)
    path.write_text("same file, other words, and longer than that\n", encoding="utf-8")
    fifth = follow(path, fourth.position)  # emptied, and grown beyond where it was
    assert (fifth.is_new, fifth.start) == (True, 0)
    with pytest.raises(LabError, match="cannot be read"):
        follow(tmp_path / "absent", Position())


def test_a_line_without_end_does_not_stop_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x" * (MAX_BYTES + 5) + b"\ny\n")
    first = follow(path, Position())
    assert len(first.text) == MAX_BYTES
    assert follow(path, first.position).text == "xxxxx\ny\n"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"inode": 1, "what": 2}'])
def test_a_cursor_that_is_none_begins_anew(text: str) -> None:
    assert Position.from_text(text) == Position()


def test_step_times_of_a_csv_file_go_on_under_its_heading(tmp_path: Path) -> None:
    path = tmp_path / "llama.csv"
    path.write_text("step,rank,step_s,time_s\n1,0,2.0,100\n", encoding="utf-8")
    steps = StepTimeCollector(path=path)
    first = steps.read(START_S, "")
    with path.open("a", encoding="utf-8") as file:
        file.write("2,3,2.5,110\n")
    second = steps.read(START_S + 10, first.cursor)
    assert list(second.observations) == [Observation(110.0, "job:llama/rank:3", "step_s", 2.5)]
    assert second.error == ""


def test_steps_without_a_time_that_are_read_together_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "llama.jsonl"
    path.write_text('{"step": 1, "step_s": 2}\n{"step": 2, "step_s": 2}\n', encoding="utf-8")
    with ObservationStore(tmp_path / "a.db") as store:
        store.add(StepTimeCollector(path=path).read(START_S, ""))
        assert len(store.values("job:llama/rank:0", "step_s", START_S, START_S + 1)) == 2


def test_warnings_of_nccl_become_events_once(tmp_path: Path) -> None:
    path = tmp_path / "job7.log"
    path.write_bytes((RECORDED / "nccl_warn.log.txt").read_bytes())
    log = NcclLogFile(path=path)
    first = log.read(START_S, "")
    (event,) = first.events
    assert (event.part, event.kind) == ("job:job7/host:node1", "nccl-warning")
    assert not log.read(START_S, first.cursor).events


def test_results_of_nccl_tests_are_read_when_they_change(tmp_path: Path) -> None:
    path = tmp_path / "ar.json"
    path.write_bytes((RECORDED / "all_reduce.json").read_bytes())
    tests = NcclTestsFile(path=path)
    first = tests.read(START_S, "")
    found = {(o.part, o.metric): o.value for o in first.observations}
    part = "job:ar/all_reduce:float:1048576:out-of-place"
    assert found[part, "bus_bandwidth_bps"] == pytest.approx(17.13 * 8e9)
    assert not tests.read(START_S, first.cursor).observations


def test_a_stuck_job_is_seen_in_its_flight_recorders(tmp_path: Path) -> None:
    for rank in range(3):
        data = (RECORDED / f"fr_gloo_{rank}.json").read_bytes()
        (tmp_path / f"trace_{rank}.json").write_bytes(data)
    (tmp_path / "trace_9.json").write_text("{", encoding="utf-8")
    flights = FlightRecorders(folder=tmp_path)
    reading = flights.read(START_S, "")
    (event,) = reading.events
    assert event.kind == "lagging-rank"
    assert "rank 1 has not called gloo:all_reduce number 4" in event.text
    assert "trace_9.json" in reading.error
    assert flights.read(START_S, reading.cursor).events == ()


@pytest.mark.parametrize(
    ("name", "labels", "part", "metric"),
    [
        (
            "node_infiniband_symbol_error_total",
            {"device": "mlx5_0", "port": "1"},
            "n1/mlx5_0[1]",
            "symbol_errors",
        ),
        ("node_network_receive_drop_total", {"device": "eth0"}, "n1/eth0", "receive_discards"),
        (
            "infiniband_switch_port_link_downed_total",
            {"guid": "0x1", "port": "7", "switch": "leaf01"},
            "leaf:0[7]",
            "link_downs",
        ),
    ],
)
def test_what_a_target_says_is_known_by_our_names(
    name: str, labels: dict[str, str], part: str, metric: str
) -> None:
    from netloom.formats.prometheus.exposition import Sample  # noqa: PLC0415

    sample = Sample(name=name, labels=labels, value=3.0)
    found = observed(sample, "n1", START_S, {"leaf01": "leaf:0"})
    assert found == Observation(START_S, part, metric, 3.0)
    assert observed(Sample(name="go_info", labels={}, value=1.0), "n1", START_S, {}) is None
    nan = Sample(name=name, labels=labels, value=float("nan"))
    assert observed(nan, "n1", START_S, {}) is None


def test_a_full_disk_is_told_once_and_the_watch_goes_on(tmp_path: Path) -> None:
    clock, told = FakeClock(), Told()
    with ObservationStore(tmp_path / "a.db") as store:
        watch = watch_over(store, clock, Counting(clock), told=told)
        watch.run(rounds=2)
        pages = store.connection.execute("PRAGMA page_count").fetchone()[0]
        store.connection.execute(f"PRAGMA max_page_count = {pages}")
        filler = "x" * 4000
        watch.collectors = (Counting(clock), Wordy(filler))
        assert watch.run(rounds=3) == 3
        assert "store" in watch.failing
        store.connection.execute(f"PRAGMA max_page_count = {10 * pages + 1000}")
        watch.run(rounds=2)
        assert "store" not in watch.failing
        numbers = sorted(value for _, _, metric, value in store.latest() if metric == "count")
        texts = [event.key for event in store.events(0, 2 * START_S) if event.kind == "word"]
    names = [name for name, _ in told.lines]
    assert (names.count("store-full"), names.count("store-back")) == (1, 1)
    message = next(fields["error"] for name, fields in told.lines if name == "store-full")
    assert "no space left" in message
    assert numbers == [float(n) for n in range(len(numbers))]  # no gap, no double
    assert len(texts) == len(set(texts))


@dataclass
class Wordy:
    """Says much at each look."""

    filler: str
    source: str = "wordy"

    def read(self, time_s: float, cursor: str) -> Reading:
        start = int(cursor or 0)
        events = [
            Event(time_s=time_s, part="x", kind="word", text=self.filler, key=f"{start}.{n}")
            for n in range(20)
        ]
        seen = [Observation(time_s, f"part:{start}.{n}", "word", 1.0) for n in range(200)]
        return Reading(
            source=self.source,
            time_s=time_s,
            observations=seen,
            events=events,
            cursor=str(start + 1),
        )


def test_a_watch_that_is_told_to_stop_within_a_round_keeps_what_it_saw_whole(
    tmp_path: Path,
) -> None:
    clock = FakeClock()
    stopped: list[bool] = []

    @dataclass
    class Last:
        """Is told to stop while it looks, and sees only a part for that."""

        source: str = "last"

        def read(self, time_s: float, cursor: str) -> Reading:
            stopped.append(True)
            return Reading(source="last", time_s=time_s, error="cut short")

    never = Counting(clock, source="never")
    with ObservationStore(tmp_path / "a.db") as store:
        watch = watch_over(store, clock, Counting(clock), Last(), never)
        watch.is_stopped = lambda: bool(stopped)
        watch.run()
        assert [poll.source for poll in store.last_polls()] == ["counting"]
        assert store.cursor("counting") == "2"
    assert never.looks == 0
