from __future__ import annotations

import re
from typing import TYPE_CHECKING

from netloom.cli.main import main
from netloom.report.validation import validation_page

if TYPE_CHECKING:
    from pathlib import Path


def test_every_row_that_can_be_predicted_is_a_point(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["validate", "gpu-steps", "--report", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    (figure,) = re.findall(r'<figure class="card" id="gpu-steps".*?</figure>', text, re.DOTALL)
    wide, narrow = re.findall(r'<svg class="chart (?:wide|narrow)".*?</svg>', figure, re.DOTALL)
    assert wide.count("<title>inside, ") == narrow.count("<title>inside, ") == 3
    assert figure.count('<th scope="row">inside, ') == 3


def test_a_page_of_all_published_curves_and_thousands_of_rows_stays_small() -> None:
    # As many as the HPCC authors' table has: two loads, three percentiles, five schemes.
    curves = [
        {
            "workload": "wb",
            "load_pct": load,
            "fct_percentile": percentile,
            "scheme": f"scheme {scheme}",
            "published": [1 + step / 9 + scheme for step in range(100)],
            "simulated": [None] + [1 + step / 8 + scheme for step in range(1, 100)],
        }
        for load in (30, 50)
        for percentile in (50, 95, 99)
        for scheme in range(5)
    ]
    rows = [
        {
            "row_id": f"row {number}",
            "predicted": 1.1 + number % 97,
            "measured": 1.0 + number % 89,
            "error_pct": 1.0,
            "inside": number % 5 > 0,
        }
        for number in range(3000)
    ]
    errors = ("median_abs_error_pct", "mean_abs_error_pct", "p90_abs_error_pct", "bias_pct")
    suite = {"per_row": rows, "curves": curves, "rows": 3000, "inside": 2400, "bound_ok": True}
    page = validation_page({"fct": suite | dict.fromkeys(errors, 1.0)})
    assert len(page.encode()) < 700_000
    assert page.count("<figure") == 1 + 6
    assert '<th scope="row">scheme 0, simulated</th><td>99</td><td>2</td><td>100</td>' in page
    # Four rows of five are inside the range that is claimed.
    assert '<th scope="row">inside</th><td>2,400</td>' in page
    assert '<th scope="row">outside, or apart</th><td>600</td>' in page
