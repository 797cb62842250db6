"""How long one step of a scenario takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netloom.errors import InfeasibleError
from netloom.results.explained import Explained
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.step import predict as step_predict
from netloom.step.software import switches_of
from netloom.study.inputs import catalog_of, model_of
from netloom.study.networks import network_of
from netloom.study.predict.engines import engine_of
from netloom.study.predict.explain import explain_step
from netloom.study.predict.interval import interval_json, network_json
from netloom.study.predict.remedies import with_costs
from netloom.units import format_count

if TYPE_CHECKING:
    from netloom.engines.base import Engine
    from netloom.fabric.network import Network
    from netloom.parts.load import Catalog
    from netloom.parts.parts import Model
    from netloom.provenance import Why
    from netloom.spec.scenario import Scenario
    from netloom.step.model import Step

__all__ = ["Prediction", "predict", "step_on"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Prediction(Tabular, Explained):
    """One step of a scenario on its own technology.

    Attributes:
        seen: What of the collectives the engine looked at; empty where that is all of them.
    """

    scenario: Scenario
    network: Network
    step: Step
    seen: str = ""

    def __repr__(self) -> str:
        """Return one line."""
        where = (
            f"{format_count(self.network.design.num_gpus, 'GPU')}, {self.network.technology.name}"
        )
        what = f"step {self.step.duration_s:.4g} s, MFU {self.step.mfu:.1%}"
        return f"<Prediction {self.scenario.job.model} on {where}: {what}>"

    def explanations(self) -> dict[str, Why]:
        """Return how each number of the step came about."""
        return explain_step(self.step, self.network)

    def whole_explanation(self) -> Why:
        """Return how the step time came about, which all others rest on."""
        return self.step.why

    def table(self) -> Table:
        """Return where the step goes, one row a part."""
        parts = self.step.breakdown_s().items()
        return Table.from_rows(
            {"part": part, "time_s": time_s, "share": time_s / self.step.duration_s}
            for part, time_s in parts
        )

    def _published(self) -> dict[str, Any] | None:
        given = self.scenario.published
        if given is None:
            return None
        return {"mfu": given.mfu, "step_time_s": given.step_time_s, "source": given.source}

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        step, memory = self.step, self.step.memory
        return {
            "technology": self.network.technology.name,
            "gpus": self.network.design.num_gpus,
            "step_time_s": step.duration_s,
            "interval": interval_json(step),
            "network_interval": network_json(step),
            "mfu": step.mfu,
            "hfu": step.hfu,
            "tokens_per_s": step.tokens_per_s,
            "communication_share": step.communication_share,
            "exposed_share": step.exposed_share,
            "breakdown_s": step.breakdown_s(),
            "communication_s": {axis.value: t for axis, t in step.communication_s.items()},
            "memory_bytes": {
                **memory.parts_bytes(),
                "total": memory.total_bytes,
                "gaps": memory.slack * memory.total_bytes,
                "reserved": memory.reserved_bytes,
                "capacity": memory.capacity_bytes,
            },
            "software": {
                "name": step.practice.name,
                "title": step.practice.title,
                "default": self.scenario.job.software.name is None,
                "switches": switches_of(step.practice),
            },
            "tuning": self.scenario.job.trained.tuning.model_dump(mode="json"),
            **({"seen": self.seen} if self.seen else {}),
            "published": self._published(),
            "validity": step.validity.to_json(),
        }


def predict(
    scenario: Scenario,
    catalog: Catalog | None = None,
    *,
    engine: Engine | str = "analytic",
    seed: int = 0,
) -> Prediction:
    """Return one step of *scenario* on its own technology.

    >>> import netloom as nl
    >>> nl.predict(nl.example("gpt3-175b-1k")).step.duration_s  # doctest: +SKIP

    Args:
        scenario: What was asked for.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.
        engine: Asked for the step's collectives: ``analytic``, ``flow``, ``packet``, or an engine.
        seed: Which draw of the hash, for an engine named here that draws.

    Raises:
        NetloomError: a part is unknown, the network cannot be built, the parallelism does not
            multiply out, or the model does not fit.
    """
    parts = catalog or catalog_of(scenario)
    network = network_of(scenario.cluster, parts)
    model = model_of(scenario, parts)
    try:
        asked = engine_of(engine, seed=seed, fabric=scenario.cluster.fabric)
        step = step_on(network, scenario, model=model, engine=asked)
    except InfeasibleError as error:
        raise with_costs(error, scenario.job, model=model, network=network) from error
    seen = getattr(asked, "seen", "")
    return Prediction(scenario=scenario, network=network, step=step, seen=seen)


def step_on(network: Network, scenario: Scenario, *, model: Model, engine: Engine) -> Step:
    """Return one step of the scenario's job on *network*."""
    return step_predict.predict(scenario.job, model=model, network=network, engine=engine)
