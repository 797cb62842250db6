"""``netloom heal``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from netloom.cli.arguments import OptionalWhole

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.app.heal.run import HealTarget
    from netloom.fabric.graph import Fabric
    from netloom.parts.load import Catalog
    from netloom.spec.heal import HealPolicy
    from netloom.spec.scenario import Scenario
    from netloom.study.whatif.failure import BaselineJob

__all__ = ["heal", "step_of"]


def heal(  # noqa: PLR0913  (one option of the command each)
    scenario: Path,
    *,
    lab: str,
    folder: Annotated[Path | None, Parameter(name="--dir")] = None,
    policy: Path | None = None,
    yes: bool = False,
    undo: OptionalWhole = None,
    watch_host: tuple[str, ...] = (),
    own: Path | None = None,
    json: bool = False,
) -> int:
    """Find what is broken in a lab, plan what to do, and do what policy allows.

    Nothing is done without a policy that allows it or --yes. Returns 1 when something was tried
    that did not help.

    Args:
        scenario: The scenario file that the lab was made from.
        lab: Name of the lab.
        folder: Where labs are kept; $XDG_STATE_HOME/netloom/labs without.
        policy: A YAML file with a section 'heal': docs/heal.md.
        yes: Carry out the plans that ask, too; never those that are refused.
        undo: Undo the act of this number in the log, such as a drain once the part is mended.
        watch_host: Hosts (nic:3) whose partitions must stay as they are; some of them without.
        own: A TOML file with parts of your own.
        json: Print JSON; keys are documented in docs/heal.md.
    """
    # Imported here: the help of the command needs none of it.
    from netloom.app.heal import run as healing  # noqa: PLC0415
    from netloom.app.lab.store import LabFolder, default_folder  # noqa: PLC0415
    from netloom.cli.output import emit_json  # noqa: PLC0415
    from netloom.cli.scenario import scenario_at  # noqa: PLC0415
    from netloom.study.inputs import catalog_of  # noqa: PLC0415

    allowed = _policy(policy)
    place = LabFolder.of(lab, folder or default_folder())
    if undo is not None:
        said = healing.release(place, allowed, undo)
        emit_json({"undone": undo, "says": said}) if json else print(said)
        return 0
    with scenario_at(scenario) as asked:
        intended = _intended(asked, catalog_of(asked, own))
    done = healing.heal(place, intended, allowed, yes=yes, watched=watch_host)
    if json:
        emit_json(done.to_json())
    else:
        from rich.console import Console  # noqa: PLC0415

        from netloom.report.ops.heal import heal_text  # noqa: PLC0415

        rows = [(step.plan, step.decision, step.outcome) for step in done.steps]
        Console().print(heal_text(rows, log=done.log, took_s=done.took_s))
    return int(
        any(step.outcome and step.outcome.result in ("undone", "stuck") for step in done.steps)
    )


def _intended(asked: Scenario, catalog: Catalog) -> HealTarget:
    """Return the network as designed, and how its job is judged where there is one."""
    from netloom.app.heal.run import HealTarget  # noqa: PLC0415
    from netloom.fabric.build import build  # noqa: PLC0415
    from netloom.study.networks import network_of  # noqa: PLC0415
    from netloom.study.whatif.failure import bench_of  # noqa: PLC0415

    if asked.job_given is None:
        network = network_of(asked.cluster, catalog)
        fabric = build(network.design, network.node, network.scale_up)
        return HealTarget(fabric=fabric, technology=network.technology, step_s=None)
    bench = bench_of(asked, catalog)
    return HealTarget(
        fabric=bench.fabric, technology=bench.network.technology, step_s=step_of(bench)
    )


def step_of(bench: BaselineJob) -> Callable[[Fabric], float] | None:
    """Return what tells how long the job's step takes on a fabric: for ever when it cannot run.

    None where it cannot run on the whole network either: such a job says nothing about a plan.
    """
    from netloom.errors import InfeasibleError, NetloomError  # noqa: PLC0415

    def step_s(fabric: Fabric) -> float:
        try:
            return bench.run(fabric, seed=bench.seeds[0]).duration_s
        except InfeasibleError:
            return float("inf")

    try:
        bench.run(bench.fabric, seed=bench.seeds[0])
    except NetloomError:
        return None
    return step_s


def _policy(path: Path | None) -> HealPolicy:
    from netloom.spec.files import read_text  # noqa: PLC0415
    from netloom.spec.heal import MAX_POLICY_BYTES, HealPolicy, parse_policy  # noqa: PLC0415

    if path is None:
        return HealPolicy()
    text = read_text(path, max_bytes=MAX_POLICY_BYTES, wanted="a YAML file with a policy")
    return parse_policy(text, name=str(path))
