"""``netloom example``."""

from __future__ import annotations

from netloom.spec.example import BUILT_IN, example_text, examples

__all__ = ["example"]


def example(name: str = BUILT_IN, /, *, names: bool = False) -> None:
    """Print a scenario to start from.

    Args:
        name: Which of the scenarios that come with netloom.
        names: Print the names instead.
    """
    print("\n".join(examples()) + "\n" if names else example_text(name), end="")
