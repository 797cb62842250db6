"""Who shares a cluster."""

from __future__ import annotations

import re
from collections import Counter
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from netloom.spec.strict import Strict

__all__ = ["Tenant", "Tenants"]

DEFAULT_KEY: Final = 0x7FFF  # InfiniBand's own: the partition that management lives in
_SPANS: Final = re.compile(r"\d{1,7}(-\d{1,7})?(,\d{1,7}(-\d{1,7})?)*", re.ASCII)


def _spans(text: str) -> str:
    if not _SPANS.fullmatch(text):
        message = "is not a list of node numbers; write '0-15' or '0-7,12,20-31'"
        raise ValueError(message)
    for span in text.split(","):
        first, _, last = span.partition("-")
        if last and int(last) < int(first):
            message = f"has the span '{span}', which ends before it begins; write '{last}-{first}'"
            raise ValueError(message)
    return text


class Tenant(Strict):
    """A set of nodes that only talk to one another.

    Attributes:
        nodes: As written; :meth:`node_numbers` counts them out.
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,31}$")] = Field(
        description="Letters, digits, - and _"
    )
    nodes: Annotated[str, AfterValidator(_spans)] = Field(
        description="Numbers of its nodes, such as '0-15' or '0-7,12'"
    )
    partition_key: Annotated[int, Field(ge=1, lt=DEFAULT_KEY)] | None = Field(
        default=None,
        description="InfiniBand P_Key without its membership bit; the next free one left out",
    )

    def node_numbers(self) -> tuple[int, ...]:
        """Return the numbers of its nodes, ascending, each once."""
        found: set[int] = set()
        for span in self.nodes.split(","):
            first, _, last = span.partition("-")
            found.update(range(int(first), int(last or first) + 1))
        return tuple(sorted(found))


def _apart(tenants: tuple[Tenant, ...]) -> tuple[Tenant, ...]:
    names = Counter(tenant.name for tenant in tenants)
    keys = Counter(tenant.partition_key for tenant in tenants if tenant.partition_key is not None)
    for what, counts in (("name", names), ("partition_key", keys)):
        twice = [value for value, count in counts.items() if count > 1]
        if twice:
            message = f"two tenants have the {what} {twice[0]!r}; give each its own"
            raise ValueError(message)
    return tenants


Tenants = Annotated[tuple[Tenant, ...], Field(max_length=4096), AfterValidator(_apart)]
