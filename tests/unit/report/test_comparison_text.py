"""The table of a comparison in a terminal: no number is cut, no money is rounded away."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

import netloom as nl
from netloom.report.compare.text import columns_of, comparison_text
from netloom.spec.load import parse

if TYPE_CHECKING:
    from netloom.study.compare.comparison import Comparison


@pytest.fixture(scope="module")
def large() -> Comparison:
    return nl.compare(nl.example().comparing(("infiniband-ndr", "spectrum-x-400g")))


@pytest.fixture(scope="module")
def small() -> Comparison:
    text = """
    cluster: {gpus: 64, node: dgx-h100}
    job: {model: llama-3-8b, training: {sequence: 8192, global_batch: 128}}
    compare: [infiniband-ndr, rocev2-400g]
    """
    return nl.compare(parse(text, name="small.yaml"))


def shown(comparison: Comparison, columns: int) -> str:
    console = Console(width=columns, file=StringIO())
    console.print(comparison_text(comparison))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("columns", [60, 80, 100, 200])
def test_no_number_of_the_table_is_cut(large: Comparison, columns: int) -> None:
    said = shown(large, columns)
    for contender in large.contenders:
        for _, show in columns_of(large.contenders):
            assert show(contender) in said
    assert "\N{HORIZONTAL ELLIPSIS}" not in said


def test_columns_that_fit_stand_in_one_table(large: Comparison) -> None:
    heads = [line for line in shown(large, 200).splitlines() if line.startswith("technology")]
    assert len(heads) == 1


def test_money_of_a_small_cluster_is_in_thousands(small: Comparison, large: Comparison) -> None:
    heads = dict(columns_of(small.contenders))
    first = small.contenders[0]
    assert heads["net kUSD"](first) == f"{first.network_capex_usd / 1000:,.1f}"
    assert heads["kUSD/Ttok"](first) == f"{first.usd_per_trillion_tokens / 1000:,.1f}"
    assert {"net MUSD", "MUSD/Ttok"} <= {head for head, _ in columns_of(large.contenders)}
