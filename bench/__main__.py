"""Run every benchmark: ``make bench``."""

from __future__ import annotations

from bench import contention, fabric, max_min, plan

for benchmark in (
    max_min.random_permutation_of_256_hosts,
    fabric.sixteen_thousand_gpus,
    contention.thousand_flows_on_sixteen_links,
    plan.gpt_3_on_1024_gpus,
    plan.deepseek_v3_on_256_gpus,
):
    benchmark()
