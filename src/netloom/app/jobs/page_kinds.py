"""Questions that a page asks and the command line does not."""

from __future__ import annotations

from typing import Final

from netloom.app.jobs.kind import JobKind, JobOptions
from netloom.fabric.layout import layout_of
from netloom.study.fabrics import build

__all__ = ["LAYOUT"]


class LayoutOptions(JobOptions):
    """None."""


LAYOUT: Final = JobKind(options=LayoutOptions, run=lambda scenario, *_: layout_of(build(scenario)))
