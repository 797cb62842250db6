"""A scenario's wishes about switches and links, as settings of the packet engine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from netloom.engines.packet.lanes import VirtualLanes
from netloom.errors import SpecError, at
from netloom.spec.packets import Switches
from netloom.spec.strict import written_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.engines.packet.settings import PacketSettings
    from netloom.spec.packets import ArbitrationEntry, Lanes, PacketOptions

__all__ = ["packet_settings_of"]

_PS: Final = 1e12
_SWITCH_BYTES: Final = ("buffer_bytes", "reserve_bytes", "queue_bytes")
# Which flow controls each wish goes with.
_GOES_WITH: Final[Mapping[str, tuple[str, ...]]] = {
    "buffer_bytes": ("pfc", "lossy", "trimming"),
    "alpha": ("pfc", "lossy", "trimming"),
    "reserve_bytes": ("pfc",),
    "headroom_bytes": ("pfc",),
    "resume_bytes": ("pfc",),
    "queue_bytes": ("lossy", "trimming"),
    "weights": ("pfc", "lossy", "trimming"),
}


def packet_settings_of(asked: PacketOptions, settings: PacketSettings) -> PacketSettings:
    """Return *settings* with what *asked* changes.

    Raises:
        SpecError: something does not go with the flow control or the way of balancing, or is wrong
            by itself.
    """
    with at("switches"):
        found = _with_switches(asked.switches or Switches(), settings)
    pfc = found.pfc
    if asked.watchdog_s is not None or asked.restore_s is not None:
        _needs("watchdog", found, ("pfc",))
    if asked.restore_s is not None and asked.watchdog_s is None:
        raise SpecError(
            key="restore",
            what="it follows a watchdog, and there is none",
            remedy="give 'watchdog' as well",
        )
    if asked.watchdog_s is not None:
        pfc = replace(pfc, watchdog_ps=round(asked.watchdog_s * _PS))
    if asked.restore_s is not None:
        pfc = replace(pfc, restore_ps=round(asked.restore_s * _PS))
    return replace(
        found,
        pfc=pfc,
        lanes=found.lanes if asked.lanes is None else _lanes(asked.lanes),
        num_paths=_paths(asked, found),
        parameters=found.parameters if asked.parameters is None else _parameters(asked.parameters),
    )


def _with_switches(asked: Switches, settings: PacketSettings) -> PacketSettings:
    for name, controls in _GOES_WITH.items():
        if getattr(asked, name) is not None:
            _needs(written_name(name), settings, controls)
    if asked.flowlet_gap_s is not None and settings.balance != "flowlet":
        raise SpecError(
            key="flowlet_gap",
            what=f"{settings.balance} has no flowlets",
            remedy="choose flowlet, or leave it out",
        )
    if asked.hash_alike and settings.balance != "ecmp":
        raise SpecError(
            key="hash_alike",
            what=f"{settings.balance} does not hash",
            remedy="choose ecmp, or leave it out",
        )
    if asked.alpha is not None and asked.queue_bytes is not None:
        raise SpecError(
            key="alpha",
            what="a queue of fixed size takes no share",
            remedy="leave out 'alpha' or 'queue'",
        )
    switch = {name: getattr(asked, name) for name in ("alpha", "cut_through")}
    switch |= {name: _whole(getattr(asked, name)) for name in _SWITCH_BYTES}
    if asked.alpha is not None:
        switch["queue_bytes"] = 0  # a share in place of the technology's fixed bound
    switch["weights"] = asked.weights and {
        turn.priority: round(turn.weight_bytes) for turn in asked.weights
    }
    switch["flowlet_gap_ps"] = _whole(asked.flowlet_gap_s, times=_PS)
    pfc = {name: _whole(getattr(asked, name)) for name in ("headroom_bytes", "resume_bytes")}
    return replace(
        settings,
        switch=replace(settings.switch, seeds_equal=asked.hash_alike, **_given(switch)),
        pfc=replace(settings.pfc, **_given(pfc)),
    )


def _needs(name: str, settings: PacketSettings, controls: tuple[str, ...]) -> None:
    if settings.flow_control not in controls:
        raise SpecError(
            key=name,
            what=f"flow control {settings.flow_control} does not use it",
            remedy=f"choose {' or '.join(controls)}, or leave it out",
        )


def _whole(value: float | None, *, times: float = 1.0) -> int | None:
    return None if value is None else round(value * times)


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _paths(asked: PacketOptions, settings: PacketSettings) -> int:
    if asked.paths is None:
        return settings.num_paths
    if settings.spray == "fixed":
        raise SpecError(
            key="paths",
            what="senders do not spray",
            remedy="choose spray, bitmap, retiring or reps, or leave it out",
        )
    return asked.paths


def _parameters(asked: Mapping[str, float]) -> dict[str, float]:
    for name, value in asked.items():
        if name.endswith("_period_ps") and value < 1:
            raise SpecError(
                key=f"parameters.{name}", what=f"{value} is no period", remedy="give at least 1"
            )
    return dict(asked)


def _lanes(asked: Lanes) -> VirtualLanes:
    lane_of = dict(enumerate(asked.lane_of or ()))
    high = _table(asked.high)
    if asked.low is None:
        return VirtualLanes(lane_of=lane_of, high=high, high_limit=asked.high_limit)
    low = _table(asked.low)
    return VirtualLanes(lane_of=lane_of, high=high, low=low, high_limit=asked.high_limit)


def _table(entries: tuple[ArbitrationEntry, ...]) -> tuple[tuple[int, int], ...]:
    return tuple((entry.lane, entry.weight) for entry in entries)
