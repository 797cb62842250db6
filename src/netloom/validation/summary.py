"""What the suites found, as the tables that predictions take their range from."""

from __future__ import annotations

import csv
from collections import defaultdict
from io import StringIO
from statistics import median
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.engines.analytic import AnalyticEngine
from netloom.errors import NetloomError
from netloom.spec.precision import is_cast
from netloom.step.basis import step_point
from netloom.step.software import departures
from netloom.validated.axes import AXES
from netloom.validated.intervals import exposed_range
from netloom.validation.collectives.cells import BANDS, GOALS, band_of, group_of
from netloom.validation.collectives.suite import FAR_OFF_PCT, validate_collectives
from netloom.validation.collectives.tables import shipped_rows
from netloom.validation.steps.cases import cases_of
from netloom.validation.steps.contradicted import contradicted
from netloom.validation.steps.coverage import interval_widths
from netloom.validation.steps.fitted import FITTED
from netloom.validation.steps.suite import predict_case, shipped_step_rows
from netloom.workload.flops import step_flops
from netloom.workload.placement import layout, num_micro_batches
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from netloom.parts.load import Catalog
    from netloom.step.model import Step
    from netloom.validated.axes import StepPoint
    from netloom.validation.collectives.suite import RowResult
    from netloom.validation.steps.cases import StepCase
    from netloom.validation.steps.measured import MeasuredStep

FOUND: Final = ("exposed_share", "exposed_faster", "exposed_slower", "error_pct")
QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)

__all__ = ["collectives_table", "intervals_table", "steps_table"]


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
        "quantiles_pct": " ".join(f"{error:.3g}" for error in _quantiles(rows)),
        "far_rows": sum(error > FAR_OFF_PCT for error in errors),
        "bound_pct": GOALS[group_of(first.collective, max(nodes)), band],
    }


def _quantiles(rows: list[RowResult]) -> list[float]:
    """Return errors with their sign, each in the middle of a fifth of the rows, the ends at 5 %."""
    signed = [row.error_pct for row in rows if row.error_pct is not None]
    found: list[float] = np.quantile(signed, QUANTILES).tolist()
    return found


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
            point, found = step.basis.point, _found(row, step)
        except NetloomError:
            point, found = _point_of(case), dict.fromkeys(FOUND, "")
        yield {
            "row_id": row.row_id,
            "source": row.source,
            **_axes(point),
            "eight_bit": int(is_cast(case.job.trained.precision)),
            "technology": case.network.technology.name,
            "switches": _switches(case),
            "consistent": int(not (case.doubts or contradicted(row))),
            "fitted": int(row.row_id in FITTED),
            "mfu": _mfu(row, case),
            **found,
        }


def _point_of(case: StepCase) -> StepPoint:
    """Return where a row lies that does not fit in memory by our count."""
    network, training = case.network, case.job.trained
    plan = layout(
        case.job.parallel,
        node=network.node,
        num_gpus=network.design.num_gpus,
        placement=case.job.placement,
    )
    return step_point(
        transformer(case.model),
        plan,
        training,
        network=network,
        practice=case.practice,
        num_micro_batches=num_micro_batches(training, plan),
    )


def _axes(point: StepPoint) -> dict[str, object]:
    """Return the value on each axis; parameters as rows give them, to four digits."""
    named = {axis.name: getattr(point, axis.name) for axis in AXES if axis.is_judged}
    return named | {"parameters": f"{point.parameters:.4g}"}


def _found(row: MeasuredStep, step: Step) -> dict[str, str]:
    """Return the error, and what the collectives' errors may make of the exposed time."""
    low_s, high_s = exposed_range(step.basis)
    exposed_s = step.basis.exposed_s
    values = (
        step.exposed_share,
        (exposed_s - low_s) / step.duration_s,
        (high_s - exposed_s) / step.duration_s,
        100 * (step.duration_s / row.measured_s - 1),
    )
    return dict(zip(FOUND, (f"{value:.4g}" for value in values), strict=True))


def intervals_table() -> str:
    """Return what intervals are widened by, from the shipped table of steps, in CSV."""
    return _csv(
        {"layers": layers, "up_to": f"{up_to:.4g}", "widen": f"{widen:.4g}"}
        for layers, widths in interval_widths().items()
        for up_to, widen in zip(*widths, strict=True)
    )


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
