"""Read a file that describes a training job, and write the scenario it becomes."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ruamel.yaml import YAML

from netloom.app.convert.compose import composed
from netloom.app.convert.model import model_choice
from netloom.app.convert.supplied import Supplied
from netloom.errors import NetloomError, Problem, SpecError
from netloom.formats.register import detect
from netloom.formats.training.recipe import RecipeText
from netloom.parts.load import load_catalog
from netloom.results.envelope import error_json
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.results.write import write_atomically
from netloom.spec.anchor import anchored
from netloom.spec.files import read_text
from netloom.spec.load import load
from netloom.study.check import require_feasible

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from netloom.app.convert.model import ModelChoice
    from netloom.formats.register import Format
    from netloom.formats.training.recipe import Recipe, StatementOutcome, Unstated
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario

__all__ = ["Conversion", "convert"]

MAX_BYTES: Final = 1 << 18
HOLDS: Final = "recipe"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion(Tabular):
    """A scenario, and what became of each statement of the file.

    Attributes:
        file: What was read.
        format: The name of its format.
        scenario: The scenario with the keys of its file.
        model: The model's shape where it is written beside the scenario; None where it is not.
        taken: Statements that the scenario holds.
        without_effect: Statements that change neither time nor memory of a step.
        not_taken: Statements that matter, or may, and that the scenario does not hold.
        assumed: Values of the scenario that the file does not state.
        problems: What ``netloom check`` says of the scenario, as docs/json.md has it.
        written: The files that were written.
    """

    file: str
    format: str
    scenario: dict[str, Any]
    model: dict[str, Any] | None
    taken: tuple[StatementOutcome, ...]
    without_effect: tuple[StatementOutcome, ...]
    not_taken: tuple[StatementOutcome, ...]
    assumed: tuple[Unstated, ...]
    problems: tuple[dict[str, Any], ...]
    written: tuple[Path, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether ``netloom check`` finds nothing wrong with the scenario."""
        return not self.problems

    @property
    def text(self) -> str:
        """The scenario's file; what was assumed and what was not taken stand above it."""
        stream = io.StringIO()
        yaml = YAML(typ="safe", pure=True)
        yaml.default_flow_style = False
        yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
        yaml.dump(self.scenario, stream)
        lines = [f"# From {_line(Path(self.file).name)} ({self.format})."]
        lines += [
            f"# Assumed: {_line(f'{one.key}: {one.value} ({one.reason})')}" for one in self.assumed
        ]
        lines += [f"# Not taken: {_line(told(one))}" for one in self.not_taken]
        return "\n".join([*lines, stream.getvalue()])

    def table(self) -> Table:
        """Return a row for each statement."""
        groups = {
            "taken": self.taken,
            "without effect": self.without_effect,
            "not taken": self.not_taken,
        }
        return Table.from_rows(
            {
                "outcome": name,
                "line": one.line,
                "name": one.name,
                "value": one.value,
                "key": one.key,
                "reason": one.reason,
            }
            for name, group in groups.items()
            for one in group
        )

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/runs/convert.md documents."""
        return {
            "file": self.file,
            "format": self.format,
            "scenario": self.scenario,
            "model": self.model,
            "taken": [one.to_json(self.file) for one in self.taken],
            "without_effect": [one.to_json(self.file) for one in self.without_effect],
            "not_taken": [one.to_json(self.file) for one in self.not_taken],
            "assumed": [one.to_json() for one in self.assumed],
            "ok": self.ok,
            "problems": list(self.problems),
            "written": [str(path) for path in self.written],
        }


def told(one: StatementOutcome) -> str:
    """Return a statement that was not taken, on one line, with its line and the reason."""
    place = f"line {one.line}: " if one.line else ""
    value = f" {one.value}" if one.value else ""
    return f"{place}{one.name}{value} ({one.reason})"


def convert(  # noqa: PLR0913  (what a file may leave open, by name)
    file: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    catalog: Catalog | None = None,
    *,
    gpus: int | None = None,
    node: str | None = None,
    technology: str | None = None,
    model: str | None = None,
    vocabulary: int | None = None,
    sequence: int | None = None,
    global_batch: int | None = None,
    micro_batch: int | None = None,
    recompute: str | None = None,
    software: str | None = None,
    variables: Mapping[str, str] | None = None,
) -> Conversion:
    """Return the scenario that a training job's own file becomes; nothing in it is executed.

    >>> import netloom as nl
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "torchtitan.toml"
    ...     _ = file.write_text('model = {flavor = "8B"}')
    ...     nl.convert(file, gpus=8).scenario["job"]["model"]
    'llama-3-8b'

    Args:
        file: Megatron-LM's arguments or a shell script, a recipe of NeMo or Megatron-Bridge,
            torchtitan's or DeepSpeed's configuration, or a Hugging Face config.json.
        out: Where the scenario is written; a model that is not in the catalogue goes beside it.
        catalog: The parts; default: the shipped ones.
        gpus: How many GPUs; like all that follows it wins over the file.
        node: Catalogue name of the node.
        technology: Catalogue name of the network.
        model: Catalogue name of the model, or the path of its config.json.
        vocabulary: Tokens in the vocabulary, before padding.
        sequence: Tokens in a sequence.
        global_batch: Sequences in a step.
        micro_batch: Sequences that a stage works on at a time.
        recompute: Activations computed again: none, light, selective or full.
        software: Name of the training software; switches stay as far as the file states them.
        variables: Values of a shell script's variables.

    Raises:
        SpecError: it is no such file, a value is wrong, or something needed is missing.
        OutputError: a file cannot be written.
    """
    supplied = Supplied(
        gpus=gpus,
        node=node,
        technology=technology,
        model=model,
        vocabulary=vocabulary,
        sequence=sequence,
        global_batch=global_batch,
        micro_batch=micro_batch,
        recompute=recompute,
        software=software,
        variables=dict(variables or {}),
        out=None if out is None else Path(out),
    )
    parts = catalog or load_catalog()
    given = _given(Path(file), supplied)
    known = detect(given.text, name=given.name, holds=HOLDS)
    assert known.parse is not None
    recipe: Recipe = known.parse(given)
    return _converted(recipe, supplied, parts, known=known, file=Path(file))


def _given(file: Path, supplied: Supplied) -> RecipeText:
    text = read_text(file, max_bytes=MAX_BYTES, wanted="a script, a recipe or a configuration")
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise SpecError(
            file=str(file), line=line, what="a NUL byte", remedy="this is not a text file"
        )
    return RecipeText(text=text.replace("\r\n", "\n"), name=str(file), variables=supplied.variables)


def _converted(
    recipe: Recipe, supplied: Supplied, parts: Catalog, *, known: Format, file: Path
) -> Conversion:
    choice = model_choice(recipe, supplied, parts, file=file)
    beside = _beside(choice, supplied, file)
    if beside is not None and not isinstance(choice, Problem):
        choice = replace(choice, name=beside.name)
    made = composed(recipe, supplied, choice, parts, title=file.stem)
    shape = None if isinstance(choice, Problem) or choice.shape is None else dict(choice.shape)
    conversion = Conversion(
        file=str(file),
        format=known.name,
        scenario=made.scenario,
        model=shape,
        taken=recipe.taken,
        without_effect=recipe.without_effect,
        not_taken=(*recipe.not_taken, *made.not_taken),
        assumed=made.assumed,
        problems=(),
    )
    load(made.scenario)  # keys, types and ranges: an error here names the key
    return _checked(_written(conversion, supplied, beside), supplied, parts)


def _beside(choice: ModelChoice | Problem, supplied: Supplied, file: Path) -> Path | None:
    """Return the file of the model's shape, where it gets one."""
    if isinstance(choice, Problem) or choice.shape is None:
        return None
    scenario = supplied.out or Path(f"{file.stem}.yaml")
    return scenario.with_name(f"{scenario.stem}.model.json")


def _written(conversion: Conversion, supplied: Supplied, beside: Path | None) -> Conversion:
    if supplied.out is None:
        return conversion
    files = [supplied.out]
    if supplied.out.exists() and supplied.out.samefile(conversion.file):
        raise SpecError(
            option="--out",
            what=f"{supplied.out} is the file that is converted",
            remedy="name another",
        )
    if beside is not None:
        write_atomically(beside, json.dumps(conversion.model, indent=2) + "\n")
        files.append(beside)
    write_atomically(supplied.out, conversion.text)
    return replace(conversion, written=tuple(files))


def _checked(conversion: Conversion, supplied: Supplied, parts: Catalog) -> Conversion:
    """Return the conversion with what ``netloom check`` says, where the model can be read."""
    if conversion.model is not None and supplied.out is None:
        return conversion
    try:
        require_feasible(_anchored(conversion, supplied), parts)
    except NetloomError as error:
        return replace(conversion, problems=tuple(error_json(error)["problems"]))
    return conversion


def _anchored(conversion: Conversion, supplied: Supplied) -> Scenario:
    folder = supplied.out.absolute().parent if supplied.out else Path.cwd()
    return anchored(load(conversion.scenario), lambda _, path: str(folder / path))


def _line(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)
