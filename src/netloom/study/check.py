"""Whether a scenario holds: everything that the commands which take it would refuse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netloom.errors import NetloomError
from netloom.results.envelope import error_json
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.spec.load import load
from netloom.spec.scenario import Scenario
from netloom.study.inputs import catalog_of
from netloom.study.networks import network_of
from netloom.study.predict.prediction import predict
from netloom.study.serving.inference import infer
from netloom.study.simulate.cost import cost_of
from netloom.study.simulate.run import case_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping

    from netloom.parts.load import Catalog

__all__ = ["ScenarioCheck", "check", "require_feasible"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioCheck(Tabular):
    """What is wrong with a scenario.

    Attributes:
        problems: Each with ``where``, ``what`` and ``remedy``, as docs/json.md says.
    """

    problems: tuple[dict[str, Any], ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is."""
        return not self.problems

    def table(self) -> Table:
        """Return a row for each problem."""
        return Table.from_rows(
            {**one["where"], "what": one["what"], "remedy": one["remedy"]} for one in self.problems
        )

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {"ok": self.ok, "problems": list(self.problems)}


def check(
    source: Scenario | str | os.PathLike[str] | Mapping[str, object],
    catalog: Catalog | None = None,
) -> ScenarioCheck:
    """Return what is wrong with a scenario; nothing is raised for it.

    >>> import netloom as nl
    >>> nl.check({"cluster": {"nodes": 0}}).ok
    False

    Args:
        source: A scenario, its file, or the same as a dict.
        catalog: The parts; default: the shipped ones and the scenario's own.
    """
    try:
        scenario = source if isinstance(source, Scenario) else load(source)
        require_feasible(scenario, catalog)
    except NetloomError as error:
        return ScenarioCheck(problems=tuple(error_json(error)["problems"]))
    return ScenarioCheck()


def require_feasible(scenario: Scenario, catalog: Catalog | None = None) -> None:
    """Raise all that predict, infer and simulate would, each where the scenario asks for it.

    Raises:
        NetloomError: a part is unknown, the network cannot be built, or a model does not fit.
    """
    parts = catalog or catalog_of(scenario)
    errors = [error for ask in _questions(scenario) if (error := _error_of(ask, scenario, parts))]
    if errors:
        every = dict.fromkeys(problem for error in errors for problem in error.problems)
        raise type(errors[0]).of(*every)


def _questions(scenario: Scenario) -> Iterator[Callable[[Scenario, Catalog], object]]:
    """Yield what can be asked of *scenario*."""
    if scenario.traffic is not None:
        yield _simulate
    given = scenario.job_given
    if given is not None and (scenario.serving is None or given.training is not None):
        yield predict
    if scenario.serving is not None:
        yield infer
    if given is None and scenario.traffic is None and scenario.jobs is None:
        yield _network


def _network(scenario: Scenario, catalog: Catalog) -> None:
    network_of(scenario.cluster, catalog)


def _simulate(scenario: Scenario, catalog: Catalog) -> None:
    cost_of(case_of(scenario, catalog), 0)


def _error_of(
    ask: Callable[[Scenario, Catalog], object], scenario: Scenario, catalog: Catalog
) -> NetloomError | None:
    try:
        ask(scenario, catalog)
    except NetloomError as error:
        return error
    return None
