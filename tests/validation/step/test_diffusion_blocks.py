"""The step's operators of diffusion blocks against those measured on one H200.

Nothing was fitted on them for the step; the bounds are what was achieved.
"""

from __future__ import annotations

import csv
from importlib import resources
from statistics import median

import pytest

from netloom.compute.roofline import costs, roofline
from netloom.parts.diffusion import Diffusion
from netloom.parts.load import load_catalog
from netloom.workload.flops import Shard, layer_operators
from netloom.workload.transformer import transformer

pytestmark = pytest.mark.validation

CATALOG = load_catalog()
KINDS = {"dit": "dit", "mmdit": "mmdit", "video": "cross"}
ACHIEVED_PCT = {"eager": 11.4, "compiled": 14.6}


def rows() -> list[dict[str, str]]:
    folder = resources.files("netloom.validation.layers").joinpath("data")
    text = folder.joinpath("h200_dit_blocks_bf16.csv").read_text("utf-8")
    read = csv.DictReader(text.splitlines())
    return [row for row in read if row["status"] == "ok" and row["kind"] in KINDS]


def error_pct(row: dict[str, str]) -> float:
    hidden, heads = int(row["hidden"]), int(row["heads"])
    kind = KINDS[row["kind"]]
    blocks = Diffusion.model_validate({"kind": kind, "text_tokens": int(row["text_tokens"])})
    model = CATALOG.model("dit-xl-2").model_copy(
        update={
            "hidden": hidden,
            "num_heads": heads,
            "num_kv_heads": heads,
            "head_dim": hidden // heads,
            "ffn_hidden": int(row["ffn"]),
            "diffusion": blocks,
        }
    )
    shard = Shard(micro_batch=int(row["micro_batch"]), sequence=int(row["tokens"]))
    machine = roofline(CATALOG.gpu("H200-SXM"), "bf16")
    found = costs(layer_operators(transformer(model), shard, moe=False), machine, recompute="none")
    return 100 * (1e3 * (found.forward_s + found.backward_s) / float(row["fwd_bwd_ms"]) - 1)


@pytest.mark.parametrize("mode", ACHIEVED_PCT)
def test_blocks_are_as_near_as_they_were(mode: str) -> None:
    errors = [abs(error_pct(row)) for row in rows() if row["mode"] == mode]
    assert len(errors) >= 9
    assert median(errors) <= ACHIEVED_PCT[mode]
