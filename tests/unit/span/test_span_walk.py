"""Which spans an exchange takes, which placements sites allow, and whose node paces the step."""

from __future__ import annotations

import json
from typing import Any

import pytest

import netloom as nl
from netloom.errors import SpecError
from netloom.spec.load import parse

WAVES = {"count": 8, "rate": "400Gbps", "optics": "400zr-plus"}


def spanned(
    sites: list[dict[str, Any]],
    spans: list[dict[str, Any]],
    *,
    global_batch: int = 512,
    **parallel: object,
) -> nl.Spanning:
    """Llama 3.1 70B, a copy of 16 GPUs, on H100 nodes at *sites*."""
    named = [{"name": f"s{number}", **site} for number, site in enumerate(sites)]
    lines = [{"length": "400km", "waves": WAVES, **span} for span in spans]
    scenario = {
        "cluster": {"nodes": sum(site["nodes"] for site in sites), "node": "dgx-h100"},
        "sites": named,
        "spans": lines,
        "job": {
            "model": "llama-3.1-70b",
            "training": {"sequence": 8192, "global_batch": global_batch},
            "parallel": {"tensor": 4, "pipeline": 4, **parallel},
        },
    }
    return nl.span(parse(json.dumps(scenario), name="a.yaml"))


def kinds(found: nl.Spanning) -> set[str]:
    return {row.placement for row in found.placements}


def efficiency(found: nl.Spanning, kind: str) -> float:
    return next(row.efficiency for row in found.placements if row.placement == kind)


ONE_SPAN = [{"between": ["s0", "s1"]}]
LINE = [{"between": ["s0", "s1"]}, {"between": ["s1", "s2"]}]
THREE = [{"nodes": 32}, {"nodes": 16}, {"nodes": 16}]


def test_copies_cross_only_where_every_site_holds_whole_ones() -> None:
    assert kinds(spanned([{"nodes": 48}, {"nodes": 16}], ONE_SPAN)) >= {"data", "pipeline"}
    # 8 GPUs are half a copy of 16, and no quarter of the nodes: nothing can be laid so.
    with pytest.raises(SpecError, match=r"copies of 16 GPUs.*not whole at every site"):
        spanned([{"nodes": 63}, {"nodes": 1}], ONE_SPAN)


def test_a_pipeline_may_cross_where_no_whole_copy_fits() -> None:
    # Copies of 8 x 4 = 32 GPUs; 2 of 8 nodes are one of four stages.
    found = spanned([{"nodes": 6}, {"nodes": 2}], ONE_SPAN, tensor=8)
    assert kinds(found) == {"pipeline", "both"}
    assert found.best.cut == (3,)
    with pytest.raises(SpecError, match="copies of 32 GPUs"):
        spanned([{"nodes": 6}, {"nodes": 2}], ONE_SPAN, tensor=8, across="data")


def test_a_slow_span_beside_a_line_of_good_ones_slows_nothing() -> None:
    line = spanned(THREE, LINE)
    slow = {"between": ["s0", "s2"], "waves": {**WAVES, "count": 1}}
    closed = spanned(THREE, [*LINE, slow])
    assert closed.walk.shape == "tree"
    for kind in ("data", "pipeline", "local"):
        assert efficiency(closed, kind) == efficiency(line, kind)


def test_stages_follow_spans_and_not_the_order_of_sites() -> None:
    hub = spanned(
        [{"nodes": 16}, {"nodes": 32}, {"nodes": 16}],
        [{"between": ["s0", "s1"]}, {"between": ["s0", "s2"]}],
    )
    assert hub.walk.order[1] == "s0"
    star = spanned(
        [{"nodes": 16}] * 4,
        [{"between": ["s0", "s1"]}, {"between": ["s0", "s2"]}, {"between": ["s0", "s3"]}],
    )
    assert kinds(star) == {"data", "local"}


def test_a_second_span_between_two_sites_is_refused() -> None:
    with pytest.raises(SpecError, match=r"spans\[1\].between: a second span joins s0 and s1"):
        spanned([{"nodes": 32}, {"nodes": 32}], ONE_SPAN * 2)


def test_the_slowest_kind_of_node_paces_every_site() -> None:
    plain = spanned([{"nodes": 32}, {"nodes": 32}], ONE_SPAN)
    mixed = spanned([{"nodes": 32}, {"nodes": 32, "node": "dgx-a100"}], ONE_SPAN)
    newer = spanned([{"nodes": 32}, {"nodes": 32, "node": "dgx-h200"}], ONE_SPAN)
    # Dense bf16: 989 and 312 TFLOP/s at the peak.
    assert 2 < mixed.case.one_site_s / plain.case.one_site_s < 4
    assert mixed.one_site.step.practice.name == plain.one_site.step.practice.name
    assert newer.case.one_site_s == plain.case.one_site_s
    assert any("dgx-a100" in doubt for doubt in mixed.validity.doubts)


def test_nodes_of_another_size_are_refused() -> None:
    with pytest.raises(SpecError, match=r"sites\[1\].node: gb200-nvl72 has 72 GPUs"):
        spanned([{"nodes": 32}, {"nodes": 32, "node": "gb200-nvl72"}], ONE_SPAN)


TWO = [{"nodes": 32}, {"nodes": 32}]


def test_more_losses_are_never_faster() -> None:
    losses = (0, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 0.1)
    found = [spanned(TWO, [{**ONE_SPAN[0], "loss": loss}]) for loss in losses]
    for kind in ("data", "pipeline", "both", "local"):
        shares = [efficiency(one, kind) for one in found]
        assert shares == sorted(shares, reverse=True)
        assert shares[0] > shares[-1]


def test_repairs_are_for_the_messages_of_the_answer() -> None:
    found = spanned(TWO, ONE_SPAN, across="pipeline")
    # A micro-batch of 8,192 tokens, 8,192 wide, in bf16, of each of 32 copies.
    assert found.reliability[0].message_bytes == 2 * 8_192 * 8_192 * 32


def test_what_zero_3_gathers_in_a_site_is_no_cost_of_the_cut() -> None:
    shared = spanned(TWO, ONE_SPAN, zero=3, across="pipeline")
    plain = spanned(TWO, ONE_SPAN, zero=1, across="pipeline")
    assert shared.best.exposed_s == pytest.approx(plain.best.exposed_s, rel=0.02)


def test_no_more_micro_batches_are_in_flight_than_there_are() -> None:
    # 32 copies, one sequence each.
    found = spanned(TWO, ONE_SPAN, global_batch=32)
    assert {row.more_in_flight for row in found.placements} == {0}
