from __future__ import annotations

from pathlib import Path

from netloom.compute.tables import read_table

RECORDED = Path(__file__).parents[2] / "data/h200_calibration.csv"


def test_what_calibrate_wrote_on_an_h200_is_read_back_whole() -> None:
    """626 operators, measured with ``netloom calibrate gpu`` in 95 s."""
    table = read_table(RECORDED)
    assert len(table) == 626
