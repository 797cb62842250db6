"""Tuned settings as text: the verdict, settings side by side, what matters, where it breaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.table import Table
from rich.text import Text

from netloom.spec.fabric.settings import OwnSettings
from netloom.spec.quantity import write_quantity
from netloom.study.tune.jobs.tuning import TunedJobs
from netloom.study.tune.result import TunedSettings
from netloom.units import SHARE, SIZE, TIME, format_quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from netloom.spec.scenario import Scenario
    from netloom.study.tune.stages.tuning import StagedSettings

__all__ = [
    "BREAKS",
    "JOBS",
    "KNOBS",
    "PHASES",
    "SIDE_BY_SIDE",
    "STAGES",
    "break_rows",
    "job_rows",
    "knob_rows",
    "phase_rows",
    "settings_words",
    "settings_yaml",
    "side_rows",
    "stage_rows",
    "tune_text",
]

SIDE_BY_SIDE: Final = ("settings", "value", "95 % interval", "gain", "paused", "breaks")
KNOBS: Final = ("knob", "default", "best", "effect over its range", "more than seeds")
BREAKS: Final = ("what grows", "to", "gain", "best breaks", "default breaks")
STAGES: Final = ("class", "level", "worth", "collectives a step")
PHASES: Final = ("class", "one lasts", "change within", "can change")
JOBS: Final = ("job", "alone", "sends", "offset", "priority", "random starts", "tuned")
SAYS: Final = ("breaks", "best breaks", "default breaks", "can change")  # columns of words
_WRITTEN: Final = {"kmin_bytes": SIZE, "kmax_bytes": SIZE, "pmax": SHARE, "cnp_interval_s": TIME}


def tune_text(found: TunedSettings | StagedSettings | TunedJobs) -> RenderableType:
    """Return what ``netloom tune`` prints."""
    head: list[RenderableType] = [
        Text(found.verdict, style="bold green" if found.is_better else "bold yellow"),
        "",
    ]
    if isinstance(found, TunedSettings):
        return Group(
            *head,
            _table(SIDE_BY_SIDE, side_rows(found)),
            "",
            _table(KNOBS, knob_rows(found)),
            "",
            _table(BREAKS, break_rows(found)),
            Text(_counts(found), style="dim"),
            "",
            settings_yaml(found.advised),
        )
    if isinstance(found, TunedJobs):
        return Group(*head, _table(JOBS, job_rows(found)))
    return Group(
        *head,
        _table(("levels", "window"), [(name, _seconds(value)) for name, value in found.tried]),
        "",
        _table(STAGES, stage_rows(found)),
        "",
        _table(PHASES, phase_rows(found)),
    )


def _counts(found: TunedSettings) -> str:
    return (
        f"{len(found.found.trials)} trials, {found.num_simulations} simulations; verdict on "
        f"{len(found.seeds)} seeds of its own, starts within {_seconds(found.jitter_s)}"
    )


def side_rows(found: TunedSettings) -> list[tuple[str, ...]]:
    """Return default, published settings and the best."""
    gains = {**found.preset_gains, "best": found.gain}
    rows: list[tuple[str, ...]] = []
    for one in (found.default, *found.presets, found.best):
        gain = gains.get(one.name)
        interval = "-" if one.low is None else f"{_seconds(one.low)} to {_seconds(one.high)}"
        rows.append(
            (
                one.name,
                _seconds(one.mean),
                interval,
                "" if gain is None else f"{gain.mean:+.1%}",
                f"{one.pause_share:.2%}",
                "; ".join(one.broken),
            )
        )
    return rows


def knob_rows(found: TunedSettings) -> list[tuple[str, ...]]:
    """Return the knobs, the one that matters most first."""
    defaults = found.space.defaults
    return [
        (
            one.knob,
            _value(defaults[one.knob], one.unit),
            _value(one.best, one.unit),
            f"{one.effect:.1%}",
            "yes" if one.matters else "no",
        )
        for one in found.sensitivity
    ]


def break_rows(found: TunedSettings) -> list[tuple[str, ...]]:
    """Return where the best stops being better."""
    return [
        (
            one.what,
            f"{one.level:g} {one.unit}".strip(),
            "-" if one.gain is None else f"{one.gain:+.1%}",
            "; ".join(one.broken),
            "; ".join(one.default_broken),
        )
        for one in found.breaks
    ]


def stage_rows(found: StagedSettings) -> list[tuple[str, ...]]:
    """Return the classes, the highest level first."""
    return [
        (one.name, str(one.level), f"{one.worth:+.1%}", f"{one.collectives:,}")
        for one in found.classes
    ]


def phase_rows(found: StagedSettings) -> list[tuple[str, ...]]:
    """Return how long phases last, and what may change in them."""
    return [
        (
            one.name,
            _seconds(one.phase_s),
            _seconds(one.within_s),
            "; ".join(one.can_change),
        )
        for one in found.phases
    ]


def job_rows(found: TunedJobs) -> list[tuple[str, ...]]:
    """Return the jobs with their offsets and priorities."""
    return [
        (
            one.duty.name,
            _seconds(one.duty.period_s),
            _seconds(one.duty.send_s),
            _seconds(one.offset_s),
            str(one.priority),
            _seconds(one.unscheduled_s),
            _seconds(one.tuned_s),
        )
        for one in found.jobs
    ]


def settings_yaml(scenario: Scenario) -> str:
    """Return the settings as a scenario's file has them."""
    return f"cluster:\n  fabric:\n    settings: {settings_words(scenario)}\n"


def settings_words(scenario: Scenario) -> str:
    """Return the settings on one line."""
    asked = scenario.cluster.fabric.settings
    if isinstance(asked, OwnSettings):
        plain = {
            name.removesuffix("_bytes").removesuffix("_s"): (
                write_quantity(value, _WRITTEN[name]) if name in _WRITTEN else value
            )
            for name, value in asked.model_dump().items()
            if value is not None
        }
        return f"{{{', '.join(f'{name}: {_written(value)}' for name, value in plain.items())}}}"
    return asked or "# the technology's own"


def _written(value: object) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}: {number:.6g}' for name, number in value.items())}}}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _value(value: float, unit: str) -> str:
    if unit == "B":
        return f"{value:,.0f} B"
    return _seconds(value) if unit == "s" else f"{value:.4g}"


def _seconds(value: float | None) -> str:
    return "-" if value is None else format_quantity(value, TIME)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, heading in enumerate(headings):
        is_words = not number or heading in SAYS
        table.add_column(heading, justify="left" if is_words else "right")
    for row in rows:
        table.add_row(*row)
    return table
