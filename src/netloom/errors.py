"""Every exception netloom raises on purpose.

Catch :class:`NetloomError` to catch them all. The subclasses say who can fix it. Each carries its
:attr:`~NetloomError.problems` as data: where the trouble is, what it is, and what to do about it;
``str(error)`` is their text, made here and nowhere else.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "CatalogError",
    "InfeasibleError",
    "LabError",
    "NetloomError",
    "OutputError",
    "Problem",
    "SpecError",
    "Where",
    "at",
    "place_called",
]

MAX_SHOWN: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """The place of a problem; what is not known of it is empty, or 0.

    Attributes:
        file: The file, as the user named it.
        line: The line in it, from 1.
        column: The column, from 1.
        key: The path of keys to the value, such as ``job.training.global_batch``.
        option: The option of the command line, such as ``--seed``.
    """

    file: str = ""
    line: int = 0
    column: int = 0
    key: str = ""
    option: str = ""

    def __str__(self) -> str:
        """Return the place as a message opens with it; empty when nothing is known."""
        return ": ".join(part for part in (self._spot(), self.option, self.key) if part)

    def to_json(self) -> dict[str, str | int]:
        """Return the fields by name."""
        return asdict(self)

    def inside(self, outer: Where) -> Where | None:
        """Return this place seen from *outer*, which holds it; None when no one place says both.

        A key continues the outer one. A place in another file, or an option, is not inside.
        """
        if self.file or self.option:
            return self if outer in (Where(), Where(file=self.file)) else None
        lined = self if self.line else outer
        key = _joined(outer.key, self.key)
        return replace(outer, line=lined.line, column=lined.column, key=key)

    def _spot(self) -> str:
        if not self.file:
            return f"line {self.line}" if self.line else ""
        numbers = [self.line, self.column] if self.column else [self.line] if self.line else []
        return ":".join([self.file, *map(str, numbers)])


def _joined(outer: str, inner: str) -> str:
    """Return the key *inner* below *outer*; it may repeat *outer*, or the last name of it."""
    if inner == outer or inner.startswith((f"{outer}.", f"{outer}[")):
        return inner
    last = outer.rpartition(".")[2]
    if outer and (inner == last or inner.startswith((f"{last}.", f"{last}["))):
        return outer.removesuffix(last) + inner
    return ".".join(part for part in (outer, inner) if part)


def place_called(name: str) -> Where:
    """Return the place that a caller named: an option when it opens with ``--``, else a key."""
    return Where(option=name) if name.startswith("--") else Where(key=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong.

    Attributes:
        where: Its place.
        what: What is wrong there.
        remedy: What to do about it; empty when that is plain, or not known.
    """

    where: Where = Where()
    what: str
    remedy: str = ""

    @classmethod
    def of_message(cls, message: str, *, where: Where = Where()) -> Problem:  # noqa: B008  (frozen)
        """Return the problem that a whole *message* states: a remedy stands behind its last ``;``.

        This is for words that come as one text; where the parts are known, give them as fields.
        """
        what, _, remedy = message.rpartition("; ")
        return cls(where=where, what=what, remedy=remedy) if what else cls(where=where, what=remedy)

    def __str__(self) -> str:
        """Return ``where: what; remedy``."""
        said = f"{self.what}; {self.remedy}" if self.remedy else self.what
        place = str(self.where)
        return f"{place}: {said}" if place else said

    def to_json(self) -> dict[str, object]:
        """Return the fields by name."""
        return {"where": self.where.to_json(), "what": self.what, "remedy": self.remedy}

    def inside(self, outer: Where) -> Problem:
        """Return this problem seen from *outer*.

        A place of its own that *outer* does not hold (another file) becomes part of the words.
        """
        where = self.where.inside(outer)
        if where is not None:
            return replace(self, where=where)
        return replace(self, where=outer, what=f"{self.where}: {self.what}")


class NetloomError(Exception):
    """Base class of the errors that netloom raises on purpose.

    Raise one with its fields, or with one text where the place is not known::

        raise SpecError(key="job.model", what="is empty", remedy="write a name")
        raise LabError("ibsim does not run; bring the lab up again")

    Attributes:
        kind: Who can fix it, as JSON says it.
        problems: What is wrong; one or more.
    """

    kind: ClassVar[str] = "error"
    problems: tuple[Problem, ...]

    def __init__(  # noqa: PLR0913  (the fields of a problem, by name)
        self,
        message: str = "",
        *,
        what: str = "",
        remedy: str = "",
        where: Where | None = None,
        key: str = "",
        option: str = "",
        file: str = "",
        line: int = 0,
    ) -> None:
        where = where or Where(file=file, line=line, key=key, option=option)
        if what:
            problem = Problem(where=where, what=what, remedy=remedy)
        else:
            problem = Problem.of_message(message, where=where)
        super().__init__(str(problem))
        self.problems = (problem,)

    @classmethod
    def of(cls, *problems: Problem) -> Self:
        """Return the error of *problems*, one or more."""
        error = cls()
        error.problems = problems
        error.args = (str(error),)
        return error

    def __str__(self) -> str:
        """Return a line a problem, at most 20 of them."""
        lines = [str(problem) for problem in self.problems[:MAX_SHOWN]]
        if len(self.problems) > MAX_SHOWN:
            file = self.problems[0].where.file or "scenario"
            lines.append(f"{file}: and {len(self.problems) - MAX_SHOWN} problems more")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        """Return what a worker process sends home: the class and the problems."""
        return type(self).of, self.problems

    def inside(self, outer: Where) -> Self:
        """Return the same error with every problem seen from *outer*."""
        return type(self).of(*(problem.inside(outer) for problem in self.problems))


class SpecError(NetloomError):
    """The scenario is wrong; the message names the field, the value and the remedy."""

    kind = "spec"


class CatalogError(NetloomError):
    """A catalogue file is wrong, or it has no part of the name that was asked for."""

    kind = "catalog"


class InfeasibleError(NetloomError):
    """The scenario is well formed, but no such network or job can exist."""

    kind = "infeasible"


class OutputError(NetloomError):
    """A result could not be written or handed on; the message says what is in the way."""

    kind = "output"


class LabError(NetloomError):
    """A program or the machine it runs on failed us; the message says which, and what to do."""

    kind = "lab"


@contextmanager
def at(name: str = "", *, file: str = "", line: int = 0) -> Iterator[None]:
    """Place every error raised inside: at a key or an option called *name*, or in a file."""
    outer = replace(place_called(name), file=file, line=line)
    try:
        yield
    except NetloomError as error:
        raise error.inside(outer) from error
