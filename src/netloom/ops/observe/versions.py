"""Firmware and operating systems as inventory: what most devices of a kind run, and the others."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["SeenVersion", "VersionGroup", "version_groups"]


class SeenVersion(NamedTuple):
    """A version that a device says it runs.

    Attributes:
        kind: How it was asked, such as ``sonic``: versions of different kinds are not compared.
        model: What it is, as it says; empty where it does not.
        device: What it is called.
        component: Of what: ``os``, ``firmware``, ``optic Ethernet0``.
        version: As it says.
    """

    kind: str
    model: str
    device: str
    component: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionGroup:
    """One component of all devices of a kind and model.

    Attributes:
        kind: How they were asked.
        model: What they are.
        component: Of what.
        majority: The version that most have; of two that as many have, the later by name.
        num_devices: How many were seen.
        others: Those that have another: device and version.
    """

    kind: str
    model: str
    component: str
    majority: str
    num_devices: int
    others: tuple[tuple[str, str], ...]

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/alerts.md documents."""
        return {
            "kind": self.kind,
            "model": self.model,
            "component": self.component,
            "majority": self.majority,
            "num_devices": self.num_devices,
            "others": [{"device": device, "version": text} for device, text in self.others],
        }


def version_groups(seen: Iterable[SeenVersion]) -> tuple[VersionGroup, ...]:
    """Return what runs where, groups with differences first.

    >>> seen = [SeenVersion("eapi", "7060", name, "os", "4.31") for name in ("a", "b")]
    >>> (group,) = version_groups([*seen, SeenVersion("eapi", "7060", "c", "os", "4.30")])
    >>> group.majority, group.others
    ('4.31', (('c', '4.30'),))
    """
    groups: dict[tuple[str, str, str], dict[str, str]] = defaultdict(dict)
    for one in seen:
        groups[one.kind, one.model, one.component][one.device] = one.version
    found = [_group(*key, devices) for key, devices in groups.items()]
    return tuple(
        sorted(found, key=lambda one: (not one.others, one.kind, one.model, one.component))
    )


def _group(kind: str, model: str, component: str, devices: dict[str, str]) -> VersionGroup:
    counts = Counter(devices.values())
    majority = max(counts, key=lambda version: (counts[version], version))
    others = sorted((name, text) for name, text in devices.items() if text != majority)
    return VersionGroup(
        kind=kind,
        model=model,
        component=component,
        majority=majority,
        num_devices=len(devices),
        others=tuple(others),
    )
