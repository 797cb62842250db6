"""``netloom example``."""

from __future__ import annotations

from typing import Annotated, Final

from cyclopts import Parameter

from netloom.cli.output import emit_json
from netloom.spec.example import BUILT_IN, example_text, examples
from netloom.spec.sweep.file import sweep_example_text

__all__ = ["example"]

SWEEP: Final = "sweep"


def example(
    name: str = BUILT_IN,
    /,
    *,
    names: bool = False,
    json: Annotated[bool, Parameter(show_default=False)] = False,
) -> None:
    """Print a scenario to start from.

    Args:
        name: Which of the scenarios that come with netloom; 'sweep' for a sweep file.
        names: Print the names instead.
        json: Print JSON; keys are documented in docs/json.md.
    """
    known = list(examples())
    if names:
        emit_json({"names": known}) if json else print("\n".join(known))
        return
    text = sweep_example_text() if name == SWEEP else example_text(name)
    emit_json({"name": name, "text": text}) if json else print(text, end="")
