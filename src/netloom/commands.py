"""Every command, in one table: the command line and ``import netloom`` are both made from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, wraps
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "COMMANDS",
    "Command",
    "CommandActs",
    "callable_of",
    "command_in",
    "command_named",
    "taking_paths",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command; paths are ``module:function``, imported when first used.

    Attributes:
        name: As a user types it, and as it is called in Python: ``nl.NAME``.
        run: What the command line runs.
        call: What ``nl.NAME`` is; of a command with acts, the module that has a function for each.
        help: The line that ``netloom --help`` shows.
        acts: What stands behind the name, such as ``write`` of ``netloom trace write``.
        job: How it runs as a job of ``netloom serve`` (a ``JobKind``); empty where it does not.
    """

    name: str
    run: str
    call: str
    help: str
    acts: tuple[str, ...] = ()
    job: str = ""

    @property
    def full_names(self) -> tuple[str, ...]:
        """The name, once for each act."""
        return tuple(f"{self.name} {act}" for act in self.acts) or (self.name,)


COMMANDS: Final = (
    Command(
        name="compare",
        run="netloom.cli.design.compare:compare",
        call="netloom.study.compare.comparison:compare",
        help="Compare network technologies and recommend one.",
        job="netloom.app.jobs.design_kinds:COMPARE",
    ),
    Command(
        name="predict",
        run="netloom.cli.design.predict:predict",
        call="netloom.study.predict.prediction:predict",
        help="Predict one training step, and where time goes.",
        job="netloom.app.jobs.design_kinds:PREDICT",
    ),
    Command(
        name="explain",
        run="netloom.cli.design.explain:explain",
        call="netloom.app.explain:explain",
        help="Say why a measured step takes as long as it does.",
    ),
    Command(
        name="plan",
        run="netloom.cli.design.plan:plan",
        call="netloom.app.plan:plan",
        help="Find the best parallelism, and the best cluster.",
        job="netloom.app.jobs.design_kinds:PLAN",
    ),
    Command(
        name="infer",
        run="netloom.cli.design.infer:infer",
        call="netloom.study.serving.inference:infer",
        help="Predict how fast a cluster serves a model.",
        job="netloom.app.jobs.design_kinds:INFER",
    ),
    Command(
        name="goodput",
        run="netloom.cli.design.goodput:goodput",
        call="netloom.study.goodput.uptime:goodput",
        help="Say how much of the time a job progresses.",
        job="netloom.app.jobs.design_kinds:GOODPUT",
    ),
    Command(
        name="expect",
        run="netloom.cli.design.expect:expect",
        call="netloom.app.expect:expect",
        help="Say what nccl-tests should show, and what is wrong.",
    ),
    Command(
        name="locate",
        run="netloom.cli.operate.locate:locate",
        call="netloom.app.locate:locate",
        help="Say which part of a fabric is broken.",
    ),
    Command(
        name="whatif",
        run="netloom.cli.design.whatif:whatif",
        call="netloom.study.whatif.failure:whatif",
        help="Say what a failed or slow part does to a step.",
        job="netloom.app.jobs.design_kinds:WHATIF",
    ),
    Command(
        name="span",
        run="netloom.cli.design.span:span",
        call="netloom.study.span.spanning:span",
        help="Train across sites: which placement, line, how far.",
        job="netloom.app.jobs.design_kinds:SPAN",
    ),
    Command(
        name="share",
        run="netloom.cli.design.share:share",
        call="netloom.study.whatif.share:share",
        help="Say how much jobs on one fabric slow one another.",
        job="netloom.app.jobs.design_kinds:SHARE",
    ),
    Command(
        name="place",
        run="netloom.cli.design.place:place",
        call="netloom.study.whatif.place:place",
        help="Find the free nodes on which a job runs fastest.",
    ),
    Command(
        name="heal",
        run="netloom.cli.operate.heal:heal",
        call="netloom.app.heal:heal",
        help="Repair what is broken in a lab, as policy allows.",
    ),
    Command(
        name="roll",
        run="netloom.cli.operate.roll:roll",
        call="netloom.app.roll:roll",
        help="Plan a rolling drain, and what the job loses.",
    ),
    Command(
        name="size",
        run="netloom.cli.design.size:size",
        call="netloom.study.size.sizing:size",
        help="Size a network: switches, cables, cost and power.",
        job="netloom.app.jobs.design_kinds:SIZE",
    ),
    Command(
        name="headroom",
        run="netloom.cli.design.headroom:headroom",
        call="netloom.study.headroom.budget:headroom",
        help="Say what buffer pauses need, and what breaks first.",
        job="netloom.app.jobs.design_kinds:HEADROOM",
    ),
    Command(
        name="tune",
        run="netloom.cli.design.tune:tune",
        call="netloom.app.tune:tune",
        help="Find the right settings of switches, NICs and classes.",
        job="netloom.app.jobs.design_kinds:TUNE",
    ),
    Command(
        name="sweep",
        run="netloom.cli.design.sweep:sweep",
        call="netloom.app.sweep.run:sweep",
        help="Put one question to many scenarios, and keep answers.",
    ),
    Command(
        name="catalog",
        run="netloom.cli.about.catalog:catalog",
        call="netloom.study.catalogue:catalog",
        help="Show known parts, every number with its source.",
    ),
    Command(
        name="validate",
        run="netloom.cli.about.validate:validate",
        call="netloom.validation.validate:validate",
        help="Score the model on published measurements.",
    ),
    Command(
        name="calibrate",
        run="netloom.cli.about.calibrate:calibrate",
        call="netloom.app.calibrate",
        help="Calibrate to your own GPU and your own network.",
        acts=("gpu", "network"),
    ),
    Command(
        name="trace",
        run="netloom.cli.design.trace:trace",
        call="netloom.app.trace",
        help="Write a step as Chakra traces, or read such traces.",
        acts=("write", "read"),
    ),
    Command(
        name="convert",
        run="netloom.cli.design.convert:convert",
        call="netloom.app.convert.run:convert",
        help="Turn a framework's script or recipe into a scenario.",
    ),
    Command(
        name="deploy",
        run="netloom.cli.operate.deploy:deploy",
        call="netloom.app.deploy",
        help="Write a network's configuration, check and apply it.",
        acts=("render", "check", "plan", "apply", "ztp"),
    ),
    Command(
        name="lab",
        run="netloom.cli.operate.lab:lab",
        call="netloom.app.lab",
        help="Run a scenario's network live here, and break it.",
        acts=("up", "status", "fault", "down"),
    ),
    Command(
        name="watch",
        run="netloom.cli.operate.watch:watch",
        call="netloom.app.watch:watch",
        help="Watch a network and keep what is seen.",
    ),
    Command(
        name="serve",
        run="netloom.cli.operate.serve:serve",
        call="netloom.web:serve",
        help="Open the web workbench: design, simulate, watch.",
    ),
    Command(
        name="audit",
        run="netloom.cli.operate.audit:audit",
        call="netloom.app.audit:audit",
        help="Name the cables that are not as designed.",
    ),
    Command(
        name="cases",
        run="netloom.cli.operate.cases:cases",
        call="netloom.app.records",
        help="Acknowledge, assign and close what a watch found.",
        acts=(
            "list",
            "show",
            "ack",
            "assign",
            "comment",
            "close",
            "maintain",
            "silence",
            "audit",
            "backup",
        ),
    ),
    Command(
        name="check",
        run="netloom.cli.about.check:check",
        call="netloom.study.check:check",
        help="Read a scenario and say what is wrong with it.",
    ),
    Command(
        name="example",
        run="netloom.cli.about.example:example",
        call="netloom.spec.example:example",
        help="Print a scenario to start from.",
    ),
    Command(
        name="simulate",
        run="netloom.cli.design.simulate:simulate",
        call="netloom.app.simulate:simulate",
        help="Simulate traffic, packet by packet or as flows.",
        job="netloom.app.jobs.design_kinds:SIMULATE",
    ),
    Command(
        name="schema",
        run="netloom.cli.about.schema:schema",
        call="netloom.results.schemas:schema",
        help="Print a JSON schema: of scenarios, or of a command.",
    ),
    Command(
        name="diff",
        run="netloom.cli.design.diff:diff",
        call="netloom.study.diff:diff",
        help="Say what differs between two scenarios or results.",
    ),
    Command(
        name="doctor",
        run="netloom.cli.about.doctor:doctor",
        call="netloom.app.doctor:doctor",
        help="Say what is installed, and which commands can run.",
    ),
)


class CommandActs:
    """A command of several acts: ``nl.trace.read(...)``, or ``nl.trace("read", ...)``."""

    def __init__(self, command: Command) -> None:
        self.__doc__ = f"{command.help}\n\nActs: {', '.join(command.acts)}."
        self._command = command

    def __getattr__(self, act: str) -> Callable[..., Any]:
        if act not in self._command.acts:
            message = f"nl.{self._command.name} has no act {act!r}; {self._command.acts} are there"
            raise AttributeError(message)
        return taking_paths(getattr(import_module(self._command.call), act))

    def __call__(self, act: str, /, *args: Any, **kwargs: Any) -> Any:
        """Return what the act of that name returns."""
        return getattr(self, act)(*args, **kwargs)

    def __dir__(self) -> list[str]:
        return list(self._command.acts)

    def __repr__(self) -> str:
        """Return one line."""
        return f"<nl.{self._command.name}: {', '.join(self._command.acts)}>"


def callable_of(command: Command) -> Callable[..., Any]:
    """Return what ``nl.NAME`` is."""
    if command.acts:
        return CommandActs(command)
    module, _, name = command.call.partition(":")
    return taking_paths(getattr(import_module(module), name))


@cache
def taking_paths(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return *function* so that the path of a scenario's file may stand for the scenario.

    What takes no scenario first comes back as it is.
    """
    inspect = import_module("inspect")  # netloom --help has no time for it
    first = next(iter(inspect.signature(function).parameters.values()), None)
    if first is None or "Scenario" not in str(first.annotation) or "str" in str(first.annotation):
        return function

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        given = args[0] if args else kwargs.get(first.name)
        if not isinstance(given, str | PathLike):
            return function(*args, **kwargs)
        scenario = import_module("netloom.spec.load").load(given)
        if args:
            return function(scenario, *args[1:], **kwargs)
        return function(**{**kwargs, first.name: scenario})

    return called


def command_named(name: str) -> Command | None:
    """Return the command of that name; None where there is none."""
    return next((one for one in COMMANDS if one.name == name), None)


def command_in(argv: Sequence[str]) -> str:
    """Return the full name of the command that *argv* runs; empty where it names none."""
    words = [word for word in argv if not word.startswith("-")][:2]
    command = command_named(words[0]) if words else None
    if command is None:
        return ""
    return " ".join([command.name, *(word for word in words[1:] if word in command.acts)])
