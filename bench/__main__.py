"""Run every benchmark: ``make bench``."""

from __future__ import annotations

from bench import max_min

for benchmark in (max_min.random_permutation_of_256_hosts,):
    benchmark()
