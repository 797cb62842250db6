"""Results that say how their numbers came about."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, Protocol

from netloom.errors import SpecError
from netloom.provenance import Why

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ALL", "Explained", "unknown_field"]

ALL: Final = "all"


class Explained(Protocol):
    """A result whose numbers are explained, field by field or all together."""

    __slots__ = ()

    def explanations(self) -> Mapping[str, Why]:
        """Return the explanation of each field that has one, by its key in the JSON."""
        ...

    def whole_explanation(self) -> Why:
        """Return all explanations under one root."""
        parts = tuple(self.explanations().values())
        return parts[0] if len(parts) == 1 else Why(name=ALL, value="", parts=parts)

    def why(self, field: str = ALL) -> Why:
        """Return how *field*, a key of the JSON, came about; of ``all`` every field.

        Raises:
            SpecError: nothing of that name can be explained.
        """
        if field == ALL:
            return self.whole_explanation()
        known = self.explanations()
        if field not in known:
            raise unknown_field(field, known)
        return known[field]


def unknown_field(field: str, known: Mapping[str, object]) -> SpecError:
    """Return the error that names the fields that can be explained, the closest first."""
    close = get_close_matches(field, known, n=1, cutoff=0.4)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return SpecError(
        option="--why",
        what=f"there is no field {field!r}",
        remedy=f"{hint}use {', '.join(known)} or {ALL}",
    )
