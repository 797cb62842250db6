"""What spans cost and draw; prices are ranges."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from netloom.fabric.span.lines import BuiltSpan
    from netloom.parts.load import Catalog

__all__ = ["SpanCost", "span_cost"]

WAVES_PER_PAIR: Final = 64  # of 75 GHz in the C band
STRANDS: Final = 2
# A bought 400G wave of 500 to 1,000 km, USD a month (recalled, low confidence).
WAVE_MONTH_USD: Final = (8_000.0, 25_000.0)
WAVE_MONTH_BPS: Final = 400e9
Range = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanCost:
    """One span, both ends.

    Attributes:
        capex_usd: Optics, amplifiers, regenerators, edge ports and the right to use the fibre for
            20 years; lowest and highest.
        yearly_usd: Upkeep of the route, or a bought wave.
        power_w: Everything lit.
    """

    span: str
    capex_usd: Range
    yearly_usd: Range
    power_w: float
    parts_usd: dict[str, Range]


def span_cost(span: BuiltSpan, catalog: Catalog) -> SpanCost:
    """Return what *span* costs."""
    count, spec = span.spec.waves.count, span.spec
    ports = 2 * max(count, math.ceil(count * spec.waves.rate_bps / span.edge.rate_bps))
    parts = {"edge ports": _times(span.edge.price_range_usd, ports)}
    power_w = ports * span.edge.power_w
    yearly: Range = (0.0, 0.0)
    if spec.length_m is None:
        waves = count * spec.waves.rate_bps / WAVE_MONTH_BPS
        yearly = (12 * waves * WAVE_MONTH_USD[0], 12 * waves * WAVE_MONTH_USD[1])
    else:
        pairs, km = math.ceil(count / WAVES_PER_PAIR), spec.length_m / 1e3
        amplifier = catalog.line_site(spec.amplifier)
        regenerator = catalog.line_site(spec.regenerator)
        modules = 2 * count * (spec.regenerators + 1)
        sites, regenerators = pairs * span.num_amplifiers, pairs * spec.regenerators
        parts["optics"] = _times(span.optics.price_range_usd, modules)
        parts["amplifiers"] = _times(amplifier.price_range_usd, sites)
        parts["regenerators"] = _times(regenerator.price_range_usd, regenerators)
        parts["fibre for 20 years"] = _times(span.fibre.iru_per_km_range_usd, STRANDS * pairs * km)
        yearly = _times(span.fibre.upkeep_per_km_range_usd, km)
        power_w += modules * span.optics.power_w + sites * amplifier.power_w
        power_w += regenerators * regenerator.power_w
    return SpanCost(
        span=span.name,
        capex_usd=(sum(low for low, _ in parts.values()), sum(high for _, high in parts.values())),
        yearly_usd=yearly,
        power_w=power_w,
        parts_usd=parts,
    )


def _times(each: Range | None, count: float) -> Range:
    return (0.0, 0.0) if each is None else (each[0] * count, each[1] * count)
