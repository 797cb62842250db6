"""What a chip architecture is, and the register of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from netloom.registers import Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.parts.load import Catalog
    from netloom.provenance import Source
    from netloom.study.compare.chips.design import ChipDesign

__all__ = ["CHIPS", "ChipArchitecture", "ChipFidelity", "FigureRange", "unchanged"]

ChipFidelity = Literal["packets", "stand-in", "closed form", "catalogue"]
ChipGroup = Literal[
    "today", "forwarding", "receivers", "links", "switches", "signals", "catalogued"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureRange:
    """A figure that is not known to one value.

    Attributes:
        name: What it measures; a key of the catalogue's switch (``price_usd``, ``power_w``) where
            the bill is to follow it.
        low: The least that a source says; equal to *high* where sources agree.
        high: The most.
        source: Who says so.
    """

    name: str
    low: float
    high: float
    unit: str
    source: Source

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "name": self.name,
            "low": self.low,
            "high": self.high,
            "unit": self.unit,
            "citation": self.source.citation,
            "confidence": self.source.confidence,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipArchitecture:
    """One way to build switches and NICs; every trait must be given.

    Attributes:
        name: As ``--architectures`` writes it.
        title: In a few words.
        changes: What the chip does differently from RoCEv2 with PFC and DCQCN over hashed paths.
        family: Technologies that it is built on: the beginning of their name, before the rate.
        fidelity: ``packets``: the packet engine runs the mechanism; ``stand-in``: it runs existing
            mechanisms and parameters that come near it; ``closed form``: a formula alone;
            ``catalogue``: figures alone, nothing is run.
        mapping: What is run for it, and what of the chip is left out.
        design: Turns the family's own design into the chip's.
        limits: What stops it from growing, that no run shows.
        figures: Unknown figures as ranges.
        sources: Where the mechanism was read.
    """

    name: str
    title: str
    group: ChipGroup
    changes: str
    family: str
    fidelity: ChipFidelity
    mapping: str
    design: Callable[[ChipDesign, Catalog], ChipDesign]
    limits: tuple[str, ...]
    figures: tuple[FigureRange, ...]
    sources: tuple[Source, ...]

    def __post_init__(self) -> None:
        if not self.sources:
            message = f"chip {self.name} names no source"
            raise TypeError(message)
        wrong = [figure.name for figure in self.figures if not figure.low <= figure.high]
        if wrong:
            message = f"chip {self.name}: the range of {wrong[0]} ends before it begins"
            raise TypeError(message)

    @property
    def is_run(self) -> bool:
        """Whether any engine runs it."""
        return self.fidelity != "catalogue"

    def figure(self, name: str) -> FigureRange | None:
        """Return the range of *name*; None where it has none."""
        return next((one for one in self.figures if one.name == name), None)


def unchanged(design: ChipDesign, _catalog: Catalog) -> ChipDesign:
    """Return the family's own design."""
    return design


CHIPS: Final = Register[ChipArchitecture](
    kind="chip",
    traits=ChipArchitecture,
    home="netloom.study.compare.chips.architectures",
    entry_point_group="netloom.chips",
)
