"""How far healing may go by itself: the ``heal`` section of a policy file."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, ValidationError

from netloom.errors import SpecError
from netloom.spec.compose import compose
from netloom.spec.nodes import MalformedError, plain
from netloom.spec.problems import explain, refusal
from netloom.spec.quantity import Share, TimeS
from netloom.spec.strict import Strict

__all__ = ["MAX_POLICY_BYTES", "HealPolicy", "Verb", "parse_policy"]

MAX_POLICY_BYTES: Final = 1 << 20

Verb = Literal[
    "drain",
    "shut",
    "reroute",
    "rebalance",
    "cordon",
    "fail-over",
    "repair-fib",
    "restart-job",
    "ticket",
]
Argument = Annotated[str, Field(min_length=1, max_length=1000)]
Command = Annotated[tuple[Argument, ...], Field(min_length=1, max_length=64, strict=False)]
Part = Annotated[Share, Field(ge=0, le=1)]
Span = Annotated[TimeS, Field(ge=0, le=30 * 86400)]


class HealPolicy(Strict):
    """What runs by itself, what asks, and what never happens.

    The limits on capacity and on the age of data hold even with consent. All defaults are assumed.
    """

    by_itself: Annotated[tuple[Verb, ...], Field(strict=False)] = Field(
        default=(), description="Acts that need no consent; all others ask"
    )
    most_capacity_away: Part = Field(
        default=0.1, description="Of all capacity between switches, down or drained at once"
    )
    most_uplinks_away: Part = Field(default=0.5, description="The same, of any one switch's own")
    most_nodes: Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        default=1, description="Machines that one plan may take from jobs without asking"
    )
    most_nodes_away: Part = Field(
        default=0.1,
        description="Of all machines, cordoned at once by anyone, where a scheduler is asked",
    )
    most_acts: Annotated[int, Field(ge=0, le=1000)] = Field(
        default=4, description="Plans carried out in one run; the others wait for the next"
    )
    most_slowdown: Part = Field(
        default=0.05,
        description=(
            "How much longer a step of the job may take by a plan's prediction without asking; "
            "trial flows where there is no job"
        ),
    )
    least_confidence: Part = Field(
        default=0.9, description="Findings that are less certain than this ask"
    )
    most_age_s: Span = Field(default=60.0, description="Older observations are not acted on")
    quiet_s: Span = Field(
        default=600.0, description="After an act on a part, the next on it asks for so long"
    )
    commands: dict[Literal["cordon", "uncordon", "restart-job", "check-job"], Command] = Field(
        default={},
        description=(
            "Programs that do what the network cannot: arguments, {node} for the number; check-job "
            "succeeds once the job has made progress without the machine"
        ),
    )


def parse_policy(text: str, *, name: str) -> HealPolicy:
    """Return the policy in a YAML or JSON text; it stands under the key ``heal``.

    Raises:
        SpecError: the text is wrong; the message lists every problem, with its line and remedy.
    """
    try:
        root, problems = compose(text)
    except MalformedError as error:
        raise refusal(name, [error.problem]) from error
    section = root.child("heal")
    if section is None or not isinstance(section.value, dict):
        raise SpecError(
            file=name,
            what="has no section 'heal'",
            remedy="write one, such as heal: {by_itself: [reroute]}",
        )
    try:
        policy = HealPolicy.from_file(plain(section))
    except ValidationError as error:
        raise refusal(name, [*problems, *explain(error, section, HealPolicy)]) from error
    if problems:
        raise refusal(name, problems)
    return policy
