"""One job: what was asked, by whom, and how far it is."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ENDED", "JobLimits", "JobRecord", "JobRequest", "JobState"]

JobState: TypeAlias = Literal["waiting", "running", "done", "failed", "stopped"]
ENDED: Final = frozenset({"done", "failed", "stopped"})
MAX_ABOUT: Final = 80
# A line of YAML or JSON; a job is listed often, and its text is not read again for that.
_NAME: Final = re.compile(r'^\s{0,2}"?name"?:[ \t]*([^\s#{][^#\n]*)', re.MULTILINE)
_MODEL: Final = re.compile(r'"?\bmodel"?:[ \t]*([^\s#{,}]+)')


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLimits:
    """What a job may take; None without a limit."""

    time_s: float | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """What a user asks for.

    Attributes:
        kind: The command's name, such as ``compare``.
        text: The scenario, YAML or JSON.
        options: The command's own, by name; checked when it is asked.
        by: Who asks.
        replaces: Waiting jobs that the same user asked with the same word give way to this one.
        limits: What it may take.
    """

    kind: str
    text: str
    options: Mapping[str, Any] = field(default_factory=dict)
    by: str = ""
    replaces: str = ""
    limits: JobLimits = JobLimits()

    @property
    def about(self) -> str:
        """The scenario's name, else its model's; empty where it has neither."""
        found = _NAME.search(self.text) or _MODEL.search(self.text)
        return found[1].strip(" \"',")[:MAX_ABOUT] if found else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """A request and what has become of it.

    Attributes:
        id: Its name, which never comes back.
        share: How much of it is done, 0 to 1; None where that is not known.
        message: Why it failed or was stopped.
        is_partial: Stopped, with what it had by then kept as its result.
    """

    id: str
    request: JobRequest
    state: JobState
    asked_s: float
    began_s: float | None = None
    ended_s: float | None = None
    share: float | None = None
    message: str = ""
    is_partial: bool = False

    @property
    def is_ended(self) -> bool:
        """Whether nothing more will come of it."""
        return self.state in ENDED

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/serve.md documents; the scenario is not among them."""
        return {
            "job": self.id,
            "kind": self.request.kind,
            "options": dict(self.request.options),
            "about": self.request.about,
            "state": self.state,
            "by": self.request.by,
            "asked_s": self.asked_s,
            "began_s": self.began_s,
            "ended_s": self.ended_s,
            "share": self.share,
            "message": self.message,
            "partial": self.is_partial,
        }
