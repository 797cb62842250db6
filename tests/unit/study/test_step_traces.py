"""A step as traces: volumes, times and order are those of the demand and the schedule."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from netloom.engines.analytic.engine import AnalyticEngine
from netloom.errors import InfeasibleError, SpecError
from netloom.parts.load import load_catalog
from netloom.spec.example import example
from netloom.spec.scenario import Scenario
from netloom.study.trace import traces
from netloom.study.trace.table import RankTally, summarize, tally
from netloom.study.trace.traces import StepTraces, step_traces
from netloom.workload.collective import Axis, CollectiveKind
from netloom.workload.trace import COLLECTIVE_CODES, NodeKind, TraceNode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netloom.study.trace.table import TraceTable

CODES = {code: kind for kind, code in COLLECTIVE_CODES.items()}
DENSE = "llama-3.1-8b"  # 32 layers
EXPERTS = "mixtral-8x7b"  # 32 layers, 8 experts
SMALL = {"sequence": 4096, "global_batch": 32}
# Every way of dividing the work, on 16 GPUs: (model, training, parallel).
JOBS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "data": (DENSE, {"global_batch": 32}, {"zero": 1}),
    "pipeline": (DENSE, {}, {"pipeline": 4}),
    "interleaved": (DENSE, {}, {"pipeline": 4, "virtual_pipeline": 3}),
    "gpipe": (DENSE, {}, {"pipeline": 4, "schedule": "gpipe"}),
    "zero-bubble": (DENSE, {}, {"pipeline": 4, "schedule": "zero-bubble"}),
    "tensor": (DENSE, {"recompute": "full"}, {"tensor": 4, "pipeline": 2, "zero": 0}),
    "context": (DENSE, {}, {"tensor": 2, "context": 2, "pipeline": 2}),
    "fsdp": (DENSE, {}, {"zero": 3}),
    "experts": (EXPERTS, {}, {"tensor": 2, "expert": 4, "pipeline": 2}),
    "tensor-sized experts": (EXPERTS, {}, {"tensor": 4, "expert": 4, "pipeline": 2}),
}


@cache
def made(name: str) -> StepTraces:
    model, training, parallel = JOBS[name]
    return step_traces(
        Scenario.model_validate(
            {
                "cluster": {"nodes": 2},
                "job": {
                    "model": model,
                    "training": SMALL | training,
                    "parallel": parallel,
                    "software": "megatron-core-2024",
                },
            }
        ),
        load_catalog(),
    )


@cache
def nodes_of(name: str) -> tuple[tuple[TraceNode, ...], ...]:
    found = made(name)
    return tuple(tuple(found.nodes(rank)) for rank in range(found.num_ranks))


def number(node: TraceNode, attribute: str) -> int:
    value = node.attributes[attribute]
    assert isinstance(value, int)
    return value


each_job = pytest.mark.parametrize("name", JOBS)


@each_job
def test_the_volumes_of_a_rank_add_up_to_its_stage_s_demand(name: str) -> None:
    found, groups = made(name), made(name).groups()
    for rank, nodes in enumerate(nodes_of(name)):
        work = found.stages[rank // found.plan.stage_gpus]
        asked: dict[CollectiveKind, float] = defaultdict(float)
        slack: Counter[CollectiveKind] = Counter()
        for item in work.demand.communications:
            kind, members = item.collective.kind, item.collective.group.size
            if item.axis is not Axis.PIPELINE:
                asked[kind] += item.size_bytes
                slack[kind] += item.count * members  # half a byte of each rank's input
        written: Counter[CollectiveKind] = Counter()
        for node in nodes:
            if node.kind is NodeKind.COLLECTIVE:
                kind = CODES[number(node, "comm_type")]
                ranks = groups[str(node.attributes["pg_name"])]
                assert rank in ranks
                parts = len(ranks) if kind is CollectiveKind.ALL_GATHER else 1
                written[kind] += number(node, "comm_size") * parts
            elif node.kind is NodeKind.SEND and "stage" not in node.name:
                written[CollectiveKind.SEND_RECV] += number(node, "comm_size")
        assert set(written) == set(asked)
        for kind, volume in asked.items():
            assert written[kind] == pytest.approx(volume, abs=0.5 * slack[kind], rel=1e-12)


@each_job
def test_the_hops_of_a_pipeline_are_those_of_every_micro_batch(name: str) -> None:
    # From each of p x v virtual stages to the next, and back: 2 m (p v - 1) messages a pipeline.
    found = made(name)
    plan, batches = found.plan, found.prediction.step.pipeline.num_micro_batches
    hops = [n for nodes in nodes_of(name) for n in nodes if n.name.endswith("stage")]
    places = plan.pipeline * plan.virtual_pipeline
    sends = [n for n in hops if n.kind is NodeKind.SEND]
    assert len(sends) == 2 * batches * (places - 1 if plan.pipeline > 1 else 0) * plan.stage_gpus
    for item in found.stages[0].demand.on(Axis.PIPELINE):
        assert {number(n, "comm_size") for n in sends} == {item.collective.size_bytes}


@each_job
def test_every_message_is_sent_once_and_received_once(name: str) -> None:
    ends: dict[NodeKind, list[tuple[int, ...]]] = defaultdict(list)
    for rank, nodes in enumerate(nodes_of(name)):
        for node in nodes:
            if node.kind in {NodeKind.SEND, NodeKind.RECEIVE}:
                own = "comm_src" if node.kind is NodeKind.SEND else "comm_dst"
                assert number(node, own) == rank
                what = ("comm_src", "comm_dst", "comm_tag", "comm_size")
                ends[node.kind].append(tuple(number(node, key) for key in what))
    assert sorted(ends[NodeKind.SEND]) == sorted(ends[NodeKind.RECEIVE])
    assert len(set(ends[NodeKind.SEND])) == len(ends[NodeKind.SEND])


@each_job
def test_members_of_a_group_call_the_same_collectives_in_the_same_order(name: str) -> None:
    calls: dict[str, dict[int, list[tuple[int, int]]]] = defaultdict(dict)
    for rank, nodes in enumerate(nodes_of(name)):
        for node in nodes:
            if node.kind is NodeKind.COLLECTIVE:
                by_rank = calls[str(node.attributes["pg_name"])]
                what = (number(node, "comm_type"), number(node, "comm_size"))
                by_rank.setdefault(rank, []).append(what)
    groups = made(name).groups()
    for group, by_rank in calls.items():
        assert tuple(sorted(by_rank)) == groups[group]
        first, *others = by_rank.values()
        assert all(other == first for other in others)


@each_job
def test_a_node_comes_after_what_it_depends_on(name: str) -> None:
    for nodes in nodes_of(name):
        assert [node.node_id for node in nodes] == list(range(len(nodes)))
        assert all(d < n.node_id for n in nodes for d in (*n.needs, *n.follows))


@each_job
def test_computation_adds_up_to_the_passes_and_the_weight_update(name: str) -> None:
    found = made(name)
    pipeline, optimizer_s = found.prediction.step.pipeline, found.prediction.step.optimizer_s
    for rank, nodes in enumerate(nodes_of(name)):
        times = pipeline.stages[rank // found.plan.stage_gpus]
        waiting_s = times.forward_waiting_s + times.backward_waiting_s
        pass_s = times.forward_s + times.backward_s - waiting_s
        asked_s = pipeline.num_micro_batches * pass_s + optimizer_s
        assert sum(n.duration_us for n in nodes) == pytest.approx(asked_s * 1e6, abs=1)


@each_job
def test_the_bound_on_nodes_holds(name: str) -> None:
    found = made(name)
    assert sum(map(len, nodes_of(name))) <= found.most_nodes()


def read_back(name: str, only: Iterable[int]) -> TraceTable:
    found = made(name)
    tallies: dict[int, RankTally] = {
        rank: tally(nodes_of(name)[rank], rank=rank, where="x") for rank in only
    }
    network = found.prediction.network
    return summarize(tallies, found.groups(), network=network, engine=AnalyticEngine(), where="x")


@pytest.mark.parametrize("name", ["data", "tensor", "context", "fsdp", "tensor-sized experts"])
def test_traces_read_back_take_the_time_that_the_step_was_given(name: str) -> None:
    # The rank of the fullest stage: its collectives one after another are the step's
    # communication, but for experts' imbalance, which traces cannot say.
    found = made(name)
    plan = found.plan
    totals = []
    for stage in range(plan.pipeline):
        table = read_back(name, [stage * plan.stage_gpus])
        rows = [row for row in table.rows if row.collective.kind is not CollectiveKind.SEND_RECV]
        totals.append(sum(row.total_s for row in rows))
    asked = found.prediction.step.communication_s
    skip = {Axis.PIPELINE, Axis.CONTEXT}
    expected_s = sum(time_s for axis, time_s in asked.items() if axis not in skip)
    assert max(totals) == pytest.approx(expected_s, rel=0.05 if "experts" in name else 1e-6)


def replay_s(name: str) -> float:
    """Return how long all ranks take when every node starts as soon as its dependencies allow."""
    found, engine = made(name), AnalyticEngine()
    network, groups = found.prediction.network, found.groups()
    sizes = {
        (item.collective.kind, round(item.collective.size_bytes)): engine.run(
            item.collective, network
        ).duration_s
        for work in found.stages
        for item in work.demand.communications
    }
    ends: list[list[float]] = [[] for _ in nodes_of(name)]
    calls: list[Counter[str]] = [Counter() for _ in ends]
    arrived: dict[tuple[int, int, int], float] = {}
    ready: dict[tuple[str, int], dict[int, float]] = defaultdict(dict)

    def attempt(rank: int) -> bool:
        node = nodes_of(name)[rank][len(ends[rank])]
        start_s = max((ends[rank][d] for d in (*node.needs, *node.follows)), default=0.0)
        if node.kind is NodeKind.COMPUTE:
            ends[rank].append(start_s + node.duration_us * 1e-6)
            return True
        size = number(node, "comm_size")
        if node.kind is NodeKind.COLLECTIVE:
            kind, group = CODES[number(node, "comm_type")], str(node.attributes["pg_name"])
            waiting = ready[group, calls[rank][group]]
            waiting[rank] = start_s
            if len(waiting) < len(groups[group]):
                return False
            calls[rank][group] += 1
            whole = size * (len(groups[group]) if kind is CollectiveKind.ALL_GATHER else 1)
            near = min((s for k, s in sizes if k is kind), key=lambda s: abs(s - whole))
            ends[rank].append(max(waiting.values()) + sizes[kind, near])
            return True
        key = (number(node, "comm_src"), number(node, "comm_dst"), number(node, "comm_tag"))
        if node.kind is NodeKind.SEND:
            arrived[key] = start_s + sizes[CollectiveKind.SEND_RECV, size]
            ends[rank].append(start_s)
            return True
        if key not in arrived:
            return False
        ends[rank].append(max(start_s, arrived[key]))
        return True

    moved = True
    while moved:
        moved = False
        for rank, nodes in enumerate(nodes_of(name)):
            while len(ends[rank]) < len(nodes) and attempt(rank):
                moved = True
    assert all(len(e) == len(n) for e, n in zip(ends, nodes_of(name), strict=True)), "deadlock"
    return max(max(one) for one in ends)


@pytest.mark.parametrize(
    ("name", "within"),
    [
        ("data", 0.03),
        ("pipeline", 0.02),
        ("interleaved", 0.05),
        ("gpipe", 0.03),
        ("zero-bubble", 0.05),
        ("fsdp", 0.1),
    ],
)
def test_a_plain_replay_of_the_traces_takes_as_long_as_the_predicted_step(
    name: str, within: float
) -> None:
    assert replay_s(name) == pytest.approx(made(name).prediction.step.duration_s, rel=within)


@pytest.mark.parametrize(
    ("name", "ratio"),
    [("tensor", 1.20), ("context", 1.08), ("experts", 1.04), ("tensor-sized experts", 1.03)],
)
def test_tensor_traffic_hidden_in_pieces_of_products_is_not_hidden_in_traces(
    name: str, ratio: float
) -> None:
    # A known gap: the step hides 65.5 % of it, but a node cannot be cut. Ratios as found.
    step_s = made(name).prediction.step.duration_s
    assert replay_s(name) / step_s == pytest.approx(ratio, abs=0.03)


@pytest.mark.parametrize(
    ("name", "stage"), [("gpt3-175b-1k", 0), ("llama-3.1-405b-16k", 1), ("trillion-3k", 0)]
)
def test_the_examples_fullest_stage_read_back_takes_the_time_of_the_step(
    name: str, stage: int
) -> None:
    found = step_traces(example(name), num_ranks=1)
    rank = stage * found.plan.stage_gpus
    table = summarize(
        {rank: tally(found.nodes(rank), rank=rank, where="x")},
        found.groups(),
        network=found.prediction.network,
        engine=AnalyticEngine(),
        where="x",
    )
    rows = [row for row in table.rows if row.collective.kind is not CollectiveKind.SEND_RECV]
    asked = found.prediction.step.communication_s
    expected_s = sum(time_s for axis, time_s in asked.items() if axis is not Axis.PIPELINE)
    assert sum(row.total_s for row in rows) == pytest.approx(expected_s, rel=1e-6)


@each_job
def test_a_replay_comes_to_an_end(name: str) -> None:
    assert replay_s(name) > 0


def test_ranks_that_the_job_does_not_have_are_refused() -> None:
    scenario = made("data").prediction.scenario
    with pytest.raises(SpecError, match="--ranks: 17 of a job with 16; give 1 to 16"):
        step_traces(scenario, num_ranks=17)


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("MAX_RANKS", "16 ranks, but traces are written for 10 at most; use --ranks"),
        ("MAX_RANK_NODES", "job.training.global_batch: a rank has up to .* smaller batch"),
        ("MAX_TOTAL_NODES", "16 ranks have up to .* use --ranks 1$"),
    ],
)
def test_more_than_is_written_is_refused_with_the_remedy(
    limit: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces, limit, 10)
    with pytest.raises(InfeasibleError, match=message):
        step_traces(made("data").prediction.scenario)
