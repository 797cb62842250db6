"""Where settings break: the same settings on more senders, load, distance, or a link less."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from netloom.spec.faults import LinkFault
from netloom.spec.traffic import Incast, OpenLoop
from netloom.study.simulate.packet import PacketRunner
from netloom.study.simulate.run import case_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario

__all__ = ["ScenarioVariation", "SettingsBreak", "variations_of"]

LOADS: Final = (0.5, 0.8, 0.95)
SIZES: Final = (4.0,)
SLACKS_M: Final = (50.0, 250.0, 1_000.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioVariation:
    """The scenario with one thing made worse.

    Attributes:
        what: Such as ``incast degree``.
        level: How far.
        unit: Of *level*; empty for a count.
    """

    what: str
    level: float
    unit: str
    scenario: Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsBreak:
    """The best settings against the default there.

    Attributes:
        gain: Share of the default's objective; None where one of them breaks a limit.
        broken: Which limits the best breaks there.
        default_broken: Which limits the default breaks there.
    """

    what: str
    level: float
    unit: str
    gain: float | None
    broken: tuple[str, ...]
    default_broken: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "what": self.what,
            "level": self.level,
            "unit": self.unit,
            "gain": self.gain,
            "broken": list(self.broken),
            "default_broken": list(self.default_broken),
        }


def variations_of(scenario: Scenario, catalog: Catalog) -> tuple[ScenarioVariation, ...]:
    """Return *scenario* with each thing that breaks settings made worse, step by step."""
    return (
        *_senders(scenario, catalog),
        *_loads(scenario),
        *_distances(scenario),
        *_failed(scenario, catalog),
    )


def _with_piece(scenario: Scenario, number: int, update: Mapping[str, Any]) -> Scenario:
    pieces = list(scenario.traffic or ())
    pieces[number] = pieces[number].model_copy(update=dict(update))
    return scenario.model_copy(update={"traffic": tuple(pieces)})


def _senders(scenario: Scenario, catalog: Catalog) -> Iterator[ScenarioVariation]:
    for number, piece in enumerate(scenario.traffic or ()):
        if not isinstance(piece, Incast):
            continue
        runner = case_of(scenario, catalog).runner
        assert isinstance(runner, PacketRunner), runner
        room = (runner.wiring.num_endpoints - piece.first) // piece.every
        most = min(room, piece.count or room) - 1
        now = piece.fan_in or most
        for degree in sorted({min(most, now * k) for k in (2, 4)} - {now}):
            yield ScenarioVariation(
                what="incast degree",
                level=degree,
                unit="",
                scenario=_with_piece(scenario, number, {"fan_in": degree}),
            )
        return


def _loads(scenario: Scenario) -> Iterator[ScenarioVariation]:
    for number, piece in enumerate(scenario.traffic or ()):
        if isinstance(piece, OpenLoop):
            for load in LOADS:
                if load != piece.load:
                    changed = _with_piece(scenario, number, {"load": load})
                    yield ScenarioVariation(what="load", level=load, unit="", scenario=changed)
            return
    for number, piece in enumerate(scenario.traffic or ()):
        if hasattr(piece, "size_bytes"):
            for times in SIZES:
                update = {"size_bytes": times * float(piece.size_bytes)}
                changed = _with_piece(scenario, number, update)
                yield ScenarioVariation(what="size", level=times, unit="x", scenario=changed)
            return


def _distances(scenario: Scenario) -> Iterator[ScenarioVariation]:
    """Give cables that are longer at each end; headroom grows with them, as ``deploy`` writes."""
    own = scenario.cluster.fabric.floor
    for slack_m in SLACKS_M:
        floor = own.model_copy(update={"slack_m": slack_m})
        fabric = scenario.cluster.fabric.model_copy(update={"floor": floor})
        cluster = scenario.cluster.model_copy(update={"fabric": fabric})
        yield ScenarioVariation(
            what="distance",
            level=2 * (slack_m - own.slack_m),
            unit="m",
            scenario=scenario.model_copy(update={"cluster": cluster}),
        )


def _failed(scenario: Scenario, catalog: Catalog) -> Iterator[ScenarioVariation]:
    if scenario.traffic is None:
        return
    runner = case_of(scenario, catalog).runner
    assert isinstance(runner, PacketRunner), runner
    wiring, grid = runner.wiring, runner.grid
    between = (
        (wiring.link_source >= wiring.num_endpoints)
        & (wiring.link_target >= wiring.num_endpoints)
        & ~wiring.link_scale_up
    )
    if not between.any():
        return
    number = int(between.argmax())
    part = grid.link(number).partition(" ")[0].replace("->", "-")
    fault = LinkFault(kind="down", part=part)
    faults = (*scenario.faults, fault)
    yield ScenarioVariation(
        what="failed link",
        level=1,
        unit="",
        scenario=scenario.model_copy(update={"faults": faults}),
    )
