"""What a file says about a training job, each statement with what became of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Recipe", "RecipeStatement", "RecipeText", "StatementOutcome", "Unstated"]

MAX_SHOWN = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeText:
    """A file to be read.

    Attributes:
        text: Its content.
        name: What messages call it.
        variables: Values for what the file leaves to its surroundings: variables of the shell.
    """

    text: str
    name: str
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeStatement:
    """One thing that a file states.

    Attributes:
        name: As the file writes it: ``--tp-comm-overlap``, ``model.seq_length``.
        canonical: The name by which it is looked up; several spellings share one.
        value: What it is set to; text where the file has text.
        line: Where, from 1; 0 when the file has no line for it.
        unexpanded: The part of the value that only its surroundings know, such as ``$TP``.
    """

    name: str
    canonical: str
    value: object
    line: int = 0
    unexpanded: str = ""

    @property
    def shown(self) -> str:
        """The value, short enough for a line."""
        if isinstance(self.value, bool) and self.name.startswith("--"):
            return ""  # the option alone says it
        text = _text_of(self.value)
        return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementOutcome:
    """What became of a statement.

    Attributes:
        name: As the file writes it.
        value: As the file writes it, shortened.
        line: Where; 0 when not known.
        key: The key of the scenario that it became; empty when it became none.
        reason: Why it was not taken; empty when it was.
    """

    name: str
    value: str
    line: int
    key: str = ""
    reason: str = ""

    def to_json(self, file: str) -> dict[str, Any]:
        """Return the fields by name, with the place as a compiler writes it."""
        where = f"{file}:{self.line}" if self.line else file
        found = {"where": where, "name": self.name, "value": self.value, "line": self.line}
        more = {"key": self.key} if self.key else {"reason": self.reason} if self.reason else {}
        return found | more


@dataclass(frozen=True, slots=True, kw_only=True)
class Unstated:
    """A value of the scenario that the file does not state.

    Attributes:
        key: The key of the scenario.
        value: What stands there.
        reason: Where the value comes from, and what changes it.
    """

    key: str
    value: object
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {"key": self.key, "value": self.value, "reason": self.reason}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A training job as a file describes it; what the file leaves out is missing.

    Attributes:
        nodes: How many nodes.
        gpus_per_node: GPUs that the job uses of each.
        gpus: GPUs in all, where that is what is stated.
        node: Catalogue name of the node.
        model: A model of the catalogue by name.
        shape: The model's shape, with the keys of a Hugging Face config.json.
        vocabulary_padding: What the vocabulary is padded to a multiple of; 1 where it is not.
        model_is_file: Whether the file itself is the model's config.json.
        training: Keys of ``job.training``.
        parallel: Keys of ``job.parallel``.
        software: Keys of ``job.software``.
        batch_per_replica: Sequences a step of one copy of the model, where that is what is stated.
        micro_batches: Those that a copy works on in a step, where the micro-batch follows from it.
        taken: Statements that the scenario holds.
        without_effect: Statements that change neither time nor memory of a step.
        not_taken: Statements that matter, or may, and that the scenario does not hold.
        assumed: What the scenario will say though the file does not.
    """

    nodes: int | None = None
    gpus_per_node: int | None = None
    gpus: int | None = None
    node: str = ""
    model: str = ""
    shape: Mapping[str, object] = field(default_factory=dict)
    vocabulary_padding: int = 1
    model_is_file: bool = False
    training: Mapping[str, Any] = field(default_factory=dict)
    parallel: Mapping[str, Any] = field(default_factory=dict)
    software: Mapping[str, Any] = field(default_factory=dict)
    batch_per_replica: int | None = None
    micro_batches: int | None = None
    taken: tuple[StatementOutcome, ...] = ()
    without_effect: tuple[StatementOutcome, ...] = ()
    not_taken: tuple[StatementOutcome, ...] = ()
    assumed: tuple[Unstated, ...] = ()


def _text_of(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (tuple, list)):
        return " ".join(_text_of(one) for one in value[:MAX_SHOWN])
    # An int of many digits has no repr: Python refuses beyond 4,300.
    if isinstance(value, int) and value.bit_length() > 4 * MAX_SHOWN:
        return "a very long number"
    return "".join(char if char.isprintable() else " " for char in str(value))
