"""Run every benchmark: ``make bench``."""

from __future__ import annotations

from bench import (
    against_ns3,
    contention,
    fabric,
    flow,
    locate,
    locate_held_out,
    locate_told,
    max_min,
    packet,
    plan,
    seeds,
    user_path,
)
from bench.operate import tune
from bench.user_path import rails

BENCHMARKS = (
    max_min.random_permutation_of_256_hosts,
    fabric.sixteen_thousand_gpus,
    contention.thousand_flows_on_sixteen_links,
    plan.gpt_3_on_1024_gpus,
    plan.deepseek_v3_on_256_gpus,
    packet.permutations_of_1024_and_8192_hosts,
    packet.ring_of_32,
    packet.ring_of_1024,
    seeds.eight_seeds_against_one,
    user_path.commands,
    user_path.growth,
    rails.rails,
    against_ns3.permutation_of_16_hosts,
    against_ns3.incast_of_15_hosts,
    flow.each_in_its_own_process,
    locate.a_thousand_faults,
    locate.harder_rows,
    locate.sizes,
    locate_held_out.held_out,
    locate_told.what_devices_say,
    tune.candidates_an_hour,
)

# Benchmarks start processes of their own, which import this module.
if __name__ == "__main__":
    for benchmark in BENCHMARKS:
        benchmark()
