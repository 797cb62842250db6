"""What a congestion control is to everything but the core, and the register of them.

The algorithm is one header of the core (core/README.md says how to add one); its entry here says
what switches, receivers and packets must do for it, and what catalogue and options call it. A test
holds the two to one another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from netloom.registers import Register

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from netloom.engines.packet.ecn import Ecn
    from netloom.parts.parts import Technology

__all__ = ["SCHEMES", "Scheme"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """One congestion control; every trait must be given.

    Attributes:
        name: As the core, ``--cc`` and scenarios write it.
        catalogue_names: What the catalogue calls it besides.
        marks: How switches mark for it on a technology with a flow control; None where it needs
            no marks.
        telemetry: What switches write into its packets: a record for each hop, or PINT's one byte.
        telemetry_bytes: Size of that in data and acknowledgement.
        cnp_interval_ps: Least time between two congestion notifications of a flow; 0 for none.
        needs_every_ack: Whether it reads marks, times or telemetry of each acknowledgement.
        acks_per_rtt: Where it does not: how many it needs in a round trip; 0 for any number.
        goes_with_pulls: Whether it was modelled with receivers that pull.
        pulled_parameters: Its parameters where they do; empty for its own defaults.
        throttles_receivers: Whether receivers that pull still slow down by themselves.
        is_off_by_default: Whether it must be asked for even where the catalogue names it.
    """

    name: str
    catalogue_names: tuple[str, ...]
    marks: Callable[[Technology, str], Ecn] | None
    telemetry: Literal["none", "every-hop", "pint"]
    telemetry_bytes: int
    cnp_interval_ps: int
    needs_every_ack: bool
    acks_per_rtt: float
    goes_with_pulls: bool
    pulled_parameters: Mapping[str, float]
    throttles_receivers: bool
    is_off_by_default: bool

    def __post_init__(self) -> None:
        if (self.telemetry == "none") != (self.telemetry_bytes == 0):
            message = f"{self.name}: telemetry {self.telemetry} of {self.telemetry_bytes} bytes"
            raise TypeError(message)

    @property
    def needs_marks(self) -> bool:
        """Whether it never slows down without marks."""
        return self.marks is not None


SCHEMES: Final = Register[Scheme](
    kind="congestion_control", traits=Scheme, home="netloom.engines.packet.schemes"
)
