"""Megatron-LM of 2020 and 2021: pipelines, and torch's DDP for small models.

GPT 530B in the same plan took 54.159 s with Megatron-LM of 2021 on 2,520 GPUs (arXiv:2104.04473
Table 1) and 50.36 s with that of 2022 on 2,240 (arXiv:2205.05198 section 6.3): 1.075.
"""

from __future__ import annotations

from dataclasses import replace

from netloom.step.practices.megatron_2022 import ENTRY as MEGATRON_2022

__all__ = ["ENTRY"]

ENTRY = replace(
    MEGATRON_2022,
    name="megatron-2021",
    title="Megatron-LM 2021",
    released="2021-04",
    age=1.075,
)
