"""What the suites found, as the tables that predictions take their range from."""

from __future__ import annotations

import csv
from collections import defaultdict
from io import StringIO
from statistics import median
from typing import TYPE_CHECKING

from netloom.engines.analytic import AnalyticEngine
from netloom.errors import NetloomError
from netloom.spec.precision import is_cast
from netloom.step.residual import generation_of
from netloom.step.software import departures
from netloom.validation.collectives.cells import BANDS, GOALS, band_of, group_of
from netloom.validation.collectives.suite import FAR_OFF_PCT, shipped_rows, validate_collectives
from netloom.validation.steps.cases import cases_of
from netloom.validation.steps.fitted import FITTED, contradicted
from netloom.validation.steps.suite import predict_case, shipped_step_rows
from netloom.workload.flops import step_flops
from netloom.workload.parameters import parameters
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from netloom.parts.load import Catalog
    from netloom.validation.collectives.suite import RowResult
    from netloom.validation.steps.cases import StepCase
    from netloom.validation.steps.measured import MeasuredStep

__all__ = ["collectives_table", "steps_table"]


def collectives_table(catalog: Catalog) -> str:
    """Return the judged rows of the collectives suite as groups, in CSV."""
    groups: defaultdict[tuple[str, ...], list[RowResult]] = defaultdict(list)
    for row in validate_collectives(shipped_rows(), catalog).per_row:
        if row.judged and not row.fitted and row.size_bytes is not None:
            nodes = "one" if row.num_nodes == 1 else group_of(row.collective, row.num_nodes)
            place = row.machine, row.node, row.technology, nodes
            groups[row.collective, *place, band_of(row.size_bytes)].append(row)
    return _csv(_group(rows, catalog) for _, rows in sorted(groups.items()))


def _group(rows: list[RowResult], catalog: Catalog) -> dict[str, object]:
    first = rows[0]
    errors = [abs(row.error_pct) for row in rows if row.error_pct is not None]
    nodes = [row.num_nodes for row in rows]
    band = band_of(first.size_bytes or 0.0)
    names = list(BANDS)
    low = 0.0 if band == names[0] else BANDS[names[names.index(band) - 1]]
    family = catalog.technologies[first.technology].family if first.technology else ""
    return {
        "collective": first.collective,
        "machine": first.machine,
        "node": first.node,
        "scale_up": catalog.nodes[first.node].scale_up,
        "technology": first.technology,
        "family": family,
        "min_nodes": min(nodes),
        "max_nodes": max(nodes),
        "min_bytes": f"{low:.0f}",
        "max_bytes": f"{BANDS[band]:.0f}",
        "rows": len(rows),
        "median_error_pct": f"{median(errors):.3g}",
        "far_rows": sum(error > FAR_OFF_PCT for error in errors),
        "bound_pct": GOALS[group_of(first.collective, max(nodes)), band],
    }


def steps_table(catalog: Catalog) -> str:
    """Return every published step that the catalogue knows the parts of, in CSV."""
    return _csv(_steps(catalog))


def _steps(catalog: Catalog) -> Iterator[dict[str, object]]:
    engine = AnalyticEngine()
    for row in shipped_step_rows():
        try:
            case = cases_of(row, catalog)[0]
        except NetloomError:
            continue  # a GPU or model that the catalogue does not have
        try:
            case, step = predict_case(row, catalog, engine)
            found = (
                f"{step.exposed_share:.4g}",
                f"{100 * (step.duration_s / row.measured_s - 1):.4g}",
            )
        except NetloomError:
            found = ("", "")
        count = parameters(case.model) if row.params_b is None else row.params_b * 1e9
        yield {
            "row_id": row.row_id,
            "source": row.source,
            "generation": generation_of(case.network.gpu),
            "eight_bit": int(is_cast(case.job.trained.precision)),
            "technology": case.network.technology.name,
            "software": case.practice.name,
            "switches": _switches(case),
            "num_gpus": row.num_gpus,
            "parameters": f"{count:.4g}",
            "experts": int(case.model.num_experts > 0),
            "consistent": int(not (case.doubts or contradicted(row))),
            "fitted": int(row.row_id in FITTED),
            "mfu": _mfu(row, case),
            "exposed_share": found[0],
            "error_pct": found[1],
        }


def _switches(case: StepCase) -> str:
    """Return how the row's software departs from what its name stands for."""
    changed = departures(case.practice, case.network.gpu)
    return " ".join(f"{name}={value}" for name, value in changed.items())


def _mfu(row: MeasuredStep, case: StepCase) -> str:
    training = case.job.trained
    peak = case.network.gpu.peak.at(training.precision)
    if case.doubts or case.model.num_experts or not peak:
        return ""
    needed, _ = step_flops(transformer(case.model), training)
    return f"{needed / row.num_gpus / peak / row.measured_s:.4g}"


def _csv(rows: Iterable[dict[str, object]]) -> str:
    listed = list(rows)
    out = StringIO()
    writer = csv.DictWriter(out, list(listed[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(listed)
    return out.getvalue()
