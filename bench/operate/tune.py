"""How many candidates ``netloom tune`` tries in an hour on two cores."""

from __future__ import annotations

import time
from typing import Final

import netloom as nl
from netloom.spec.load import parse
from netloom.study.inputs import catalog_of
from netloom.study.sweep.question import SweepRequest
from netloom.study.tune.knobs import settings_space, with_values
from netloom.study.tune.measure import TrialOptions, measured

SEEDS: Final = 2  # of a candidate at full length
CORES: Final = 2
MIXTURE: Final = """
cluster:
  gpus: 1024
  node: dgx-h100
  fabric: {technology: rocev2-400g, topology: {kind: fat-tree, tiers: 2, hosts_per_leaf: 64}}
job:
  model: deepseek-v2
  training: {sequence: 4096, global_batch: 1024, micro_batch: 1}
  parallel: {tensor: 2, pipeline: 4, data: 128, expert: 32}
"""


def candidates_an_hour() -> None:
    """Print the rate by processor time: an incast of 16, and a step on 1,024 GPUs."""
    for name, scenario, objective, count in (
        ("incast of 16 to 1, 32 MB each, p99", nl.example("incast-rocev2"), "p99", 4),
        ("step of DeepSeek-V2 on 1,024 GPUs", parse(MIXTURE, name="bench"), "step", 1),
    ):
        space = settings_space(scenario, catalog_of(scenario), ("ecn",))
        options = TrialOptions(objective=objective, jitter_s=10e-6)  # type: ignore[arg-type]
        begin_s = time.process_time()
        for number in range(count):
            point = [(number + 0.5) / count] * len(space.knobs)
            changed = with_values(scenario, space.values(point))
            for seed in range(SEEDS):
                measured(SweepRequest(scenario=changed, options=options, seed=seed))
        each_s = (time.process_time() - begin_s) / count
        print(
            f"tune: {name}: {each_s:.2f} s of a core a candidate of {SEEDS} seeds, "
            f"{CORES * 3600 / each_s:,.0f} candidates an hour on {CORES} cores"
        )


if __name__ == "__main__":
    candidates_an_hour()
