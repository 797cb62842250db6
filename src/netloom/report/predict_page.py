"""One self-contained HTML page for a predicted step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.report.charts import (
    BYTES,
    GREY,
    SECONDS,
    BarPart,
    Bars,
    ChartAxis,
    Figure,
    Plot,
    Series,
)
from netloom.report.compare.figures import step_ends, time_by_part
from netloom.report.hash_variance import HEADINGS as LUCK_HEADINGS
from netloom.report.hash_variance import luck_cells
from netloom.report.html import render
from netloom.report.predict import (
    HEADINGS,
    breakdown_rows,
    headline,
    memory_line,
    memory_parts,
    published_lines,
    software_line,
    title,
)
from netloom.report.sections import AnswerBox, Gallery, HtmlTable, Page, doubts_fold
from netloom.step.memory import memory_course, needed_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.study.predict.hash_variance import HashVariance
    from netloom.study.predict.prediction import Prediction

__all__ = ["prediction_page"]

_MOST_POINTS: Final = 600


def prediction_page(found: Prediction, *, draws: Sequence[HashVariance] = ()) -> str:
    """Return the page as one string of HTML; *draws* are the step's over seeds, if asked for."""
    luck = (_luck(draws),) if draws else ()
    page = Page(
        title=title(found),
        subtitle=found.scenario.name or "",
        answer=AnswerBox(
            headline=headline(found.step),
            lines=(
                software_line(found),
                *published_lines(found),
                memory_line(found.step.memory),
            ),
        ),
        sections=(
            _parts(found),
            *luck,
            Gallery(figures=(_step(found), _memory(found), *_course(found))),
        ),
    )
    return render(page)


def _figures(found: Prediction) -> Gallery:
    return Gallery(figures=(_step(found), _memory(found), *_course(found)))


def _parts(found: Prediction) -> HtmlTable:
    return HtmlTable(
        title="Where the step goes",
        caption="One optimizer step. Hidden besides: communication behind computation.",
        headings=("part", *HEADINGS[1:]),
        rows=[cells for _, cells in breakdown_rows(found.step)],
        notes=("Any number down to its constants: netloom predict --why.",),
        folds=doubts_fold(found.step.validity.doubts),
    )


def _luck(draws: Sequence[HashVariance]) -> HtmlTable:
    return HtmlTable(
        title=f"Over {len(draws[0].seeds):,} draws of the hash",
        caption="Where the mean lies, and what a single run may meet.",
        headings=LUCK_HEADINGS,
        rows=[luck_cells(one) for one in draws],
    )


def _step(found: Prediction) -> Figure:
    spent = {found.network.technology.name: found.step.breakdown_s()}
    return Figure(
        key="step",
        title="The step, to scale",
        caption=(
            "Only communication that no computation hides is shown. The error bar holds nine in "
            "ten measured steps: netloom predict --why interval."
        ),
        chart=time_by_part(
            spent, rows="technology", axis="time of a step", ranges=(step_ends(found.step),)
        ),
    )


def _memory(found: Prediction) -> Figure:
    memory = found.step.memory
    parts = memory_parts(memory) | {
        "context, communicators, gaps": needed_bytes(memory) - memory.total_bytes
    }
    free = memory.capacity_bytes - sum(parts.values())
    held = parts | ({"free": free} if free > 0 else {})
    return Figure(
        key="memory",
        title="What a GPU holds",
        caption=f"The fullest GPU, which has {BYTES.write(memory.capacity_bytes, digits=3)}.",
        chart=Bars(
            axis=ChartAxis(title="memory", unit=BYTES, from_zero=True),
            rows="GPU",
            labels=("GPU",),
            parts=tuple(
                BarPart(name=name, values=(float(value),), hue=hue)
                for hue, (name, value) in enumerate(held.items())
            ),
            stacked=True,
        ),
    )


def _course(found: Prediction) -> tuple[Figure, ...]:
    """Return memory over the step; nothing where the pipeline is too long to draw."""
    step = found.step
    whole = memory_course(step.memory, step.pipeline, duration_s=float(step.duration_s))
    if whole is None:
        return ()
    course = whole.thinned(_MOST_POINTS)
    ends = (course.times_s[0], course.times_s[-1])
    levels = (
        ("what the GPU has", step.memory.capacity_bytes, GREY),
        ("weights, gradients, optimizer", course.states_bytes, 1),
    )
    lines = tuple(
        Series(name=name, x=ends, y=(float(level), float(level)), hue=hue)
        for name, level, hue in levels
    )
    held = Series(
        name="with activations", x=course.times_s, y=course.held_bytes, hue=0, join="step"
    )
    stage = f"stage {step.memory.stage + 1} of {len(step.pipeline.stages)}, the fullest"
    return (
        Figure(
            key="memory-over-time",
            title="Memory over the step",
            caption=f"What is allocated on a GPU of {stage}; forward passes add, backward passes "
            "free.",
            chart=Plot(
                x=ChartAxis(title="time", unit=SECONDS, from_zero=True),
                y=ChartAxis(title="memory", unit=BYTES, from_zero=True),
                series=(held, *lines),
            ),
        ),
    )
