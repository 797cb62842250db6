"""Why a number of a comparison is what it is, down to constants and sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from netloom.provenance import Why
from netloom.results.explained import ALL, unknown_field
from netloom.study.predict.explain import explain_step

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.study.compare.candidate import Candidate

__all__ = ["explain", "explain_all"]


def _latency(contender: Candidate) -> Why:
    return Why(
        name="latency",
        value=contender.latency_s,
        unit="s",
        how="sum of the parts, one way, a 256-byte message between the farthest nodes",
        parts=tuple(
            Why(name=part.name, value=part.time_s, unit="s", source=part.source)
            for part in contender.latency
        ),
    )


def _of_step(field: str) -> Callable[[Candidate], Why]:
    return lambda contender: explain_step(contender.step, contender.network)[field]


def _cluster_capex(contender: Candidate) -> Why:
    return Why(
        name="cluster capex",
        value=contender.cluster_capex_usd,
        unit="USD",
        how="network + nodes + what other NICs cost more than the nodes' own",
        parts=(contender.bill.why("capex_usd"), *_machines(contender, "price_usd", unit="USD")),
    )


def _cluster_power(contender: Candidate) -> Why:
    return Why(
        name="cluster power",
        value=contender.totals.power_w,
        unit="W",
        how="network + nodes + what other NICs draw more, at full load, without cooling",
        parts=(contender.bill.why("power_w"), *_machines(contender, "power_w", unit="W")),
    )


def _machines(
    contender: Candidate, attribute: Literal["price_usd", "power_w"], *, unit: str
) -> tuple[Why, Why]:
    """Return what of the machines enters a sum over the cluster."""
    node, totals = contender.network.node, contender.totals
    each = getattr(node, attribute)
    assert each is not None, node.name  # a contender's node has a price
    nodes = Why(
        name="nodes",
        value=each * contender.num_nodes,
        unit=unit,
        how=f"{contender.num_nodes:,} x {node.name}",
        parts=(node.why(attribute, unit=unit),),
    )
    nics = Why(
        name="other NICs",
        value=totals.other_nics(attribute),
        unit=unit,
        how=f"{totals.num_nics:,} x (the technology's - the node's own)",
        parts=tuple(
            nic.why(attribute, unit=unit) for nic in (contender.network.nic, contender.own_nic)
        ),
    )
    return nodes, nics


def _money(contender: Candidate) -> Why:
    return contender.token_cost.why(
        _cluster_capex(contender),
        _cluster_power(contender),
        _of_step("tokens_per_s")(contender),
        contender.goodput.why(),
    )


def _days(contender: Candidate) -> Why:
    return Why(
        name="days per trillion tokens",
        value=contender.days_per_trillion_tokens,
        unit="d",
        how="1e12 / (tokens/s x goodput) / 86,400",
        parts=(_of_step("tokens_per_s")(contender), contender.goodput.why()),
    )


def _limit(contender: Candidate) -> Why:
    scaling = contender.scaling
    return Why(
        name="largest efficient cluster",
        value=float(scaling.limit_gpus or 0),
        unit="GPUs",
        how=f"MFU at least 90 % of the smallest whole cluster's; ended by {scaling.limit_reason}",
        parts=tuple(
            Why(name=f"MFU at {point.num_gpus:,} GPUs", value=point.mfu)
            for point in scaling.points
            if point.whole
        ),
    )


FIELDS: dict[str, Callable[[Candidate], Why]] = {
    "latency_s": _latency,
    "step_time_s": _of_step("step_time_s"),
    "interval": _of_step("interval"),
    "network_interval": _of_step("network_interval"),
    "communication_share": _of_step("communication_share"),
    "exposed_share": _of_step("exposed_share"),
    "mfu": _of_step("mfu"),
    "tokens_per_s": _of_step("tokens_per_s"),
    "days_per_trillion_tokens": _days,
    "usd_per_trillion_tokens": _money,
    "network_capex_usd": lambda c: c.bill.why("capex_usd"),
    "network_power_w": lambda c: c.bill.why("power_w"),
    "goodput": lambda c: c.goodput.why(),
    "largest_efficient_gpus": _limit,
}


def explain(contender: Candidate, field: str) -> Why:
    """Return how *field* of *contender* came about; of ``all`` every field.

    Raises:
        SpecError: there is no such field.
    """
    if field == ALL:
        return explain_all(contender)
    if field not in FIELDS:
        raise unknown_field(field, FIELDS)
    return FIELDS[field](contender)


def explain_all(contender: Candidate) -> Why:
    """Return the explanations of every field under one root."""
    parts = tuple(build(contender) for build in FIELDS.values())
    return Why(name=contender.name, value=contender.name, parts=parts)
