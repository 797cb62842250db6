"""``netloom cases``: what people do about what a watch has found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from netloom.app import records as app
from netloom.cli.arguments import OptionalWhole
from netloom.cli.output import emit_json
from netloom.errors import SpecError

if TYPE_CHECKING:
    from netloom.app.records.desk import CaseStory

__all__ = ["cases"]

cases = App(
    name="cases",
    help="Acknowledge, assign and close what a watch found; declare maintenance; see who did what.",
    default_parameter=Parameter(negative=()),
)

Store = Annotated[str, Parameter(env_var="NETLOOM_STORE")]


@cases.command(name="list")
def list_(*, store: Store, since: str = "", json: bool = False) -> None:
    """List the cases that are open, and maintenance that is not over.

    Args:
        store: The file that a watch writes, or postgresql://USER@HOST/DATABASE.
        since: Also cases that were open so long ago or later: 1d, or 2027-01-31T22:00 (UTC).
        json: Print JSON; keys are documented in docs/operate/alerts.md.
    """
    found = app.list(store, since=since)
    if json:
        emit_json(found.to_json())
        return
    from netloom.report.ops.cases import list_text  # noqa: PLC0415  (JSON has no use for it)

    print(list_text(found.cases, found.windows))


@cases.command
def show(case: int, *, store: Store, json: bool = False) -> None:
    """Show a case: how sure it is, whom it hurts, the evidence, and all that was done about it.

    Args:
        case: Its number.
        store: The file that a watch writes, or postgresql://USER@HOST/DATABASE.
        json: Print JSON; keys are documented in docs/operate/alerts.md.
    """
    _print(app.show(store, case), json=json)


@cases.command
def ack(case: int, text: str = "", *, store: Store, by: str = "", json: bool = False) -> None:
    """Say that you have seen a case.

    Args:
        case: Its number.
        text: Words for others.
        store: The file that a watch writes, or postgresql://USER@HOST/DATABASE.
        by: Your name (default: the login).
        json: Print JSON; keys are documented in docs/operate/alerts.md.
    """
    _print(app.ack(store, case, by=by, text=text), json=json)


@cases.command
def assign(case: int, to: str, *, store: Store, by: str = "", json: bool = False) -> None:
    """Give a case to a person.

    Args:
        case: Its number.
        to: Whose it is from now on.
        store: The file that a watch writes, or postgresql://USER@HOST/DATABASE.
        by: Your name (default: the login).
        json: Print JSON; keys are documented in docs/operate/alerts.md.
    """
    _print(app.assign(store, case, to, by=by), json=json)


@cases.command
def comment(case: int, text: str, *, store: Store, by: str = "", json: bool = False) -> None:
    """Add words to a case.

    Args:
        case: Its number.
        text: The words.
        store: The file that a watch writes, or postgresql://USER@HOST/DATABASE.
        by: Your name (default: the login).
        json: Print JSON; keys are documented in docs/operate/alerts.md.
    """
    _print(app.comment(store, case, text, by=by), json=json)


@cases.command
def close(case: int, text: str = "", *, store: Store, by: str = "", json: bool = False) -> None:
    """Close a case; where the next look still finds it, that opens another.

    Args:
        case: Its number.
        text: Why.
        store: The file that a watch writes, or postgresql://USER@HOST/DATABASE.
        by: Your name (default: the login).
        json: Print JSON; keys are documented in docs/operate/alerts.md.
    """
    _print(app.close(store, case, by=by, text=text), json=json)


@cases.command
def maintain(  # noqa: PLR0913  (one option of the command each)
    part: str = "",
    *,
    store: Store,
    start: Annotated[str, Parameter(name="--from")] = "now",
    end: Annotated[str, Parameter(name="--to")] = "",
    by: str = "",
    reason: str = "",
    drained: bool = False,
    stop: Annotated[OptionalWhole, Parameter(name="--end")] = None,
    json: bool = False,
) -> None:
    """Declare that people work on a part: its cases are recorded, and alert no one.

    Args:
        part: Such as leaf:3, cable:40 or node:2; a device stands for its cables too.
        store: The file that a watch writes, or postgresql://USER@HOST/DATABASE.
        start: From when: 2027-01-31T22:00 (UTC), +30m, or now.
        end: Until when, likewise.
        by: Your name (default: the login).
        reason: What is done there.
        drained: Traffic was taken off it: sessions that are down there are no findings.
        stop: End the window of this number now, instead.
        json: Print JSON; keys are documented in docs/operate/alerts.md.
    """
    if bool(part) == (stop is not None):
        raise SpecError(
            what="maintenance is of a part, or ends",
            remedy="give a part with --to, or --end NUMBER",
        )
    found = app.maintain(
        store, part, start=start, end=end, by=by, why=reason, drained=drained, stop=stop
    )
    if json:
        emit_json(found.to_json())
        return
    from netloom.report.ops.cases import window_text  # noqa: PLC0415  (likewise)

    print(window_text(found))


@cases.command
def silence(  # noqa: PLR0913  (one option of the command each)
    case: int,
    *,
    store: Store,
    alertmanager: str,
    lasts: Annotated[str, Parameter(name="--for")] = "2h",
    reason: str = "",
    by: str = "",
    alertmanager_token: str = "",
    alertmanager_certificate: Path | None = None,
    json: bool = False,
) -> None:
    """Let Alertmanager tell no one of a case for a while; here it stays open.

    Args:
        case: Its number.
        store: The file that a watch writes, or postgresql://USER@HOST/DATABASE.
        alertmanager: URL of the Alertmanager.
        lasts: For how long.
        reason: In words.
        by: Your name (default: the login).
        alertmanager_token: Its token: a file of mode 600, or env:NAME.
        alertmanager_certificate: PEM file of the authority that it is certified by.
        json: Print JSON; keys are documented in docs/operate/alerts.md.
    """
    found = app.silence(
        store,
        case,
        alertmanager=alertmanager,
        lasts=lasts,
        by=by,
        why=reason,
        token=alertmanager_token,
        certificate=alertmanager_certificate,
    )
    if json:
        emit_json(found.to_json())
    else:
        print(f"silence {found.id} by {found.by}; end it with 'amtool silence expire {found.id}'")


@cases.command
def audit(*, store: Store, since: str = "7d", json: bool = False) -> None:
    """Show who did what, oldest first.

    Args:
        store: The file that a watch writes, or postgresql://USER@HOST/DATABASE.
        since: From how long ago: 7d, or from when: 2027-01-31T22:00 (UTC).
        json: Print JSON; keys are documented in docs/operate/alerts.md.
    """
    found = app.audit(store, since=since)
    if json:
        emit_json(found.to_json())
        return
    from netloom.report.ops.cases import audit_text  # noqa: PLC0415  (likewise)

    print(audit_text(found.lines))


@cases.command
def backup(to: Path, *, store: Store, json: bool = False) -> None:
    """Copy a watch's file as it is at one moment, while the watch goes on.

    Args:
        to: The copy, which must not be there yet.
        store: The file that a watch writes.
        json: Print JSON; keys are documented in docs/operate/alerts.md.
    """
    found = app.backup(store, to)
    emit_json(found.to_json()) if json else print(f"{found.file}: {found.num_bytes:,} bytes")


def _print(found: CaseStory, *, json: bool) -> None:
    if json:
        emit_json(found.to_json())
        return
    from netloom.report.ops.cases import story_text  # noqa: PLC0415  (likewise)

    print(story_text(found.case, found.state, found.lines))
