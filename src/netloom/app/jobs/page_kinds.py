"""Questions that a page asks and the command line does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from netloom.app.jobs.kind import JobKind, JobOptions
from netloom.fabric.layout import layout_of
from netloom.study.fabrics import build

if TYPE_CHECKING:
    from netloom.app.jobs.kind import JsonResult

__all__ = ["LAYOUT", "layout_job"]


class LayoutOptions(JobOptions):
    """None."""


def layout_job(scenario: Any, _: LayoutOptions, __: Any) -> JsonResult:
    """Lay the fabric out."""
    return layout_of(build(scenario))


LAYOUT: Final = JobKind(options=LayoutOptions, run="netloom.app.jobs.page_kinds:layout_job")
