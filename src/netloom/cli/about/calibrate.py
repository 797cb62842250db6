"""``netloom calibrate``: one's own GPU and one's own network."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from netloom.app import calibrate as calibrations
from netloom.cli.arguments import OptionalWhole
from netloom.cli.options import Output, PageOutput
from netloom.cli.progress import reporting
from netloom.cli.scenario import scenario_at
from netloom.cli.show import show
from netloom.report.calibrate.page import calibration_page
from netloom.report.calibrate.text import calibration_text

__all__ = ["calibrate"]

calibrate = App(
    name="calibrate",
    help="Calibrate to your own GPU and your own network; both write one file of parts.",
    default_parameter=Parameter(negative=()),
)


@calibrate.command
def gpu(
    *,
    out: Path = Path("gpu-calibration.csv"),
    quick: bool = False,
    minutes: float = 10.0,
    catalog: Path | None = None,
    name: Annotated[str, Parameter(name="--gpu", show_default=False)] = "",
    output: Output = Output(),  # noqa: B008  (frozen)
) -> int:
    """Measure how long operators take on this machine's GPU, with PyTorch.

    Each result is added to the file as it is made: stop it whenever you like and start it again
    to go on.

    Args:
        out: Where to write, or to go on writing.
        quick: Measure a third of the shapes.
        minutes: Stop after this time.
        catalog: Also name that file as this GPU's in a TOML file of parts; the rest of it stays.
        name: The GPU as the catalogue calls it; default: the one that the driver's name means.
    """
    with reporting("measuring") as told:
        found = calibrations.gpu(
            out, quick=quick, minutes=minutes, catalog=catalog, name=name, on_progress=told
        )
    rest = f"; {found.left} shapes are left: run it again to go on" if found.left else ""
    named = f"\n{catalog} names it" if catalog is not None else ""
    return show(
        found, output, lambda: f"{found.measured} operators measured into {out}{rest}{named}"
    )


@calibrate.command
def network(
    *logs: Path,
    scenario: Path | None = None,
    node: Annotated[str, Parameter(show_default=False)] = "",
    technology: Annotated[str, Parameter(show_default=False)] = "",
    nodes: OptionalWhole = None,
    catalog: Path | None = None,
    output: PageOutput = PageOutput(),  # noqa: B008  (frozen)
) -> int:
    """Read start-up, ramp and shares of your network off logs that were taken on it.

    Logs are what nccl-tests, rccl-tests, OSU micro-benchmarks, perftest, sockperf, iperf3 and NCCL
    itself (NCCL_DEBUG=INFO) print. What they do not decide stays as shipped, and a command line
    that would decide it is printed.

    Args:
        logs: One or more files.
        scenario: A scenario file whose cluster it is; instead of --node and --technology.
        node: Catalogue name of the node; default: the one that the logs tell.
        technology: Catalogue name of the technology, likewise.
        nodes: Hosts of runs whose logs do not say on how many they ran.
        catalog: Write what was found to this TOML file of parts, which is read first where it is
            there; its own section is replaced, the rest stays.
    """
    with scenario_at(scenario) if scenario is not None else nullcontext() as asked:
        found = calibrations.network(
            logs,
            scenario=asked,
            node=node,
            technology=technology,
            nodes=nodes,
            catalog=catalog,
        )
    return show(
        found, output, lambda: calibration_text(found), page=lambda: calibration_page(found)
    )
