"""The search for the best configuration."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from netloom.drivers.cores import on_processes
from netloom.errors import InfeasibleError, SpecError
from netloom.parts.load import load_catalog
from netloom.provenance import Validity
from netloom.spec.scenario import Parallel, Reliability, Scenario
from netloom.spec.software import Software
from netloom.study.compare.comparison import compare
from netloom.study.plan.machines import PlanLimits, Wanted
from netloom.study.plan.planning import plan, question, searcher
from netloom.study.plan.resume import Key, from_text, to_text
from netloom.study.plan.space import Divided, Space, divisors
from netloom.study.predict.prediction import predict
from netloom.validated.steps import HighestMfu
from netloom.workload.placement import has_even_chunks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from netloom.study.plan.planning import Task
    from netloom.study.plan.result import Plan
    from netloom.study.plan.search import Piece

CATALOG = load_catalog()
_DIVIDED = Parallel(tensor=2)


def scenario(model: str = "llama-3.1-8b", nodes: int = 1, **training: Any) -> Scenario:
    return Scenario.model_validate(
        {
            "cluster": {"nodes": nodes},
            "job": {"model": model, "training": {"global_batch": 16} | training},
        }
    )


def space(asked: Scenario) -> Space:
    return question(asked, CATALOG).spaces[0]


def durations(found: Plan) -> list[float]:
    return [choice.step.duration_s for choice in found.best]


@pytest.mark.parametrize(
    ("model", "nodes", "batch"),
    [("llama-3.2-1b", 1, 2), ("mixtral-8x7b", 2, 1), ("nemotron-3-nano-30b-a3b", 1, 1)],
)
def test_the_exhaustive_search_agrees(model: str, nodes: int, batch: int) -> None:
    # Mixtral fits on two nodes, and one sequence keeps its many combinations of experts few.
    asked = scenario(model, nodes=nodes, global_batch=batch)
    quick = plan(question(asked, CATALOG))
    slow = plan(question(asked, CATALOG, exhaustive=True))
    assert (quick.configurations, quick.feasible) == (slow.configurations, slow.feasible)
    assert durations(quick) == pytest.approx(durations(slow), rel=1e-9)


def test_divisors_come_in_order() -> None:
    assert divisors(36) == [1, 2, 3, 4, 6, 9, 12, 18, 36]


def test_the_degrees_always_use_every_gpu() -> None:
    asked = space(scenario(nodes=3, global_batch=24))
    for pipeline in asked.pipelines():
        for degrees in asked.divided(pipeline):
            assert degrees.tensor * degrees.context * degrees.data * pipeline == 24


def test_a_stage_has_as_many_chunks_as_there_are_layers_embedding_and_logits() -> None:
    # Llama 3.1 405B has 126 layers; 128 with both ends make 16 stages of 8 chunks (Llama 3,
    # arXiv:2407.21783, section 3.3.2).
    asked = space(scenario("llama-3.1-405b", nodes=2048, global_batch=2048))
    assert asked.virtuals(16) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_chunks_are_even_with_or_without_embedding_and_logits() -> None:
    # 128 = 126 + 2 divides by 16 x 1, 2, 4 and 8; 126 divides by no 16 v, and 127 is prime.
    assert [v for v in range(1, 9) if has_even_chunks(126, 16, v)] == [1, 2, 4, 8]


def test_the_size_counts_what_is_looked_at() -> None:
    # 8 GPUs, one stage, no experts. (tensor, context, data) with product 8 are 10: 1 has only
    # one copy (tensor 8). Llama's 32 heads divide by all. Micro-batches of 16 / data: 5 - log2 d.
    # data 1: (1,8), (2,4), (4,2), (8,1), data 2: (1,4), (2,2), (4,1), data 4: (1,2), (2,1),
    # data 8: (1,1); sequence parallel or not where tensor > 1; 4 ZeRO stages but 1 for (8,1).
    # data 1: 5 sizes x (4 + 8 + 8 + 2) = 110; data 2: 4 x (4 + 8 + 8) = 80;
    # data 4: 3 x (4 + 8) = 36; data 8: 2 x 4 = 8; in all 234, x 3 ways to recompute.
    assert space(scenario()).size_of(1) == 3 * 234


def test_zero_has_nothing_to_divide_without_copies() -> None:
    asked = space(scenario())
    assert asked.zeros(Divided(tensor=8, context=1, data=1, expert=1)) == (0,)


def test_the_best_is_what_predict_says_of_it() -> None:
    asked = scenario()
    best = plan(question(asked, CATALOG)).best[0]
    again = asked.model_copy(update={"job": best.configuration.job(asked.job)})
    assert predict(again, CATALOG).step.duration_s == best.step.duration_s


def test_what_is_far_better_outside_the_checked_range_comes_first_and_is_marked() -> None:
    asked = question(scenario(nodes=4, global_batch=64), CATALOG)
    found = plan(asked)
    assert durations(found) == sorted(durations(found))
    inside = [one.step.duration_s for one in found.best if one.step.validity.inside]
    first = found.best[0]
    assert first.standing == "outside"
    assert not first.validity.inside
    assert all(first.step.duration_s < 0.9 * one for one in inside)


def test_the_ten_best_come_in_order_and_inside_the_checked_range_but_for_their_mfu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("netloom.study.plan.planning.MARGIN", 1.0)  # nothing is far better
    found = plan(question(scenario(nodes=4, global_batch=64), CATALOG))
    assert len(found.best) == 10
    assert durations(found) == sorted(durations(found))
    assert all(choice.step.validity.inside for choice in found.best)
    for choice in found.best:
        assert choice.validity.inside == (choice.standing == "inside")


def test_an_mfu_that_nobody_measured_is_in_doubt_and_the_best_below_it_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Llama 3.1 8B comes out at 48 % on 16 H100; suppose that no published step reached 46 %.
    known = {("hopper", False): HighestMfu(0.46, "a-1", "a table")}
    monkeypatch.setattr("netloom.step.efficiency.highest_mfu", lambda: known)
    monkeypatch.setattr("netloom.study.plan.planning.MARGIN", 1.0)  # nothing is far better
    found = plan(question(scenario(nodes=2, global_batch=64), CATALOG))
    best = found.best[0]
    assert best.step.mfu > 0.46
    assert best.standing == "above"
    assert "46.0%" in best.validity.doubts[-1]
    assert found.within is not None
    assert found.within.validity.inside
    assert found.within.step.mfu <= 0.46
    assert found.within.machine == best.machine


def test_what_compare_doubts_of_a_machine_is_doubted_of_its_plans() -> None:
    # A restart of a day eats most of the time that 8,192 GPUs run between failures.
    reliability = {"checkpoint_write": "3600s", "restart": "86400s"}
    asked = scenario(nodes=1024, global_batch=8192)
    job = asked.job.model_copy(update={"reliability": Reliability.model_validate(reliability)})
    doubted = asked.model_copy(update={"job": job, "compare": ("infiniband-ndr",)})
    machine = question(doubted, CATALOG).machines[0]
    assert "Failures leave" in machine.validity.doubts[0]
    same = doubted.model_copy(update={"job": job.model_copy(update={"parallel": _DIVIDED})})
    compared = compare(same, CATALOG).contenders[0]
    assert set(machine.validity.doubts) <= set(compared.validity.doubts)


def test_no_plan_on_a_doubted_machine_is_inside() -> None:
    reliability = Reliability.model_validate({"checkpoint_write": "3600s", "restart": "86400s"})
    asked = scenario(nodes=16, global_batch=128)
    job = asked.job.model_copy(update={"reliability": reliability})
    one = question(asked.model_copy(update={"job": job}), CATALOG)
    doubt = Validity(("a doubt about the machine",))
    machines = tuple(replace(machine, validity=doubt) for machine in one.machines)
    found = plan(replace(one, machines=machines))
    assert {choice.standing for choice in found.best} == {"outside"}
    assert all("a doubt about the machine" in choice.validity.doubts for choice in found.best)


@pytest.mark.parametrize("num_workers", [2, 3])
def test_the_answer_does_not_depend_on_the_number_of_workers(num_workers: int) -> None:
    wanted = Wanted(gpus=(8, 16), technologies=("infiniband-ndr", "tcp-400g"))
    asked = question(scenario(), CATALOG, wanted=wanted)
    alone = plan(asked)
    with on_processes(partial(searcher, asked), num_workers=num_workers) as each:
        together = plan(asked, each=each)
    assert together.to_json() == alone.to_json()


def test_many_machines_are_searched_each_at_a_stretch_with_the_same_answer() -> None:
    wanted = Wanted(technologies=tuple(CATALOG.technologies)[:9])
    asked = question(scenario(nodes=2, global_batch=2), CATALOG, wanted=wanted)
    assert len(asked.machines) > 8
    tasks: list[Task] = []

    def each(given: Sequence[Task]) -> Iterator[tuple[Task, list[Piece]]]:
        tasks.extend(given)
        work = searcher(asked)
        return ((task, work(task)) for task in reversed(given))

    assert plan(asked, each=each).to_json() == plan(asked).to_json()
    assert [len({machine for machine, _ in task}) for task in tasks] == [1] * len(asked.machines)


def test_an_interruption_among_workers_returns_the_best_so_far() -> None:
    asked = question(scenario(), CATALOG)

    def interrupt(_: dict[Key, Piece], __: int) -> None:
        raise KeyboardInterrupt

    with on_processes(partial(searcher, asked), num_workers=2) as each:
        partial_plan = plan(asked, after=interrupt, each=each)
    assert not partial_plan.complete
    assert 0 < partial_plan.configurations < asked.size
    assert partial_plan.best


def test_a_range_of_sizes_tries_those_without_large_prime_factors() -> None:
    # 2 to 8 nodes of 8 GPUs: 5 and 7 are left out.
    asked = question(scenario(), CATALOG, wanted=Wanted(gpu_ranges=((16, 64),)))
    assert [one.network.design.num_nodes for one in asked.machines] == [2, 3, 4, 6, 8]


@pytest.mark.parametrize("wrong", [(64, 16), (0, 8), (33, 39)])
def test_a_range_that_holds_nothing_is_refused(wrong: tuple[int, int]) -> None:
    with pytest.raises(SpecError, match="gpus: "):
        question(scenario(), CATALOG, wanted=Wanted(gpu_ranges=(wrong,)))


def test_machines_that_differ_in_oversubscription_alone_are_left_out_by_name() -> None:
    wanted, limits = Wanted(gpus=(8, 64), oversubscriptions=(1.0, 2.0)), PlanLimits(budget_usd=1e6)
    left_out = question(scenario(), CATALOG, wanted=wanted, limits=limits).left_out
    assert [name.rsplit(" ", 1)[1] for name in left_out] == ["1:1", "2:1"]


def test_context_ranks_exchange_as_the_scenario_says() -> None:
    asked = scenario(sequence=8192)
    parallel = asked.job.parallel.model_copy(update={"context_exchange": "all-gather"})
    job = asked.job.model_copy(update={"parallel": parallel})
    for choice in plan(question(asked.model_copy(update={"job": job}), CATALOG)).best:
        assert choice.configuration.job(job).parallel.context_exchange == "all-gather"


def test_zero_divides_experts_that_have_copies_though_dense_weights_have_none() -> None:
    # Tensor 8 and expert 2: each expert is on 4 GPUs, each dense weight on 1 (data x context).
    asked = space(scenario("mixtral-8x7b"))
    assert asked.zeros(Divided(tensor=8, context=1, data=1, expert=2)) == (0, 1, 2, 3)
    assert asked.zeros(Divided(tensor=8, context=1, data=1, expert=8)) == (0,)


def test_a_runner_up_outside_the_checked_range_is_faster_and_says_why() -> None:
    found = plan(question(scenario(nodes=4, global_batch=64), CATALOG))
    if found.outside is not None:
        assert found.outside.step.duration_s < found.best[0].step.duration_s
        assert found.outside.step.validity.doubts


def test_cost_agrees_with_the_comparison() -> None:
    asked = scenario(nodes=4, global_batch=64).comparing(("infiniband-ndr",))
    best = plan(question(asked, CATALOG, objective="cost")).best[0]
    same = asked.model_copy(update={"job": best.configuration.job(asked.job)})
    compared = compare(same, CATALOG).contenders[0]
    assert best.usd_per_trillion_tokens == pytest.approx(compared.usd_per_trillion_tokens)


def test_no_point_of_the_front_is_beaten_in_both_time_and_cost() -> None:
    wanted = Wanted(gpus=(8, 16, 32), technologies=("infiniband-ndr", "tcp-400g"))
    front = plan(question(scenario(global_batch=64), CATALOG, wanted=wanted)).pareto
    points = [(one.step.duration_s, one.usd_per_trillion_tokens or 0.0) for one in front]
    assert points
    assert [time_s for time_s, _ in points] == sorted(time_s for time_s, _ in points)
    assert [usd for _, usd in points] == sorted((usd for _, usd in points), reverse=True)


def test_a_budget_leaves_dearer_machines_out_and_says_so() -> None:
    # A DGX H100 costs 300,000 USD and more: four are over a million.
    wanted, limits = Wanted(gpus=(8, 32)), PlanLimits(budget_usd=1e6)
    asked = question(scenario(global_batch=64), CATALOG, wanted=wanted, limits=limits)
    assert [one.network.design.num_gpus for one in asked.machines] == [8]
    assert "over the 1MUSD allowed" in next(iter(asked.left_out.values()))


def test_limits_that_nothing_keeps_are_refused() -> None:
    with pytest.raises(InfeasibleError, match="no machine is within the limits"):
        question(scenario(), CATALOG, limits=PlanLimits(power_w=100.0))


def test_less_memory_never_makes_a_faster_plan() -> None:
    whole = plan(question(scenario(), CATALOG))
    less = plan(question(scenario(), CATALOG, limits=PlanLimits(memory_bytes=40e9)))
    assert less.feasible < whole.feasible
    assert less.best[0].step.memory.total_bytes <= 1.1 * 40e9
    fastest = min(c.step.duration_s for c in (*whole.best, whole.outside) if c)
    assert durations(less)[0] >= fastest


def test_a_model_that_fits_nowhere_is_refused() -> None:
    with pytest.raises(InfeasibleError, match="fits in no configuration"):
        plan(question(scenario("gpt-3-175b"), CATALOG))


def test_an_interrupted_search_returns_the_best_so_far_and_goes_on_later() -> None:
    asked = question(scenario(), CATALOG)
    done: dict[Key, Piece] = {}

    def interrupt(pieces: dict[Key, Piece], _: int) -> None:
        done.update(pieces)
        raise KeyboardInterrupt

    cut = plan(asked, after=interrupt)
    assert not cut.complete
    only = asked.spaces[0]
    assert cut.configurations == max(only.size_of(p) for p in only.pipelines())
    text = to_text(done, asked=asked.fingerprint)
    known = from_text(text, asked=asked.fingerprint, where="here")
    assert known == done
    resumed, whole = plan(asked, known=known), plan(asked)
    assert durations(resumed) == durations(whole)
    assert resumed.configurations == whole.configurations


def test_a_search_of_another_question_is_not_resumed() -> None:
    one = question(scenario(), CATALOG)
    other = question(scenario(global_batch=32), CATALOG)
    text = to_text({}, asked=one.fingerprint)
    with pytest.raises(SpecError, match="another scenario"):
        from_text(text, asked=other.fingerprint, where="here")


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"netloom_plan": 1, "asked": "", "pieces": [1]}']
)
def test_a_file_that_is_no_search_is_refused(text: str) -> None:
    with pytest.raises(SpecError, match="not a search"):
        from_text(text, asked="", where="here")


def test_the_order_of_search_does_not_depend_on_the_machines_beside_it() -> None:
    alone = plan(question(scenario(), CATALOG)).best
    wanted = Wanted(technologies=("tcp-400g", "infiniband-ndr"))
    beside = plan(question(scenario(), CATALOG, wanted=wanted))
    best = [c for c in beside.best if c.machine.network.technology.name == "infiniband-ndr"]
    if best:
        first = replace(best[0].configuration, machine=0)
        assert first in [choice.configuration for choice in alone]


def test_software_is_searched_on_request_and_each_is_what_predict_says_of_it() -> None:
    asked, names = scenario(), ("nemo", "fsdp-2023")
    found = plan(question(asked, CATALOG, wanted=Wanted(software=names)))
    alone = [plan(question(asked, CATALOG, wanted=Wanted(software=(name,)))) for name in names]
    assert found.configurations == sum(one.configurations for one in alone)
    assert [one.step.practice.name for one in found.machines] == list(names)
    assert [one.machine.name.rpartition(", ")[2] for one in found.machines] == list(names)
    bests = sorted(one.best[0].step.duration_s for one in alone)
    assert found.best[0].step.duration_s == bests[0] < bests[1]
    job = asked.job.model_copy(update={"software": Software(name="fsdp-2023")})
    again = found.machines[1].configuration.job(job)
    step = predict(asked.model_copy(update={"job": again}), CATALOG).step
    assert step.duration_s == found.machines[1].step.duration_s


def test_the_search_keeps_the_switches_of_the_scenarios_own_software() -> None:
    asked = scenario(global_batch=8)
    own = Software(name="nemo", attention="flash-1")
    job = asked.job.model_copy(update={"software": own})
    told = asked.model_copy(update={"job": job})
    found = plan(question(told, CATALOG, wanted=Wanted(software=("nemo", "megatron-bridge"))))
    assert {one.machine.software: one.step.practice.flash for one in found.machines} == {
        "nemo": 1,
        "megatron-bridge": 3,
    }
    with pytest.raises(SpecError, match="'nemmo' is not known"):
        question(told, CATALOG, wanted=Wanted(software=("nemmo",)))


def test_only_what_the_software_can_do_is_searched() -> None:
    # Megatron-LM of 2022 has neither context ranks nor ZeRO 2 and 3; its successors have both.
    old, new = (
        question(software(scenario(nodes=2), name), CATALOG).spaces[0]
        for name in ("megatron-2022", "megatron-bridge")
    )
    copies = Divided(tensor=1, context=1, data=16, expert=1)
    assert (old.zeros(copies), new.zeros(copies)) == ((0, 1), (0, 1, 2, 3))
    assert {one.context for one in old.divided(1)} == {1}
    assert max(one.context for one in new.divided(1)) > 1


def software(asked: Scenario, name: str) -> Scenario:
    job = asked.job.model_copy(update={"software": Software(name=name)})
    return asked.model_copy(update={"job": job})
