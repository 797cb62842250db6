"""The tables that predictions take their range from are what the suites find today."""

from __future__ import annotations

from importlib import resources

import pytest

from netloom.parts.load import load_catalog
from netloom.validated.collectives import checked_between, checked_inside, max_nodes
from netloom.validated.steps import step_range
from netloom.validation.summary import collectives_table, steps_table

pytestmark = pytest.mark.validation

CATALOG = load_catalog()
REMEDY = "run python tools/write_validated.py"


def shipped(name: str) -> str:
    return resources.files("netloom.validated").joinpath("data", name).read_text("utf-8")


def test_the_table_of_collectives_is_what_the_suite_finds() -> None:
    assert collectives_table(CATALOG) == shipped("collectives.csv"), REMEDY


def test_the_table_of_steps_is_what_the_suite_finds() -> None:
    assert steps_table(CATALOG) == shipped("steps.csv"), REMEDY


def test_steps_are_checked_where_three_rows_are_met() -> None:
    # On 3,072 GPUs three rows come out 7.9, 4.4 and 2.2 % off, 4.4 in the median; on 6,144 three
    # come out 8.9, 1.6 and 9.2 % off: over 6 in the median, as are the single rows beyond.
    assert step_range().max_gpus == 3072
    assert step_range().beyond.rows == 7
    assert step_range().beyond_gpus == (4480, 12288)


def test_a_technology_is_checked_where_ten_rows_are_met() -> None:
    # rocev2-400g has 11 rows, 8.9 % off in the median; infiniband-edr has two.
    assert step_range().technologies == {"infiniband-hdr", "infiniband-ndr", "rocev2-200g"}


def test_exposed_communication_is_checked_up_to_the_last_bin_that_is_met() -> None:
    # Ten rows expose 30 to 35 %; four expose over 40 % and come out 25 % off in the median.
    assert step_range().max_exposed_share == pytest.approx(0.35)


def test_collectives_are_checked_where_they_were_measured() -> None:
    assert checked_inside("Hopper") == {"all_reduce", "all_gather", "reduce_scatter"}
    assert checked_inside("CDNA 2") == checked_inside("CDNA 3") == {"all_reduce"}
    assert checked_between() == {"all_reduce", "all_gather"}
    assert max_nodes() == 4
