"""Hold the network as built to the network as designed."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from netloom.app.designs import design_of
from netloom.app.lab.rates import lab_rates
from netloom.app.lab.store import lab_folder
from netloom.app.watch import targets
from netloom.app.watch.built_files import built_from
from netloom.errors import SpecError
from netloom.ops.observe.audit import audit as compare
from netloom.ops.observe.naming import Naming

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.ops.observe.audit import Audit
    from netloom.ops.observe.compare import Built
    from netloom.ops.observe.designed import Designed
    from netloom.ops.plant import Cable
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario

__all__ = ["audit"]


def audit(
    scenario: Scenario | Designed,
    *,
    source: Path | None = None,
    lab: str = "",
    folder: Path | None = None,
    naming: Naming | None = None,
    catalog: Catalog | None = None,
) -> Audit:
    """Return the cables that are missing, too many, swapped, misplaced or of the wrong speed.

    Looks at *source*, at a lab, or else at the InfiniBand network of this machine.

    >>> import netloom as nl
    >>> found = audit(nl.load("cluster.yaml"), source=Path("ibnetdiscover.txt"))  # doctest: +SKIP
    >>> [one.text for one in found.differences]  # doctest: +SKIP

    Args:
        scenario: What the network should be; only the cluster matters.
        source: What ``ibnetdiscover`` or ``iblinkinfo -l`` printed, a CSV file of cables, or a
            folder with what ``lldpctl -f json0`` printed on each device.
        lab: Name of the lab to look at.
        folder: Where labs are kept; default: ``$XDG_STATE_HOME/netloom/labs``.
        naming: What devices and ports are called there; default: netloom's own names.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.

    Raises:
        SpecError: it is not said where to look, or that cannot be read.
        LabError: the network cannot be seen.
    """
    designed = design_of(scenario, catalog)
    if source is not None and lab:
        raise SpecError(what="--from and --lab: both say where to look", remedy="give one of them")
    built, rate_bps = _built(designed, source, lab, folder, naming or Naming())
    return compare(
        designed.plant,
        built,
        racks=designed.racks,
        label=designed.label,
        rate_bps=rate_bps,
    )


def _built(
    designed: Designed, source: Path | None, lab: str, folder: Path | None, naming: Naming
) -> tuple[Built, Callable[[Cable], float]]:
    """Return the network as built, and what its cables should run at."""
    if lab:
        place = lab_folder(lab, folder)
        rates = lab_rates(designed.plant, is_infiniband=designed.is_infiniband)
        return targets.built_in_lab(place, designed), rates
    if source is not None:
        return built_from(source, naming), _designed_rate_bps
    if not designed.is_infiniband:
        raise SpecError(
            what="an Ethernet network cannot be seen from one machine",
            remedy="give --from or --lab",
        )
    with tempfile.TemporaryDirectory(prefix="netloom-") as scratch:
        return targets.built_here(naming, Path(scratch)), _designed_rate_bps


def _designed_rate_bps(cable: Cable) -> float:
    return cable.rate_bps
