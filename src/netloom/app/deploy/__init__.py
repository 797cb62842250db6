"""A scenario's configuration: render, check, plan, apply."""

from __future__ import annotations

from netloom.app.deploy.run import (
    ApplyReport,
    CheckReport,
    Deployment,
    PlanReport,
    RenderReport,
    apply,
    check,
    deployment_of,
    plan,
    render,
)

__all__ = [
    "ApplyReport",
    "CheckReport",
    "Deployment",
    "PlanReport",
    "RenderReport",
    "apply",
    "check",
    "deployment_of",
    "plan",
    "render",
]
