"""What the ports of one real device are in the design."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError
from netloom.ops.observe.devices import printable
from netloom.ops.observe.naming import Naming, PortScheme

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PortNames"]

MAX_PART: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PortNames:
    """Parts by the labels of one device.

    Attributes:
        name: What the device is called there.
        part: What the design calls it; empty to go by *naming*.
        ports: Of labels that say so themselves: a number, or a part such as ``nic:3``.
        naming: What devices and ports are called elsewhere.
        scheme: How its other labels are numbered; default: as *naming* has it.
    """

    name: str
    part: str = ""
    ports: Mapping[str, int | str] = field(default_factory=dict)
    naming: Naming = field(default_factory=Naming)
    scheme: PortScheme | None = None

    @property
    def device(self) -> str:
        """What the design calls the device."""
        return self.part or self.naming.device(self.name)

    def port(self, label: str, alias: str = "") -> str | None:
        """Return the port that goes by a label, ``leaf:3[7]``; None where nothing says which.

        Args:
            label: As the device has it.
            alias: Another name of the same port.
        """
        for text in (label, alias):
            if text in self.ports:
                own = self.ports[text]
                return f"{self.device}[{own}]" if isinstance(own, int) else _whole(own)
        return next((found for text in (label, alias) if (found := self._numbered(text))), None)

    def of(self, label: str, inside: str = "", alias: str = "") -> str:
        """Return the part that a label is of: a port, else the device with the label behind it."""
        if not label:
            part = self.device
        else:
            part = self.port(label, alias) or f"{self.device}/{printable(label)}"
        return f"{part}/{inside}"[:MAX_PART] if inside else part[:MAX_PART]

    def _numbered(self, label: str) -> str | None:
        try:
            for name in (self.name, self.device, ""):
                if (name, label) in self.naming.ports:
                    return f"{self.device}[{self.naming.ports[name, label]}]"
            scheme = self.scheme or self.naming.scheme
            return f"{self.device}[{scheme.number(label)}]" if label else None
        except SpecError:
            return None


def _whole(part: str) -> str:
    """Return a port: a NIC port is a device of its own, with port 1."""
    return part if part.endswith("]") else f"{part}[1]"
