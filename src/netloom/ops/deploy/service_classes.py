"""Classes of traffic as service levels: code points, queues, weights, lanes."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ServiceClass", "dscp_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceClass:
    """One class on switches, NICs and in the communication library.

    Attributes:
        name: Such as ``pipeline``.
        priority: Its queue, traffic class and pause priority; the higher goes first.
        weight: Share of a link by turns; 0 for strict order.
        qps: Queue pairs of a connection.
    """

    name: str
    priority: int
    weight: float
    qps: int

    @property
    def dscp(self) -> int:
        """Its code point."""
        return dscp_of(self.priority)

    @property
    def traffic_class(self) -> int:
        """The whole byte, with the ECN field's codepoint 10."""
        return self.dscp << 2 | 2


def dscp_of(priority: int) -> int:
    """Return the code point of a priority: the third of its eight, so that 3 has RoCE's 26."""
    return 8 * priority + 2
