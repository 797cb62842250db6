"""Acting on a case: approve a plan, take an act back, and what people say about it."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.routing import Route

from netloom.app import records
from netloom.results.envelope import error_envelope
from netloom.web.asked import address_of, body_of, limit, operator_of, text_in, workbench_of
from netloom.web.rates import ACTS, NOTES
from netloom.web.replies import HttpError, envelope_reply, result_reply
from netloom.web.routes.live import twin_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from starlette.requests import Request
    from starlette.responses import Response

    from netloom.app.jobs.job import JobRequest
    from netloom.app.live.healing import LiveHealing

__all__ = ["ROUTES"]

MAX_NAME: Final = 80
MAX_TEXT: Final = 2000
NO_HANDS: Final = "this server has no lab or device to act on"
STALE: Final = "the plan is stale: a fresh look leads to another one, or to none"


def healing_of(request: Request) -> LiveHealing:
    """Return what can act.

    Raises:
        HttpError: this server only shows.
    """
    found = workbench_of(request).healing
    if found is None:
        raise HttpError(
            HTTPStatus.CONFLICT, NO_HANDS, "start it with --lab NAME or --inventory FILE"
        )
    return found


async def apply(request: Request) -> Response:
    """Carry out the plan of a fingerprint, if a fresh look still leads to it."""
    who = operator_of(request).name[:MAX_NAME]
    healing, twin, name = healing_of(request), twin_of(request), request.path_params["case"]
    limit(request, ACTS)
    wanted = text_in(await body_of(request), "fingerprint")[:MAX_NAME]
    case = await run_in_threadpool(twin.case, name)
    _write(request, who, "apply", case=name, part=case.label, fingerprint=wanted)
    found = await run_in_threadpool(healing.fresh_plans_of, case)
    plan = next((one for one in found["plans"] if one["fingerprint"] == wanted), None)
    if plan is None:
        _write(request, who, "apply refused: stale", case=name, fingerprint=wanted)
        return _conflict(STALE, found)
    if plan["verdict"] == "refuse":
        _write(request, who, "apply refused: policy", case=name, fingerprint=wanted)
        return _conflict("; ".join(plan["why"]) or "policy refuses it", found)
    return await _asked(request, healing.apply_request(name, wanted, by=who))


async def undo(request: Request) -> Response:
    """Take an act back."""
    who = operator_of(request).name[:MAX_NAME]
    healing, number = healing_of(request), request.path_params["number"]
    limit(request, ACTS)
    _write(request, who, "undo", act=number)
    asked = await run_in_threadpool(lambda: healing.undo_request(number, by=who))
    return await _asked(request, asked)


async def ack(request: Request) -> Response:
    """Say that one has seen a case."""
    return await _said(
        request,
        "ack",
        ("text",),
        lambda at, number, by, told: records.ack(at, number, by=by, **told),
    )


async def assign(request: Request) -> Response:
    """Give a case to a person."""
    return await _said(
        request,
        "assign",
        ("to",),
        lambda at, number, by, told: records.assign(at, number, told["to"], by=by),
    )


async def comment(request: Request) -> Response:
    """Add words to a case."""
    return await _said(
        request,
        "comment",
        ("text",),
        lambda at, number, by, told: records.comment(at, number, told["text"], by=by),
    )


async def close(request: Request) -> Response:
    """Hold a case to be over."""
    return await _said(
        request,
        "close",
        ("text",),
        lambda at, number, by, told: records.close(at, number, by=by, **told),
    )


async def silence(request: Request) -> Response:
    """Let Alertmanager tell no one of a case for a while."""
    url = workbench_of(request).alertmanager
    if not url:
        raise HttpError(
            HTTPStatus.CONFLICT,
            "this server knows no Alertmanager",
            "start it with --alertmanager URL",
        )
    return await _said(
        request,
        "silence",
        ("lasts", "reason"),
        lambda at, number, by, told: records.silence(
            at, number, alertmanager=url, lasts=told["lasts"], why=told["reason"], by=by
        ),
    )


async def maintain(request: Request) -> Response:
    """Declare that people work on the part of a case."""
    twin, name = twin_of(request), request.path_params["case"]
    case = await run_in_threadpool(twin.case, name)
    return await _said(
        request,
        "maintain",
        ("lasts", "reason"),
        lambda at, _, by, told: records.maintain(
            at, str(case.part.whole), end=f"+{told['lasts']}", why=told["reason"], by=by
        ),
    )


async def _said(
    request: Request,
    what: str,
    keys: tuple[str, ...],
    act: Callable[[Path, int, str, dict[str, str]], Any],
) -> Response:
    """Let a person do something about a case in the watch's store, with a line of the audit."""
    who = operator_of(request).name[:MAX_NAME]
    twin, name = twin_of(request), request.path_params["case"]
    limit(request, NOTES)
    body = await body_of(request)
    told = {key: text_in(body, key, default="")[:MAX_TEXT] for key in keys}
    case = await run_in_threadpool(twin.case, name)
    _write(request, who, what, case=name, part=case.label)
    found = await run_in_threadpool(act, twin.store, case.number, who, told)
    workbench_of(request).hub.tell("case", {"case": name, "open": case.closed_s is None})
    return result_reply("serve", found.to_json())


async def _asked(request: Request, asked: JobRequest) -> Response:
    job = await run_in_threadpool(workbench_of(request).pool.ask, asked)
    return result_reply("serve", job.to_json(), status=HTTPStatus.ACCEPTED)


def _conflict(what: str, found: dict[str, Any]) -> Response:
    """Return the refusal, with the plans that there are now."""
    error = HttpError(HTTPStatus.CONFLICT, what, "look at the plans as they are now")
    envelope = error_envelope("serve", error) | {"result": found}
    return envelope_reply(envelope, status=HTTPStatus.CONFLICT)


def _write(request: Request, who: str, what: str, **more: Any) -> None:
    workbench_of(request).audit.write(who=who, address=address_of(request), what=what, **more)


ROUTES: Final = (
    Route("/cases/{case}/apply", apply, methods=["POST"]),
    Route("/acts/{number:int}/undo", undo, methods=["POST"]),
    Route("/cases/{case}/ack", ack, methods=["POST"]),
    Route("/cases/{case}/assign", assign, methods=["POST"]),
    Route("/cases/{case}/comment", comment, methods=["POST"]),
    Route("/cases/{case}/close", close, methods=["POST"]),
    Route("/cases/{case}/silence", silence, methods=["POST"]),
    Route("/cases/{case}/maintain", maintain, methods=["POST"]),
)
