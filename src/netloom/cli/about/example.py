"""``netloom example``."""

from __future__ import annotations

from typing import Final

from netloom.spec.example import BUILT_IN, example_text, examples
from netloom.spec.sweep import sweep_example_text

__all__ = ["example"]

SWEEP: Final = "sweep"


def example(name: str = BUILT_IN, /, *, names: bool = False) -> None:
    """Print a scenario to start from.

    Args:
        name: Which of the scenarios that come with netloom; 'sweep' for a sweep file.
        names: Print the names instead.
    """
    if name == SWEEP and not names:
        print(sweep_example_text(), end="")
        return
    print("\n".join(examples()) + "\n" if names else example_text(name), end="")
