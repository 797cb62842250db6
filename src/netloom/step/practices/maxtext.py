"""MaxText and Paxml on GPUs: sharding by XLA."""

from __future__ import annotations

from dataclasses import replace

from netloom.provenance import Source
from netloom.step.practices.fsdp_2023 import ENTRY as FSDP_2023

__all__ = ["ENTRY"]

ENTRY = replace(
    FSDP_2023,
    name="maxtext",
    title="MaxText 2024",
    released="2024-06",
    divides_context=True,
    flash=3,
    fused=True,
    drag=0.15,
    source=Source(citation="MaxText on GPUs: FSDP sharding by XLA", confidence="assumed"),
)
