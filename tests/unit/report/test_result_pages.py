"""What the pages of predict, size, goodput, place, locate and audit say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import netloom as nl
from netloom.ops.heal.snapshot import Snapshot
from netloom.ops.observe.audit import Audit, Difference
from netloom.report.goodput_page import goodput_page
from netloom.report.ops.audit_page import MAX_ROWS, audit_page
from netloom.report.ops.locate_page import findings_page
from netloom.report.predict_page import prediction_page
from netloom.report.size_page import sizing_page
from netloom.report.whatif.place_page import placement_page
from netloom.study.predict.hash_variance import HashVariance
from netloom.study.whatif.place import place

if TYPE_CHECKING:
    from netloom import Scenario


def small() -> Scenario:
    return nl.Scenario.model_validate(
        {
            "cluster": {"nodes": 4},
            "job": {"model": "llama-3.1-8b", "training": {"global_batch": 64}},
        }
    )


def cells_of(figure: str, page: str) -> list[str]:
    (found,) = re.findall(rf'<figure class="card" id="{figure}".*?</figure>', page, re.DOTALL)
    return re.findall(r"<t[hd].*?>(.*?)</t[hd]>", found)


def test_the_parts_of_a_predicted_step_add_up_to_it() -> None:
    found = nl.predict(small())
    page = prediction_page(found)
    # The last cell of the figure's table is the sum, in three digits.
    total, interval = cells_of("step", page)[-1].split(" (")
    assert total == f"{1e3 * found.step.duration_s:.3g} ms"
    assert found.step.interval is not None
    assert interval.startswith(f"{1e3 * found.step.interval.low_s:.3g} ms to ")
    assert "draws of the hash" not in page


def test_a_gpus_memory_is_told_with_what_is_free() -> None:
    found = nl.predict(small())
    *_, free, all_of_it = cells_of("memory", prediction_page(found))
    assert all_of_it == f"{found.step.memory.capacity_bytes / 1e9:.3g} GB"
    assert free.endswith("GB")


def test_draws_of_the_hash_are_a_table_of_their_own() -> None:
    # 1, 2 and 3 s: mean 2 s, median 2 s.
    luck = HashVariance(technology="rocev2-400g", seeds=(0, 1, 2), steps_s=(1.0, 2.0, 3.0))
    page = prediction_page(nl.predict(small()), draws=[luck])
    assert "Over 3 draws of the hash" in page
    assert '<th scope="row">rocev2-400g</th><td>2s</td>' in page


def test_the_figure_of_costs_adds_up_to_the_networks_price_without_nics() -> None:
    found = nl.size(nl.SizingRequest(num_gpus=1024))
    cells = cells_of("cost", sizing_page(found))[2:]
    worth = {"USD": 1.0, "kUSD": 1e3, "million USD": 1e6}
    prices = [cell.split(" ", 1) for cell in cells[1::2]]
    total_usd = sum(float(number) * worth[unit] for number, unit in prices)
    assert abs(total_usd / found.bill.capex_usd - 1) < 1e-3
    assert "NIC" not in cells


def test_the_shares_of_a_jobs_time_add_up_to_all_of_it() -> None:
    cells = cells_of("time", goodput_page(nl.uptime(small())))
    assert cells[-1] == "100 %"


def test_a_placement_is_drawn_beside_the_bound() -> None:
    found = place(small(), free=range(4), num_nodes=4, tries=0)
    page = placement_page(found)
    *_, last, bound = cells_of("steps", page)
    assert (last, bound) == ("bound", f"{1e3 * found.bound_s:.4g} ms")
    assert "Nodes, in the order of the job&#39;s places: 0-3" in page


def test_a_fabric_in_which_nothing_is_broken_has_a_page_that_says_so() -> None:
    page = findings_page(Snapshot(findings=(), taken_s=0.0, num_flows=1234))
    assert "Nothing is broken that 1,234 flows could tell." in page
    assert "<figure" not in page


def test_cables_as_designed_leave_nothing_to_list() -> None:
    page = audit_page(
        Audit(differences=(), num_devices=9, num_cables=12, num_right=12, num_unknown_speed=0)
    )
    assert "12 of 12 cables are where they should be" in page
    assert "<table" not in page


def test_of_very_many_differences_the_first_are_listed_and_the_rest_counted() -> None:
    missing = tuple(
        Difference(kind="missing", cables=(number,), parts=(), text=f"no cable {number}")
        for number in range(MAX_ROWS + 7)
    )
    page = audit_page(
        Audit(differences=missing, num_devices=9, num_cables=2000, num_right=0, num_unknown_speed=0)
    )
    assert "and 7 more; --json has all" in page
    assert f"no cable {MAX_ROWS - 1}<" in page
    assert f"no cable {MAX_ROWS}<" not in page
