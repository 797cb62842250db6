"""As built against as designed, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netloom.ops.observe.audit import Audit

__all__ = ["audit_text", "right", "silence"]

MAX_LINES = 200


def audit_text(audit: Audit) -> str:
    """Return what differs, a line each, and how many cables are right."""
    lines = [f"{one.kind}: {_cables(one.cables)}{one.text}" for one in audit.differences]
    rest = len(lines) - MAX_LINES
    shown = lines[:MAX_LINES] + ([f"and {rest:,} more; --json has all"] if rest > 0 else [])
    doubt = silence(audit)
    return "\n".join([*([doubt] if doubt else []), *shown, right(audit)])


def right(audit: Audit) -> str:
    """Return how many cables are where they should be."""
    unknown = (
        f"; {audit.num_unknown_speed:,} of them did not tell their speed"
        if audit.num_unknown_speed
        else ""
    )
    return f"{audit.num_right:,} of {audit.num_cables:,} cables are where they should be{unknown}"


def silence(audit: Audit) -> str:
    """Return that most devices do not answer, or nothing."""
    num_silent = audit.counts["silent"]
    if 2 * num_silent < audit.num_devices:
        return ""
    doubt = f"only {audit.num_devices - num_silent:,} of {audit.num_devices:,} devices answer"
    return f"{doubt}; what this was looked at from may be cut off itself"


def _cables(numbers: tuple[int, ...]) -> str:
    if not numbers or len(numbers) > 4:
        return ""
    return f"{' '.join(f'cable:{number}' for number in numbers)}: "
