"""The roofline against whole layers measured on one H200.

The shares in the roofline come from single operators on the same GPU; no layer was used. Each
row is one tensor-parallel rank's share of a layer without communication, forward and backward.
"""

from __future__ import annotations

import csv
import logging
import statistics
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from netloom.compute.roofline import costs, roofline
from netloom.workload.flops import Shard, layer_operators
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from netloom.catalog.parts import Gpu, Model
    from netloom.compute.roofline import Roofline

pytestmark = pytest.mark.validation

LOG = logging.getLogger(__name__)
DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(scope="module")
def h200(gpu_of: Callable[[str], Gpu]) -> Roofline:
    """Return an H200: an H100 with 4.8 TB/s of memory."""
    return roofline(gpu_of("H100").model_copy(update={"memory_rate_bps": 8 * 4.8e12}), "bf16")


def rows(name: str) -> Iterator[dict[str, str]]:
    with (DATA / name).open(encoding="ascii") as file:
        yield from csv.DictReader(file)


def predicted_ms(model: Model, row: Mapping[str, str], machine: Roofline) -> float:
    shard = Shard(
        micro_batch=int(row["micro_batch"]),
        sequence=int(row["seq"]),
        tensor=int(row["tp"]),
        sequence_parallel=False,
    )
    operators = layer_operators(transformer(model), shard, moe=False)
    return 1e3 * costs(operators, machine, recompute="none").total_s


def judge(name: str, errors: list[float], *, median: float, tenth: float) -> None:
    sizes = [abs(error) for error in errors]
    found = statistics.median(sizes), statistics.quantiles(sizes, n=10)[-1]
    LOG.info("%s: %d rows, median %.2f, p90 %.2f %%", name, len(errors), *found)
    assert found[0] <= median
    assert found[1] <= tenth


# The one eager row far off (-43 %) is too short to keep the GPU fed.
@pytest.mark.parametrize(
    ("mode", "median", "tenth"), [("eager", 2.1, 20.0), ("compiled", 4.0, 12.0)]
)
def test_llama_layers_take_their_measured_time(
    model_of: Callable[..., Model], h200: Roofline, mode: str, median: float, tenth: float
) -> None:
    errors = []
    for row in rows("h200_llama_layer_shard_bf16.csv"):
        if row["mode"] == mode:
            model = model_of(
                "llama-3.1-8b",
                hidden=int(row["hidden"]),
                num_heads=int(row["heads"]),
                num_kv_heads=int(row["kv_heads"]),
                ffn_hidden=int(row["ffn"]),
            )
            errors.append(100 * (predicted_ms(model, row, h200) / float(row["fwd_bwd_ms"]) - 1))
    judge(f"llama {mode}", errors, median=median, tenth=tenth)


def test_gpt_layers_take_their_measured_time(
    model_of: Callable[..., Model], h200: Roofline
) -> None:
    errors = []
    for row in rows("h200_gpt_layer_shard_bf16.csv"):
        hidden = int(row["hidden"])
        model = model_of(
            "gpt-22b", hidden=hidden, num_heads=int(row["heads"]), ffn_hidden=4 * hidden
        )
        measured_ms = float(row["fwd_ms"]) + float(row["bwd_ms"])
        errors.append(100 * (predicted_ms(model, row, h200) / measured_ms - 1))
    judge("gpt", errors, median=3.0, tenth=8.0)
