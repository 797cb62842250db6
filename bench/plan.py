"""The search of GPT-3 175B on 1,024 GPUs beside predicting its configurations one by one."""

from __future__ import annotations

import time

from netloom.catalog.load import load_catalog
from netloom.spec.scenario import Scenario
from netloom.study.plan import plan, question
from netloom.study.plan_machines import Wanted
from netloom.study.predict import predict

# What the search must keep: a space of this size in two minutes, and this rate.
CONFIGURATIONS = 11_700_000
ALLOWED_S = 120.0
LEAST_PER_S = 100_000
OVERSUBSCRIPTIONS = (1.0, 2.0, 4.0, 8.0)


def gpt_3_on_1024_gpus() -> None:
    """Every technology and four oversubscriptions, so that the space is as large as it must be."""
    catalog = load_catalog()
    scenario = Scenario.model_validate(
        {
            "cluster": {"gpus": 1024},
            "job": {
                "model": "gpt-3-175b",
                "training": {"sequence": 2048, "global_batch": 1024},
                "parallel": {"tensor": 8, "pipeline": 8},
            },
        }
    )
    wanted = Wanted(technologies=tuple(catalog.technologies), oversubscriptions=OVERSUBSCRIPTIONS)

    def search() -> Plan:
        return plan(question(scenario, catalog, wanted=wanted))

    start = time.perf_counter()
    found = search()
    wall_s = time.perf_counter() - start
    start = time.perf_counter()
    predict(scenario, catalog)
    single_s = time.perf_counter() - start
    rate = found.configurations / wall_s
    print(
        f"\nplan of GPT-3 175B on 1,024 GPUs: {found.configurations:,} configurations in "
        f"{wall_s:.1f} s, {rate:,.0f} a second; predict alone {1 / single_s:,.0f} a second"
    )
    assert found.configurations >= CONFIGURATIONS
    assert wall_s <= ALLOWED_S
    assert rate >= LEAST_PER_S
