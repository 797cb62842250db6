"""A scenario's configuration: render, check, plan, apply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.app.lazy import exports

if TYPE_CHECKING:
    from netloom.app.deploy.run import (
        ApplyReport,
        CheckReport,
        Deployment,
        PlanReport,
        RenderReport,
        apply,
        check,
        deployment_of,
        is_configurations,
        lint,
        plan,
        render,
    )
    from netloom.app.deploy.zero_touch import ZeroTouchReport, ztp

__all__ = [
    "ApplyReport",
    "CheckReport",
    "Deployment",
    "PlanReport",
    "RenderReport",
    "ZeroTouchReport",
    "apply",
    "check",
    "deployment_of",
    "is_configurations",
    "lint",
    "plan",
    "render",
    "ztp",
]

__getattr__ = exports(
    __name__,
    {
        "netloom.app.deploy.run": (
            "ApplyReport",
            "CheckReport",
            "Deployment",
            "PlanReport",
            "RenderReport",
            "apply",
            "check",
            "deployment_of",
            "is_configurations",
            "lint",
            "plan",
            "render",
        ),
        "netloom.app.deploy.zero_touch": ("ZeroTouchReport", "ztp"),
    },
)
