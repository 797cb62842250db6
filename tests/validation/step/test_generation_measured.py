"""Pictures and films on request against measurements: whole passes, decoders, published requests.

No constant was taken from these rows but the decoder's share of the peak, from one picture of
1024 x 1024 that is not among them. docs/models/serving.md has every row's error.
"""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import median

import pytest

from netloom.engines.analytic.engine import AnalyticEngine
from netloom.parts.load import load_catalog
from netloom.spec.inference import Generation
from netloom.spec.scenario import Cluster
from netloom.step.generation.service import generate
from netloom.study.networks import network_of

pytestmark = pytest.mark.validation

ROWS = Path(__file__).parents[2] / "data" / "generation_measured.csv"
CATALOG = load_catalog()


def error_pct(row: dict[str, str]) -> float:
    """Return predicted over measured, less 1, in percent."""
    sizes = {key: int(row[key]) for key in ("height", "width", "frames", "steps", "batch")}
    asked = Generation.model_validate(
        {
            **sizes,
            "context": int(row["context"]),
            "mode": row["mode"],
            "attention": row["attention"],
        }
    )
    found = generate(
        asked,
        model=CATALOG.model(row["model"]),
        network=network_of(Cluster(nodes=1, node=row["node"]), CATALOG),
        engine=AnalyticEngine(),
    )
    quantities = {
        "step": found.step.total_s,
        "decoder": found.decoder_s,
        "latency": found.latency_s,
    }
    return 100 * (quantities[row["quantity"]] / float(row["measured_s"]) - 1)


def errors(prefix: str) -> dict[str, float]:
    """Return the errors of the rows named so."""
    with ROWS.open(encoding="utf-8") as file:
        return {
            row["row_id"]: error_pct(row)
            for row in csv.DictReader(file)
            if row["row_id"].startswith(prefix)
        }


def test_passes_of_flux_on_an_h200_are_within_ten_percent() -> None:
    """Eight passes: as written and compiled, three sizes, four pictures together."""
    found = errors("flux-h200")
    assert len(found) == 8
    assert all(-10 < error < 5 for error in found.values()), found


def test_decoder_at_other_sizes_is_within_a_quarter_where_one_picture_is_decoded() -> None:
    """Its share of the peak is of 1024 x 1024; four pictures together reach more (ratchet)."""
    found = errors("decode-h200")
    assert abs(found.pop("decode-h200-1024x4-eager")) < 70
    assert all(abs(error) < 25 for error in found.values()), found


def test_compiled_requests_are_within_fifteen_percent_on_one_to_four_gpus() -> None:
    """All too fast: host, scheduler and the layers around the blocks are not counted."""
    found = [error for name, error in errors("flux-xdit").items() if name.endswith("compiled")]
    assert len(found) == 3
    assert all(-15 < error < 0 for error in found), found


def test_requests_run_as_written_miss_the_host_that_decides() -> None:
    """Known gap, held as a ratchet: four GPUs were hardly faster than two."""
    found = errors("flux-xdit")
    assert -55 < found["flux-xdit-4-eager"] < 0
    assert -25 < found["flux-xdit-2-eager"] < 0


def test_films_are_within_fifteen_percent_on_one_to_four_gpus() -> None:
    """On eight the decoder, which is not counted, is a third of the time (ratchet)."""
    found = errors("hunyuan")
    assert -40 < found.pop("hunyuan-720p-8") < 0
    assert all(abs(error) < 15 for error in found.values()), found
    assert median(abs(error) for error in found.values()) < 8
