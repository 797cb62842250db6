"""The search and the single prediction are one model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netloom.catalog.load import load_catalog
from netloom.engines.analytic.engine import AnalyticEngine
from netloom.errors import InfeasibleError
from netloom.spec.scenario import Scenario
from netloom.step.predict import predict
from netloom.study.efficiency import efficiency_validity
from netloom.study.networks import network_of
from netloom.study.plan_evaluate import batches
from netloom.study.plan_space import Space
from netloom.study.plan_tables import Tables

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
    name = draw(st.sampled_from(models))
    scenario = Scenario.model_validate(
        {
            "cluster": {
                "nodes": draw(st.sampled_from([1, 2, 3])),
                "fabric": {"technology": draw(st.sampled_from(["rocev2-400g", "infiniband-ndr"]))},
            },
            "job": {"model": name, "training": training, "parallel": {"schedule": order}},
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
    tables = Tables.of(asked, engine)
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
        doubts = step.validity & efficiency_validity(
            asked.network.gpu, work.trained.precision, mfu=step.mfu
        )
        assert batch.inside[row, column] == doubts.inside


@settings(max_examples=10, deadline=None)
@given(asked=spaces(), data=st.data())
def test_what_the_search_says_does_not_fit_is_refused_by_the_prediction(
    asked: Space, data: st.DataObject
) -> None:
    pipeline = data.draw(st.sampled_from(asked.pipelines()))
    engine = AnalyticEngine()
    for batch in batches(Tables.of(asked, engine), pipeline):
        for row, column in np.argwhere(~batch.fit)[:1]:
            if batch.virtuals[column] > 1 and batch.lines[row].row.num_micro_batches < pipeline:
                continue  # is no configuration: interleaving starves
            work = batch.configuration(row, column, machine=0).job(asked.job)
            with pytest.raises(InfeasibleError):
                predict(work, model=asked.model, network=asked.network, engine=engine)
