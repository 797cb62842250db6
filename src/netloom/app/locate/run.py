"""Say which part of a network is broken: from a file, a lab, or what a watch has stored."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from netloom.app.designs import design_of
from netloom.app.lab.store import lab_folder
from netloom.app.locate.lab import observe
from netloom.app.records.stores import is_postgres, open_tables
from netloom.drivers.clock import Clock, WallClock
from netloom.errors import SpecError, at
from netloom.ops.locate.dead_ends import dead_ends, with_dead_ends
from netloom.ops.locate.findings import find_all
from netloom.ops.locate.network import DesignedNetwork
from netloom.ops.locate.read import observations_of, parse_observed
from netloom.ops.locate.shared_cause import with_shared_causes
from netloom.ops.observe.cases import Case, case_history, cases_in
from netloom.ops.observe.past import Past
from netloom.spec.files import read_text

if TYPE_CHECKING:
    from netloom.ops.heal.snapshot import Dispute, Snapshot
    from netloom.ops.locate.congested.report import Congestion
    from netloom.ops.locate.findings import Finding
    from netloom.ops.observe.designed import Designed
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario

__all__ = ["LocateReport", "StoredFindings", "locate"]

DAY_S: Final = 86_400.0
MAX_BYTES: Final = 1 << 28


@dataclass(frozen=True, slots=True, kw_only=True)
class LocateReport:
    """What is broken now.

    Attributes:
        findings: Most certain first.
        disputes: Parts on which sources disagree.
        doubts: What could not be found out, and why.
        num_flows: Flows and probes behind the findings.
        congestion: Links that queue, and by whose traffic; nothing is broken there.
    """

    findings: tuple[Finding, ...]
    disputes: tuple[Dispute, ...] = ()
    doubts: tuple[str, ...] = ()
    num_flows: int = 0
    congestion: tuple[Congestion, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "findings": [finding.to_json() for finding in self.findings],
            "disputes": [{"part": str(d.part), "says": list(d.says)} for d in self.disputes],
            "doubts": list(self.doubts),
            "congestion": [one.to_json() for one in self.congestion],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFindings:
    """What a watch has found.

    Attributes:
        cases: Each finding from its first to its last time.
        now_s: When this was asked.
        looked_s: When the watch looked last; None where the store does not tell.
        failing: Sources whose last look failed.
    """

    cases: tuple[Case, ...]
    now_s: float
    looked_s: float | None
    failing: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/watch.md documents."""
        return {
            "findings": [case.to_json() for case in self.cases],
            "looked_s": self.looked_s,
            "failing": list(self.failing),
        }


def locate(  # noqa: PLR0913  (each says where to look, or how)
    scenario: Scenario | Designed | None,
    *,
    observations: Path | None = None,
    lab: str = "",
    store: Path | str | None = None,
    folder: Path | None = None,
    catalog: Catalog | None = None,
    clock: Clock | None = None,
) -> LocateReport | StoredFindings:
    """Return which parts of a network are broken, how sure that is, and who is hurt.

    >>> import netloom as nl
    >>> report = locate(nl.load("cluster.yaml"), observations=Path("seen.json"))  # doctest: +SKIP
    >>> report.findings[0].part  # doctest: +SKIP

    Args:
        scenario: What the network should be; None will do for a *store*.
        observations: A JSON file of flows, port counters and routes: docs/models/locate.md.
        lab: Name of a lab to look at, live.
        store: The store of a watch, a file or postgresql://USER@HOST/DATABASE: what it has found
            in the last day.
        folder: Where labs are kept; default: ``$XDG_STATE_HOME/netloom/labs``.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.
        clock: Says until when the last day goes; default: this machine's.

    Raises:
        SpecError: not exactly one of *observations*, *lab* and *store* is given, or it is wrong.
        LabError: the lab cannot be looked at.
        OutputError: the store cannot be read.
    """
    if (observations is not None) + bool(lab) + (store is not None) != 1:
        message = (
            "say what to look at: --observations FILE, --lab NAME or --store FILE, one of them"
        )
        raise SpecError(message)
    if store is not None:
        now_s = (clock or WallClock()).now_s()
        return _stored(store, now_s)
    if scenario is None:
        raise SpecError(what="no scenario", remedy="give the one that the network was built from")
    designed = design_of(scenario, catalog)
    if observations is not None:
        return _from_file(observations, designed)
    technology = designed.network.technology
    return _report(observe(lab_folder(lab, folder), designed.fabric, technology))


def _stored(store: Path | str, now_s: float) -> StoredFindings:
    """Return the cases of a file, which is only read, or of a database, where no looks are."""
    start_s = now_s - DAY_S
    if is_postgres(str(store)):
        with open_tables(store) as tables:
            cases = case_history(tables, start_s)
        return StoredFindings(cases=cases, now_s=now_s, looked_s=None)
    cases = cases_in(Path(store), start_s=start_s)
    with Past(Path(store)) as past:
        polls = past.last_polls(now_s)
    return StoredFindings(
        cases=cases,
        now_s=now_s,
        looked_s=max((at_s for _, at_s, _ in polls), default=0.0),
        failing=tuple(name for name, _, error in polls if error),
    )


def _report(sight: Snapshot) -> LocateReport:
    return LocateReport(
        findings=sight.findings,
        disputes=sight.disputes,
        doubts=sight.doubts,
        num_flows=sight.num_flows,
        congestion=sight.congestion,
    )


def _from_file(path: Path, designed: Designed) -> LocateReport:
    text = read_text(path, max_bytes=MAX_BYTES, wanted="a JSON file of observations")
    with at(file=str(path)):
        observed = parse_observed(text, str(path))
        seen = observations_of(designed.fabric, observed)
        ends = tuple(dead_ends(_network(designed), observed))
    found, congestion = find_all(designed.fabric, seen, designed.network.technology)
    return LocateReport(
        findings=with_shared_causes(_network(designed), with_dead_ends(found, ends)),
        num_flows=len(observed.flows),
        congestion=congestion,
    )


def _network(designed: Designed) -> DesignedNetwork:
    return DesignedNetwork(
        fabric=designed.fabric, plant=designed.plant, rate_bps=lambda cable: cable.rate_bps
    )
