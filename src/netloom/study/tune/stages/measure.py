"""One trial of service levels: the window of a step, packet by packet."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np
from pydantic import Field

from netloom.fabric.build import build
from netloom.fabric.wiring.built import wiring_of
from netloom.spec.strict import Strict
from netloom.study.inputs import catalog_of, model_of
from netloom.study.networks import network_of
from netloom.study.predict.prediction import predict
from netloom.study.simulate.as_deployed import as_deployed
from netloom.study.simulate.choices import Choices
from netloom.study.simulate.packet import PacketRunner
from netloom.study.tune.measure import jittered
from netloom.study.tune.stages.classes import classes_of
from netloom.study.tune.stages.window import ServiceLevels, stage_window

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.engines.packet.settings import PacketSettings
    from netloom.spec.scenario import Scenario
    from netloom.study.sweep.question import SweepRequest
    from netloom.study.tune.stages.window import StageWindow

__all__ = ["StageOptions", "measured_stages", "window_of"]

TURN_BYTES: Final = 65_536
_S: Final = 1e-12


class StageOptions(Strict):
    """What a trial of service levels is asked beside its scenario."""

    level: dict[str, int]
    weights: dict[int, float] = Field(default_factory=dict)
    slices: dict[str, int] = Field(default_factory=dict)
    qps: dict[str, int] = Field(default_factory=dict)
    jitter_s: Annotated[float, Field(ge=0, le=1)] = 0.0
    length: Annotated[float, Field(gt=0, le=64)] = 1.0


def measured_stages(asked: SweepRequest) -> dict[str, Any]:
    """Return how long the window of a step takes, and until when each class.

    Raises:
        NetloomError: the job cannot be run.
    """
    options = asked.options
    assert isinstance(options, StageOptions), options
    seed = asked.seed or 0
    window, runner = _prepared(asked.scenario.model_dump_json(), options.length, asked.scenario)
    levels = ServiceLevels(
        name="",
        level=options.level,
        weights=options.weights,
        slices=options.slices,
        qps=options.qps,
    )
    transfers = jittered(
        window.transfers(levels, np.random.default_rng(seed)),
        round(options.jitter_s / _S),
        np.random.default_rng([seed, 1]),
    )
    served = replace(runner, settings=_weighted(runner.settings, options.weights))
    delivery, _ = served.run(transfers, seed=seed, until_ps=None, on_progress=None)
    names = (*window.chain, *window.bulk)
    ends = {
        name: float(delivery.finish_ps[transfers.job == number].max(initial=0)) * _S
        for number, name in enumerate(names)
    }
    counted = delivery.counters
    links = float(delivery.simulated_ps) * len(delivery.link_bytes)
    return {
        "value": max(ends.values()),
        "ends": ends,
        "lost": counted.get("drops", 0) + counted.get("lost", 0),
        "pause_share": counted.get("pause_ps", 0) / max(links, 1.0),
        "data_packets": counted.get("data_packets", 0),
        "ended": not delivery.partial,
    }


@lru_cache(maxsize=2)
def _keyed(text: str, length: float) -> list[tuple[StageWindow, PacketRunner]]:
    """Return a place to keep what was prepared for a scenario."""
    del text, length
    return []


def _prepared(text: str, length: float, scenario: Scenario) -> tuple[StageWindow, PacketRunner]:
    kept = _keyed(text, length)
    if not kept:
        kept.append(_prepare(scenario, length))
    return kept[0]


def _prepare(scenario: Scenario, length: float) -> tuple[StageWindow, PacketRunner]:
    catalog = catalog_of(scenario)
    network = network_of(scenario.cluster, catalog)
    window = window_of(scenario, length)
    floor = scenario.cluster.fabric.floor
    fabric = build(network.design, network.node, network.scale_up)
    wiring = wiring_of(fabric, network, floor, scale_up=True)
    choices = Choices(settings=scenario.cluster.fabric.settings or "")
    settings = as_deployed(
        choices.packet_settings(network.technology), wiring, network, floor, has_own_marks=False
    )
    return window, PacketRunner(wiring=wiring, settings=settings)


def window_of(scenario: Scenario, length: float = 1.0) -> StageWindow:
    """Return the window of a scenario's step."""
    catalog = catalog_of(scenario)
    network = network_of(scenario.cluster, catalog)
    model = model_of(scenario, catalog)
    classes, plan = classes_of(scenario.job, model=model, network=network)
    return stage_window(classes, plan, predict(scenario, catalog).step, length=length)


def _weighted(settings: PacketSettings, weights: Mapping[int, float]) -> PacketSettings:
    if not weights:
        return settings
    turns = {level: max(64, round(TURN_BYTES * share)) for level, share in weights.items()}
    return replace(settings, switch=replace(settings.switch, weights=turns))
