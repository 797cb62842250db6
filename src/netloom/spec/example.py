"""The scenarios that come with netloom."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError
from netloom.spec.load import parse
from netloom.spec.problems import did_you_mean

if TYPE_CHECKING:
    from netloom.spec.scenario import Scenario

__all__ = ["BUILT_IN", "example", "example_text", "examples"]

BUILT_IN: Final = "llama-3.1-405b-16k"


def examples() -> dict[str, str]:
    """Return the text of every shipped scenario by its name, in the order of the names."""
    folder = resources.files("netloom.spec") / "examples"
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    return {
        file.name.removesuffix(".yaml"): file.read_text(encoding="utf-8")
        for file in files
        if file.name.endswith(".yaml")
    }


def example_text(name: str = BUILT_IN) -> str:
    """Return the YAML of the shipped scenario *name*; by default the built-in example.

    Raises:
        SpecError: there is none of that name.
    """
    known = examples()
    if name not in known:
        raise SpecError(
            key="example", what=f"{name!r} is not known", remedy=did_you_mean(name, known)
        )
    return known[name]


def example(name: str = BUILT_IN) -> Scenario:
    """Return the shipped scenario *name*: by default Llama 3.1 405B on 16,384 H100.

    >>> import netloom as nl
    >>> nl.example("incast-rocev2").cluster.fabric.technology
    'rocev2-400g'

    Raises:
        SpecError: there is none of that name.
    """
    return parse(example_text(name), name=f"{name}.yaml")
