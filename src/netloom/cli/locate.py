"""``netloom locate``."""

from __future__ import annotations

from pathlib import Path

__all__ = ["locate"]


def locate(
    scenario: Path,
    *,
    observations: Path,
    own: Path | None = None,
    json: bool = False,
) -> None:
    """Say which part of a fabric is broken, how sure that is, and who is hurt.

    Args:
        scenario: The scenario file that the fabric was built from.
        observations: A JSON file of flows, port counters and routes: docs/models/locate.md.
        own: A TOML file with parts and prices of your own.
        json: Print JSON; keys are documented in docs/json.md.
    """
    # Imported here: the help of the command needs none of it.
    from netloom.cli.output import emit_json  # noqa: PLC0415
    from netloom.cli.scenario import scenario_at  # noqa: PLC0415
    from netloom.errors import at  # noqa: PLC0415
    from netloom.fabric.build import build  # noqa: PLC0415
    from netloom.ops.locate.findings import find  # noqa: PLC0415
    from netloom.ops.locate.read import observations_of, parse_observed  # noqa: PLC0415
    from netloom.spec.files import read_text  # noqa: PLC0415
    from netloom.study.networks import network_of  # noqa: PLC0415
    from netloom.study.predict import catalog_of  # noqa: PLC0415

    text = read_text(observations, max_bytes=1 << 28, wanted="a JSON file of observations")
    with scenario_at(scenario) as asked:
        network = network_of(asked.cluster, catalog_of(asked, own))
        fabric = build(network.design, network.node, network.scale_up)
    with at(str(observations)):
        seen = observations_of(fabric, parse_observed(text, str(observations)))
    found = find(fabric, seen, network.technology)
    if json:
        emit_json({"findings": [finding.to_json() for finding in found]})
        return
    from rich.console import Console  # noqa: PLC0415

    from netloom.report.locate import findings_text  # noqa: PLC0415

    Console().print(findings_text(found, num_flows=len(seen)))
