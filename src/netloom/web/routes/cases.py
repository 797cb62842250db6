"""Cases: one with its evidence, and what could be done about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starlette.concurrency import run_in_threadpool
from starlette.routing import Route

from netloom.app import records
from netloom.app.live.remedies import remedies_of
from netloom.web.asked import workbench_of
from netloom.web.replies import result_reply
from netloom.web.routes.live import twin_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from netloom.app.live.twin import LiveTwin
    from netloom.ops.observe.cases import Case

__all__ = ["ROUTES"]

NO_HANDS: Final = "this server has no lab or device to act on: it shows what would be done"


async def one(request: Request) -> Response:
    """Return a case with the numbers behind it."""
    twin, name = twin_of(request), request.path_params["case"]
    steps, healing = workbench_of(request).steps, workbench_of(request).healing

    def found() -> dict[str, object]:
        case = twin.case(name)
        predicted = {} if steps is None else steps.now()
        return (
            twin.case_json(case, twin.now())
            | {"series": twin.evidence(case), "acts": healing.acts_of(case) if healing else []}
            | {"people": _people(twin, case)}
            | {
                "step_designed_s": predicted.get("step_designed_s"),
                "step_now_s": predicted.get("step_predicted_s"),
            }
        )

    return result_reply("serve", await run_in_threadpool(found))


async def plan(request: Request) -> Response:
    """Return the remedies, each with the step that it would give."""
    twin, name = twin_of(request), request.path_params["case"]
    steps, healing = workbench_of(request).steps, workbench_of(request).healing

    def found() -> dict[str, object]:
        if healing is not None:
            return healing.plans_of(twin.case(name))
        remedies = [] if steps is None else remedies_of(twin, steps, twin.case(name))
        plans = [
            remedy.to_json() | {"fingerprint": "", "verdict": "refuse", "why": [NO_HANDS]}
            for remedy in remedies
        ]
        return {"plans": plans, "looking": False, "error": ""}

    return result_reply("serve", await run_in_threadpool(found))


def _people(twin: LiveTwin, case: Case) -> dict[str, object]:
    """Return who has seen a case, whose it is, and what was said about it."""
    told = records.show(twin.store, case.number).to_json()
    return {key: told[key] for key in ("acknowledged_by", "assigned_to", "remedy", "audit")}


ROUTES: Final = (
    Route("/cases/{case}", one),
    Route("/cases/{case}/plan", plan),
)
