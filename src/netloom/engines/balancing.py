"""What a way to balance load is, and the register of them.

The ways themselves are classes of the core (core/README.md says how to add one). An entry pairs
what switches do with what senders do under the name that options and the catalogue use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from netloom.registers import Register

__all__ = ["LOAD_BALANCINGS", "LoadBalancing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadBalancing:
    """One way to balance load; every trait must be given.

    Attributes:
        name: As ``--lb``, scenarios and the catalogue write it.
        switches: How switches choose among equal-cost links, in the core's words.
        senders: How senders change the hashed source port, in the core's words; ``fixed`` for not
            at all.
        max_paths: Source ports that senders may change between.
        in_flows: Whether the flow engine knows it.
    """

    name: str
    switches: str
    senders: str
    max_paths: int
    in_flows: bool


LOAD_BALANCINGS: Final = Register[LoadBalancing](
    kind="load_balancing", traits=LoadBalancing, home="netloom.engines.balancings"
)
