"""``netloom serve``: the web workbench."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from netloom.cli.output import announce as say
from netloom.errors import SpecError

if TYPE_CHECKING:
    from netloom.web.run import Started

__all__ = ["serve"]


def serve(  # noqa: PLR0913  (one option of the command each)
    *,
    example: Annotated[bool, Parameter(negative=())] = False,
    store: Path | None = None,
    scenario: Path | None = None,
    lab: str = "",
    labs: Annotated[Path | None, Parameter(name="--dir")] = None,
    inventory: Path | None = None,
    names: Path | None = None,
    ports: Path | None = None,
    policy: Path | None = None,
    watch: Annotated[bool, Parameter(negative=())] = False,
    every: str = "10s",
    alertmanager: str = "",
    folder: Path | None = None,
    port: int = 8787,
    listen: str = "127.0.0.1",
    tls: tuple[Path, Path] | None = None,
    behind_proxy: bool = False,
    user_header: str = "",
    operator: tuple[str, ...] = (),
    host: tuple[str, ...] = (),
    embed: tuple[str, ...] = (),
    token_file: Path | None = None,
    data: Path | None = None,
    jobs: int = 1,
    keep: str = "90d",
    browser: Annotated[bool, Parameter(negative="--no-browser")] = True,
) -> int:
    """Open the web workbench: design, simulate, watch and heal on one page.

    It prints an address with a token that works once, and runs until it is interrupted.

    Args:
        example: Show the tour: a simulated day of faults on a fabric of 1,024 GPUs.
        store: What a watch stores; shown live beside the design of --scenario (default: that of
            --lab).
        scenario: The scenario that the watch was started with.
        lab: Name of a lab: its watch is shown, and cases can be healed by a click.
        labs: Where labs are kept (default: $XDG_STATE_HOME/netloom/labs); with --inventory, where
            its log, plans and tickets are.
        inventory: Likewise the devices of this file; those with write: true may be changed.
        names: A CSV file with the columns name and device: what real devices are called here.
        ports: A CSV file with the columns device, label and port: our numbers of real ports.
        policy: A YAML file with a section 'heal': what may be done (docs/operate/heal.md).
        watch: Start the watch too, in a process of its own that ends with this one.
        every: From the start of one look of that watch to that of the next.
        alertmanager: URL of the Alertmanager that cases can be silenced in.
        folder: Scenarios to show and to write.
        port: Where it listens; 0 for a free one.
        listen: The address to bind; beyond this machine only with --tls or --behind-proxy.
        tls: A certificate and its key, PEM files.
        behind_proxy: A proxy in front does TLS and names users.
        user_header: The header in which the proxy names the user.
        operator: A user of the proxy that may change things; all others only look.
        host: A further name, with its port, that browsers call it by.
        embed: The origin of a notebook that may show pages in a frame, such as
            http://localhost:8888; the author of that page can have operators click.
        token_file: Lines of role (viewer, operator), name and token; mode 0600.
        data: Where jobs, results and the audit are kept (default: $XDG_STATE_HOME/netloom/serve).
        jobs: How many jobs run at a time.
        keep: How long jobs and their results are kept after they ended.
        browser: Open the page in a browser.
    """
    try:
        from netloom.web import serve as run  # noqa: PLC0415  (an extra)
        from netloom.web.settings import ServeSettings  # noqa: PLC0415
    except ImportError as error:
        raise SpecError(
            what=f"{error.name} is not installed", remedy="pip install 'netloom[web]'"
        ) from None
    certificate, key = tls or (None, None)
    settings = ServeSettings(
        listen=listen,
        port=port,
        certificate=certificate,
        key=key,
        behind_proxy=behind_proxy,
        user_header=user_header,
        operators=operator,
        hosts=host,
        embed=embed,
        token_file=token_file,
        folder=folder,
        data=data,
        num_workers=jobs,
        keep=keep,
        example=example,
        store=store,
        scenario=scenario,
        lab=lab,
        labs=labs,
        inventory=inventory,
        names=names,
        ports=ports,
        policy=policy,
        watch=watch,
        every=every,
        alertmanager=alertmanager,
    )

    def announce(started: Started) -> None:
        say(started.entrance)
        if browser:
            webbrowser.open(started.entrance)

    run(settings, announce=announce)
    return 0
