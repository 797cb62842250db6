"""Sites and the spans between them, as a scenario writes them."""

from __future__ import annotations

from netloom.spec.sites.across import AcrossAxis, SyncSpec
from netloom.spec.sites.spans import (
    CarriedBy,
    EdgeSpec,
    ProtectionSpec,
    SiteSpec,
    SpanClass,
    SpanSpec,
    SpanWindow,
    StreamSpec,
    WaveSpec,
)

__all__ = [
    "AcrossAxis",
    "CarriedBy",
    "EdgeSpec",
    "ProtectionSpec",
    "SiteSpec",
    "SpanClass",
    "SpanSpec",
    "SpanWindow",
    "StreamSpec",
    "SyncSpec",
    "WaveSpec",
]
