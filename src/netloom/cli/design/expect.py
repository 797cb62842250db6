"""``netloom expect``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from netloom.app.expect import expect as expect_of
from netloom.cli.options import OwnParts, WhyPageOutput
from netloom.cli.scenario import scenario_at
from netloom.cli.show import show
from netloom.errors import SpecError
from netloom.study.inputs import catalog_of

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["expect"]


def expect(  # noqa: PLR0913  (one option of the command each)
    scenario: Path | None = None,
    *,
    collective: tuple[str, ...] = (),
    sizes: tuple[str, ...] = (),
    nodes: int | None = None,
    against: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)] = (),
    own: OwnParts = None,
    output: WhyPageOutput = WhyPageOutput(),  # noqa: B008  (frozen)
) -> int:
    """Say what nccl-tests should show on a cluster, and why it shows less.

    The scenario needs no job. Sizes outside what was validated say so.

    Args:
        scenario: A scenario file; default: the built-in example, 16,384 H100.
        collective: Which, such as all_reduce,all_gather; default: all_reduce. Of logs, which of
            theirs, and which it is where they do not say.
        sizes: As nccl-tests writes them: 64K,1M or 1M:8G; default: 1 KiB to 8 GiB.
        nodes: How many take part; default: all. Logs say it themselves.
        against: Logs of nccl-tests or rccl-tests, and of NCCL_DEBUG=INFO: what is below the
            expectation, and the likely cause.
    """
    if nodes is not None and nodes < 1:
        raise SpecError(option="--nodes", what=f"{nodes} take no part", remedy="give 1 or more")
    with scenario_at(scenario) as asked:
        found = expect_of(
            asked,
            catalog_of(asked, own),
            collectives=collective,
            sizes=sizes,
            num_nodes=nodes or 0,
            against=against,
        )

    def text() -> RenderableType:
        from netloom.report.expect.text import expectation_text  # noqa: PLC0415  (rich)

        return expectation_text(found)

    def page() -> str:
        from netloom.report.expect.page import expectation_page  # noqa: PLC0415  (jinja2)

        return expectation_page(found)

    return show(found, output, text, page=page)
