"""What a scenario of several sites is refused for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.errors import SpecError
from netloom.fabric.span.windows import credit_reach_m, pfc_headroom_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.fabric.span.lines import BuiltSpan
    from netloom.spec.scenario import Scenario

__all__ = ["check_sites", "check_span"]

PFC_SHARE = 1.0  # of a switch's buffer that headroom may take


def check_sites(scenario: Scenario, num_nodes: int) -> None:
    """Raise SpecError where sites do not add up, or are not joined by spans."""
    if len(scenario.sites) < 2:
        raise SpecError(
            key="sites",
            what=f"{len(scenario.sites)} given",
            remedy="name two or more, such as 'sites: [{name: north, nodes: 64}, {name: south, "
            "nodes: 64}]', and the spans between them",
        )
    names = [site.name for site in scenario.sites]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SpecError(key="sites", what=f"{twice[0]!r} is there twice", remedy="rename one")
    total = sum(site.nodes for site in scenario.sites)
    if total != num_nodes:
        raise SpecError(
            key="sites",
            what=f"they have {total} nodes together, and the cluster {num_nodes}",
            remedy=f"set 'cluster.nodes: {total}', or divide {num_nodes} over the sites",
        )
    _check_joined(scenario, names)


def _check_joined(scenario: Scenario, names: Sequence[str]) -> None:
    for number, span in enumerate(scenario.spans):
        for end in span.between:
            if end not in names:
                raise SpecError(
                    key=f"spans[{number}].between",
                    what=f"{end!r} is no site",
                    remedy=f"choose of {', '.join(names)}",
                )
    reached = {names[0]}
    for _ in names:
        for span in scenario.spans:
            if reached & set(span.between):
                reached |= set(span.between)
    missing = [name for name in names if name not in reached]
    if missing:
        raise SpecError(
            key="spans",
            what=f"no span leads from {names[0]!r} to {missing[0]!r}",
            remedy=f"add one, such as '- {{between: [{names[0]}, {missing[0]}], length: 500km, "
            "waves: {count: 4, rate: 800Gbps}}'",
        )


def check_span(span: BuiltSpan, *, key: str) -> None:
    """Raise SpecError where flow control has no room, or a deadline cannot be kept."""
    _check_flow_control(span, key=key)
    for number, one in enumerate(span.spec.classes):
        if one.deadline_s is not None and one.deadline_s < span.latency.total_s:
            raise SpecError(
                key=f"{key}.classes[{number}].deadline",
                what=f"{one.deadline_s * 1e3:g} ms, and propagation alone takes "
                f"{span.latency.total_s * 1e3:.4g} ms",
                remedy="allow more, or shorten the route",
            )


def _check_flow_control(span: BuiltSpan, *, key: str) -> None:
    wave_bps, kind = span.spec.waves.rate_bps, span.spec.edge.flow_control
    if kind == "pfc":
        needed = span.spec.waves.count * pfc_headroom_bytes(wave_bps, span.latency.total_s)
        if needed > PFC_SHARE * span.buffer_bytes:
            raise SpecError(
                key=f"{key}.edge.flow_control",
                what=f"PFC over {span.length_m / 1e3:g} km needs {needed / 1e6:,.0f} MB of "
                f"headroom for {span.spec.waves.count} ports, and {span.edge.name} has "
                f"{span.buffer_bytes / 1e6:,.0f} MB",
                remedy="use 'flow_control: relayed' or none, or a deeper buffer",
            )
    if kind == "credits" and span.length_m > credit_reach_m(wave_bps):
        raise SpecError(
            key=f"{key}.edge.flow_control",
            what=f"InfiniBand's credits end at {credit_reach_m(wave_bps):,.0f} m at "
            f"{wave_bps / 1e9:g} Gb/s, and the route has {span.length_m / 1e3:g} km",
            remedy="use a range extender at each end ('relayed'), or RoCE",
        )
