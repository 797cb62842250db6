"""Options that mean the same in every command that has them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from netloom.results.condition import parse_condition

__all__ = ["Output", "OwnParts", "PageOutput", "WhyOutput", "WhyPageOutput"]

OwnParts: TypeAlias = Annotated[
    Path | None,
    Parameter(name="--catalog", help="A TOML file with parts and prices of your own."),
]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What is printed.

    Attributes:
        json: Print JSON; keys are documented in docs/json.md.
        fail_if: Exit with 1 when this holds of the JSON, such as 'step_time_s>6'; may be given
            several times.
    """

    json: Annotated[bool, Parameter(show_default=False)] = False
    fail_if: Annotated[tuple[str, ...], Parameter(show_default=False)] = ()

    def __post_init__(self) -> None:
        for text in self.fail_if:
            parse_condition(text)  # before hours of work, not after


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class PageOutput(Output):
    """What is printed, and a page.

    Attributes:
        report: Write a self-contained HTML page to this file.
    """

    report: Path | None = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class WhyOutput(Output):
    """What is printed, and why.

    Attributes:
        why: Explain a number of the JSON down to constants and sources: its FIELD, or all.
    """

    why: Annotated[str | None, Parameter(name="--why")] = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class WhyPageOutput(WhyOutput):
    """What is printed, why, and a page.

    Attributes:
        report: Write a self-contained HTML page to this file.
    """

    report: Path | None = None
