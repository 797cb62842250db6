"""The knobs of a scenario's switches and NICs, and settings put onto it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from netloom.engines.packet.presets import settings_for
from netloom.errors import SpecError
from netloom.fabric.wire.lossless_ethernet import MARGIN
from netloom.spec.fabric.settings import OwnSettings
from netloom.spec.packets import PacketOptions, Switches, Weight
from netloom.spec.problems import did_you_mean
from netloom.spec.traffic import CollectiveTraffic
from netloom.study.headroom.budget import headroom
from netloom.study.lossless_settings import published
from netloom.study.networks import network_of
from netloom.study.simulate.choices import Choices
from netloom.study.tune.space import Knob, KnobSpace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario
    from netloom.study.headroom.budget import HeadroomBudget

__all__ = ["GROUPS", "needs_pauses", "own_settings_of", "settings_space", "with_values"]

GROUPS: Final = ("ecn", "dcqcn", "pfc", "weights", "qps", "chunk")
_USUAL: Final = ("ecn", "dcqcn", "pfc")
LEAST_PACKETS: Final = 4  # a queue that marks begin at
MAX_RATIO: Final = 32.0  # of Kmax over Kmin
LEAST_PMAX: Final = 0.005
ALPHAS: Final = (1 / 32, 4.0)  # as switches offer them, in powers of two
MAX_QPS: Final = 16
MAX_SLICES: Final = 16
# Of DCQCN: from an eighth of the published default to eight times it and a bit more.
_DCQCN: Final = {
    "gain": ("", 1 / 1024, 1 / 8, 1 / 256),
    "additive_of_line": ("", 1e-4, 3e-2, 1e-3),
    "increase_period_s": ("s", 10e-6, 500e-6, 55e-6),
    "cnp_interval_s": ("s", 2e-6, 200e-6, 50e-6),
}
_WEIGHT: Final = "weight_"
TURN_BYTES: Final = 65_536  # what a class of weight 1 may send in its turn


def settings_space(scenario: Scenario, catalog: Catalog, groups: Sequence[str] = ()) -> KnobSpace:
    """Return what may be turned in *scenario*, each range cut to where it makes sense.

    Marks come before pauses: Kmin stays under XOFF with every port congested, Kmax under XOFF of
    a port that is alone.

    Args:
        scenario: Its switches must have pauses.
        catalog: The parts.
        groups: Of :data:`GROUPS`; default: marks, pauses, and DCQCN where it runs.

    Raises:
        SpecError: a group is not known, or there is nothing to turn in it here.
    """
    for name in groups:
        if name not in GROUPS:
            raise SpecError(
                option="--over", what=f"{name!r} is not known", remedy=did_you_mean(name, GROUPS)
            )
    found = headroom(scenario, catalog)
    asked = groups or _usual(scenario, catalog)
    knobs: list[Knob] = []
    for name in asked:
        knobs += _KNOBS[name](scenario, found)
    return KnobSpace(knobs=tuple(knobs))


def _usual(scenario: Scenario, catalog: Catalog) -> tuple[str, ...]:
    technology = network_of(scenario.cluster, catalog).technology
    own = Choices(settings=scenario.cluster.fabric.settings or "").packet_settings(technology)
    marked = own.ecn is not None
    return tuple(
        name
        for name in _USUAL
        if (name != "dcqcn" or own.congestion_control == "dcqcn") and (name != "ecn" or marked)
    )


def _ecn(scenario: Scenario, found: HeadroomBudget) -> list[Knob]:
    del scenario
    settings, packet = found.settings, found.network.technology.payload_bytes
    marking = settings.marking
    highest = MARGIN * settings.xoff_at_bytes
    return [
        Knob(
            name="kmin_bytes",
            group="ecn",
            unit="B",
            low=min(LEAST_PACKETS * packet, highest / 2),
            high=highest,
            default=marking.kmin_bytes,
        ),
        Knob(
            name="kmax_ratio",
            group="ecn",
            unit="",
            low=1.0,
            high=MAX_RATIO,
            default=marking.kmax_bytes / max(marking.kmin_bytes, 1),
        ),
        Knob(name="pmax", group="ecn", unit="", low=LEAST_PMAX, high=1.0, default=marking.pmax),
    ]


def _dcqcn(scenario: Scenario, found: HeadroomBudget) -> list[Knob]:
    asked = scenario.cluster.fabric.settings
    technology = found.network.technology
    runs = Choices(settings=asked or "").packet_settings(technology).congestion_control
    if runs != "dcqcn":
        raise SpecError(
            option="--over", what=f"dcqcn: the NICs run {runs}", remedy="leave dcqcn out"
        )
    own = published(asked) if asked else None
    given: dict[str, float] = dict(own.parameters) if own else {}
    if "increase_period_ps" in given:
        given["increase_period_s"] = given["increase_period_ps"] * 1e-12
    if own and own.cnp_interval_s:
        given["cnp_interval_s"] = own.cnp_interval_s
    return [
        Knob(
            name=name, group="dcqcn", unit=unit, low=low, high=high, default=given.get(name, usual)
        )
        for name, (unit, low, high, usual) in _DCQCN.items()
    ]


def _pfc(scenario: Scenario, found: HeadroomBudget) -> list[Knob]:
    del scenario
    low, high = ALPHAS
    return [
        Knob(name="alpha", group="pfc", unit="", low=low, high=high, default=found.settings.alpha)
    ]


def _weights(scenario: Scenario, found: HeadroomBudget) -> list[Knob]:
    del found
    levels = sorted({piece.priority for piece in scenario.traffic or ()})
    if len(levels) < 2:
        raise SpecError(
            option="--over",
            what="weights: the traffic has one priority",
            remedy="give pieces of traffic priorities, or use --stages",
        )
    return [
        Knob(name=f"{_WEIGHT}{level}", group="weights", unit="", low=0.1, high=10.0, default=1.0)
        for level in levels[1:]
    ]


def _qps(scenario: Scenario, found: HeadroomBudget) -> list[Knob]:
    asked = scenario.cluster.fabric.settings
    own = published(asked).connections if asked else 0
    return [
        Knob(
            name="qps",
            group="qps",
            unit="",
            low=1,
            high=MAX_QPS,
            default=own or found.network.technology.flows_per_rank,
            is_whole=True,
        )
    ]


def _chunk(scenario: Scenario, found: HeadroomBudget) -> list[Knob]:
    del found
    pieces = scenario.traffic or ()
    rings = [one for one in pieces if isinstance(one, CollectiveTraffic) and _is_ring(one)]
    if not rings:
        raise SpecError(
            option="--over",
            what="chunk: there is no ring collective in the traffic",
            remedy="leave chunk out",
        )
    own = next((piece.slices for piece in rings if piece.slices), 1)
    return [
        Knob(
            name="slices",
            group="chunk",
            unit="",
            low=1,
            high=MAX_SLICES,
            default=own,
            is_whole=True,
        )
    ]


_KNOBS: Final = {
    "ecn": _ecn,
    "dcqcn": _dcqcn,
    "pfc": _pfc,
    "weights": _weights,
    "qps": _qps,
    "chunk": _chunk,
}


def _is_ring(piece: Any) -> bool:
    return (
        isinstance(piece, CollectiveTraffic)
        and piece.algorithm == "ring"
        and piece.operation in {"all-reduce", "all-gather", "reduce-scatter"}
    )


def own_settings_of(scenario: Scenario, values: Mapping[str, float]) -> OwnSettings:
    """Return *values*, by the names of knobs, as settings on top of what *scenario* has."""
    asked = scenario.cluster.fabric.settings
    base = asked.model_dump() if isinstance(asked, OwnSettings) else {"of": asked}
    numbers: dict[str, Any] = {key: value for key, value in base.items() if value is not None}
    kmin = values.get("kmin_bytes")
    if kmin is not None:
        numbers["kmin_bytes"] = float(round(kmin))
        numbers["kmax_bytes"] = float(round(kmin * values["kmax_ratio"]))
        numbers["pmax"] = round(values["pmax"], 4)
    for name in ("alpha", "cnp_interval_s"):
        if name in values:
            numbers[name] = values[name]
    if "qps" in values:
        numbers["qps"] = round(values["qps"])
    parameters = dict(numbers.get("parameters") or {})
    for name in ("gain", "additive_of_line"):
        if name in values:
            parameters[name] = values[name]
    if "increase_period_s" in values:
        parameters["increase_period_ps"] = round(values["increase_period_s"] * 1e12)
    if parameters:
        numbers["parameters"] = parameters
    return OwnSettings.of_numbers(**numbers)


def with_values(scenario: Scenario, values: Mapping[str, float]) -> Scenario:
    """Return *scenario* with the settings of a trial; with none as it is."""
    if not values:
        return scenario
    changed = scenario.with_settings(own_settings_of(scenario, values))
    weights = {name: value for name, value in values.items() if name.startswith(_WEIGHT)}
    if weights:
        changed = _with_weights(changed, weights)
    if "slices" in values and changed.traffic is not None:
        pieces = tuple(
            piece.model_copy(update={"slices": round(values["slices"])})
            if _is_ring(piece)
            else piece
            for piece in changed.traffic
        )
        changed = changed.model_copy(update={"traffic": pieces})
    return changed


def _with_weights(scenario: Scenario, weights: Mapping[str, float]) -> Scenario:
    levels = sorted({piece.priority for piece in scenario.traffic or ()})
    turns = tuple(
        Weight.model_construct(
            priority=level,
            weight_bytes=float(round(TURN_BYTES * weights.get(f"{_WEIGHT}{level}", 1.0))),
        )
        for level in levels
    )
    packets = scenario.packets or PacketOptions()
    switches = (packets.switches or Switches()).model_copy(update={"weights": turns})
    return scenario.model_copy(
        update={"packets": packets.model_copy(update={"switches": switches})}
    )


def needs_pauses(scenario: Scenario, catalog: Catalog) -> None:
    """Raise SpecError unless the technology has pauses, whose settings are searched for."""
    technology = network_of(scenario.cluster, catalog).technology
    control = settings_for(technology).flow_control
    if control != "pfc":
        raise SpecError(
            key="cluster.fabric.technology",
            what=f"{technology.name} has flow control {control}: there is nothing to tune",
            remedy="use one with pauses, such as rocev2-400g",
        )
