"""Deployments as text: what was written, found, planned and done."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from netloom.ops.deploy.known_settings import settings_in
from netloom.units import format_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netloom.ops.deploy.changes import Applied, DeviceChange
    from netloom.ops.deploy.device import DeviceConfig
    from netloom.ops.deploy.rules import Broken

__all__ = ["applied_text", "checked_text", "planned_text", "read_text", "rendered_text"]

MAX_LINES: Final = 12  # of one device's changes; --json has all


def rendered_text(
    folder: str, *, num_files: int, skipped: Mapping[str, str], removed: Sequence[str]
) -> str:
    """Return what was written."""
    lines = [f"{format_count(num_files, 'file')} written to {folder}"]
    lines += [f"left out: {path}: {why}" for path, why in skipped.items()]
    if removed:
        lines.append(f"removed {format_count(len(removed), 'file')} of an earlier deployment")
    return "\n".join(lines)


def checked_text(findings: Sequence[Broken]) -> str:
    """Return what is wrong, one finding a paragraph."""
    if not findings:
        return "nothing is wrong"
    lines = []
    for one in findings:
        lines += [f"{one.severity}: {_place(one)}", f"  {one.what}", f"  -> {one.remedy}"]
    num_errors = sum(one.severity == "error" for one in findings)
    errors = format_count(num_errors, "error")
    lines.append(f"{errors}, {format_count(len(findings) - num_errors, 'warning')}")
    return "\n".join(lines)


def read_text(devices: Sequence[DeviceConfig]) -> list[str]:
    """Return how many switches of each system were read, and which settings they have."""
    counts = Counter(device.system for device in devices)
    known = Counter(name for device in devices for name in settings_in(device))
    return [
        f"read {count} of {system}: "
        f"{sum(len(one.ports) for one in devices if one.system == system):,} ports"
        for system, count in sorted(counts.items())
    ] + [f"marks of {count} are those of {name}" for name, count in sorted(known.items())]


def _place(one: Broken) -> str:
    """Return where it is: ``64 ports of 4 files: first, ... last`` where that is many."""
    if one.count == 1:
        return one.where
    files = {place.partition(": ")[0] for place in one.places}
    is_ports = all(": " in place for place in one.places)
    of_files = f" of {len(files)} files" if len(files) > 1 else ""
    kind = f"ports{of_files}" if is_ports else "places"
    return f"{one.count} {kind}: {one.places[0]} ... {one.places[-1]}"


def planned_text(changes: Sequence[DeviceChange]) -> str:
    """Return what would change, device by device."""
    touched = [one for one in changes if one.lines or one.error]
    lines = [line for one in touched for line in _change(one.device, one.lines, one.error)]
    lines.append(f"{len(touched)} of {len(changes)} would change" if touched else "nothing differs")
    return "\n".join(lines)


def applied_text(done: Sequence[Applied]) -> str:
    """Return what became of every device, the good ones counted, the others in full."""
    lines = []
    for one in done:
        lines += [f"{one.device}: {one.state}"] + ([f"  {one.error}"] if one.error else [])
    num_good = sum(one.is_good for one in done)
    lines.append(f"{num_good} of {len(done)} devices run what is wanted")
    return "\n".join(lines)


def _change(device: str, changed: Sequence[str], error: str) -> list[str]:
    lines = [device, *(f"  {line}" for line in changed[:MAX_LINES])]
    if len(changed) > MAX_LINES:
        lines.append(f"  ... and {len(changed) - MAX_LINES} more")
    return [*lines, f"  cannot be told: {error}"] if error else lines
