"""The search and the single prediction are one model."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netloom.engines.analytic.engine import AnalyticEngine
from netloom.errors import InfeasibleError, SpecError
from netloom.parts.load import load_catalog
from netloom.spec.scenario import Scenario
from netloom.step.efficiency import validity_besides_mfu
from netloom.step.predict import predict
from netloom.study.networks import network_of
from netloom.study.plan.evaluate import batches
from netloom.study.plan.space import RECOMPUTES, Configuration, Space
from netloom.study.plan.tables import CostTables
from netloom.workload.placement import check_model, layout, num_micro_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

CATALOG = load_catalog()


@st.composite
def spaces(draw: st.DrawFn, memory_bytes: float | None = None) -> Space:
    """Return a small space, of dense and mixture-of-experts models."""
    models = ["llama-3.1-8b", "gpt-3-175b", "mixtral-8x7b", "deepseek-v3"]
    training = {
        "sequence": draw(st.sampled_from([2048, 4096])),
        "global_batch": draw(st.sampled_from([4, 6])),
        "precision": draw(st.sampled_from(["bf16", "fp8"])),
    }
    order = draw(st.sampled_from(["1f1b", "gpipe", "zero-bubble"]))
    exchange = draw(st.sampled_from(["ring", "all-gather"]))
    name = draw(st.sampled_from(models))
    scenario = Scenario.model_validate(
        {
            "cluster": {
                "nodes": draw(st.sampled_from([1, 2, 3])),
                "fabric": {"technology": draw(st.sampled_from(["rocev2-400g", "infiniband-ndr"]))},
            },
            "job": {
                "model": name,
                "training": training,
                "parallel": {"schedule": order, "context_exchange": exchange},
            },
        }
    )
    network = network_of(scenario.cluster, CATALOG)
    if memory_bytes is not None:
        gpu = network.gpu.model_copy(update={"memory_bytes": memory_bytes})
        network = replace(network, gpu=gpu)
    return Space(job=scenario.job, model=CATALOG.model(name), network=network)


@settings(max_examples=25, deadline=None)
@given(asked=spaces(memory_bytes=1e12), data=st.data())
def test_the_search_predicts_what_a_single_prediction_does(
    asked: Space, data: st.DataObject
) -> None:
    """Time to 1e-9, whether it fits, and whether it is in doubt."""
    engine = AnalyticEngine()
    tables = CostTables.of(asked, engine)
    pipeline = data.draw(st.sampled_from(asked.pipelines()))
    found = list(batches(tables, pipeline))
    if not found:
        return
    for batch in data.draw(st.lists(st.sampled_from(found), min_size=1, max_size=6)):
        places = np.argwhere(batch.fit)
        row, column = places[data.draw(st.integers(0, len(places) - 1))]
        work = batch.configuration(row, column, machine=0).job(asked.job)
        step = predict(work, model=asked.model, network=asked.network, engine=engine)
        assert batch.duration_s[row, column] == pytest.approx(step.duration_s, rel=1e-9)
        besides = validity_besides_mfu(step, asked.network.gpu, work.trained.precision)
        assert batch.inside[row, column] == besides.inside
        assert batch.above[row, column] == (step.validity != besides)


@settings(max_examples=10, deadline=None)
@given(asked=spaces(), data=st.data())
def test_what_the_search_says_does_not_fit_is_refused_by_the_prediction(
    asked: Space, data: st.DataObject
) -> None:
    pipeline = data.draw(st.sampled_from(asked.pipelines()))
    engine = AnalyticEngine()
    for batch in batches(CostTables.of(asked, engine), pipeline):
        for row, column in np.argwhere(~batch.fit)[:1]:
            if batch.virtuals[column] > 1 and batch.lines[row].row.num_micro_batches < pipeline:
                continue  # is no configuration: interleaving starves
            work = batch.configuration(row, column, machine=0).job(asked.job)
            with pytest.raises(InfeasibleError):
                predict(work, model=asked.model, network=asked.network, engine=engine)


@st.composite
def tiny_spaces(draw: st.DrawFn) -> Space:
    """Return a space of few layers, heads and experts, with memory for everything."""
    base = CATALOG.model(draw(st.sampled_from(["mixtral-8x7b", "llama-3.2-1b", "gpt-3-175b"])))
    shape = {
        "num_layers": draw(st.integers(1, 7)),
        "num_heads": draw(st.sampled_from([8, 6])),
        "ffn_hidden": draw(st.sampled_from([1024, 1536])),
        "num_kv_heads": 2,
    }
    if base.num_experts:
        shape["num_experts"] = draw(st.sampled_from([4, 6]))
    order = draw(st.sampled_from(["1f1b", "zero-bubble"]))
    scenario = Scenario.model_validate(
        {
            "cluster": {"nodes": draw(st.sampled_from([1, 2]))},
            "job": {
                "model": base.name,
                "training": {
                    "sequence": draw(st.sampled_from([24, 64])),
                    "global_batch": draw(st.sampled_from([4, 6])),
                },
                "parallel": {"schedule": order},
            },
        }
    )
    network = network_of(scenario.cluster, CATALOG)
    gpu = network.gpu.model_copy(update={"memory_bytes": 1e18})
    model = base.model_copy(update=shape)
    return Space(job=scenario.job, model=model, network=replace(network, gpu=gpu))


def every(space: Space, pipeline: int) -> Iterator[Configuration]:
    """Yield more than can be: every number up to a little over the largest that can, ZeRO 0."""
    gpus, batch = space.num_gpus, space.job.trained.global_batch
    degrees = range(1, gpus + 1)
    for tensor, context in product(degrees, repeat=2):
        if gpus % (tensor * context * pipeline):
            continue
        for expert, virtual, size, parallel in product(
            range(1, space.model.num_experts + 2),
            range(1, space.model.num_layers + 4),
            range(1, batch + 2),
            (True, False),
        ):
            yield Configuration(
                machine=0,
                tensor=tensor,
                pipeline=pipeline,
                virtual_pipeline=virtual,
                context=context,
                expert=expert,
                data=gpus // (tensor * context * pipeline),
                micro_batch=size,
                recompute="none",
                zero=0,
                sequence_parallel=parallel,
            )


def is_accepted(space: Space, one: Configuration) -> bool:
    """Whether the checks that predict makes before it looks at memory let *one* pass."""
    job, network = one.job(space.job), space.network
    try:
        plan = layout(
            job.parallel, node=network.node, num_gpus=space.num_gpus, placement=job.placement
        )
        check_model(space.model, plan)
        num_micro_batches(job.trained, plan)
    except SpecError:
        return False
    return True


def alike(one: Configuration) -> Configuration:
    """Return the configuration that stands for *one* and all that cannot differ from it."""
    same_experts = one.tensor * one.context * one.data // one.expert if one.expert > 1 else 1
    copies = max(one.data * one.context, same_experts)
    return replace(
        one,
        zero=one.zero if copies > 1 else 0,
        sequence_parallel=one.sequence_parallel and one.tensor > 1,
    )


def searched(space: Space, pipeline: int) -> list[Configuration]:
    """Return all configurations that a search looks at; memory is no matter here."""
    return [
        batch.configuration(line, column, machine=0)
        for batch in batches(CostTables.of(space, AnalyticEngine()), pipeline)
        for line, column in np.argwhere(batch.fit)
    ]


@settings(max_examples=20, deadline=None)
@given(space=tiny_spaces(), data=st.data())
def test_a_search_looks_at_exactly_what_predict_accepts(space: Space, data: st.DataObject) -> None:
    pipeline = data.draw(st.sampled_from([p for p in (1, 2, 4, 8) if space.num_gpus % p == 0]))
    looked_at = searched(space, pipeline) if pipeline in space.pipelines() else []
    assert len(set(looked_at)) == len(looked_at)
    unlike = {one for one in looked_at if one.recompute == "none"}
    assert len(looked_at) == len(RECOMPUTES) * len(unlike)
    accepted = [one for one in every(space, pipeline) if is_accepted(space, one)]
    assert {alike(replace(one, zero=z)) for one in accepted for z in range(4)} == unlike


@settings(max_examples=15, deadline=None)
@given(space=tiny_spaces(), data=st.data())
def test_predict_refuses_what_its_checks_refuse_and_cannot_tell_alikes_apart(
    space: Space, data: st.DataObject
) -> None:
    """What the property above rests on."""
    pipeline = data.draw(st.sampled_from([1, 2, 4, 8]))
    candidates = list(every(space, pipeline))
    engine = AnalyticEngine()

    def duration_s(one: Configuration) -> float:
        return predict(
            one.job(space.job), model=space.model, network=space.network, engine=engine
        ).duration_s

    for any_zero in data.draw(st.lists(st.sampled_from(candidates), min_size=1, max_size=8)):
        one = replace(any_zero, zero=data.draw(st.integers(0, 3)))
        assert is_accepted(space, one) == is_accepted(space, any_zero)
        if is_accepted(space, one):
            assert duration_s(one) == duration_s(alike(one))
        else:
            with pytest.raises(SpecError):
                duration_s(one)
