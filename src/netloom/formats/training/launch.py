"""How many processes a launcher starts: torchrun, srun, mpirun, deepspeed, and Slurm's header."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from netloom.formats.training.recipe import RecipeStatement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from netloom.formats.training.shell import ScriptCommand, ScriptWord, ShellScript
    from netloom.formats.training.statements import Statements

__all__ = ["LAUNCH", "launch_of", "launch_size", "launcher_statements", "slurm_statements"]

LAUNCH: Final = "launch."
_PRINTING: Final = frozenset({"echo", "printf", "cat", "grep", "sed", "test", "[", "[["})
_SBATCH: Final = re.compile(r"^#SBATCH\s+(.*)$")
# torch/distributed/run.py, srun(1), sbatch(1), deepspeed/launcher/runner.py.
_NODES: Final = frozenset({"nnodes", "nodes", "num_nodes"})
_PER_NODE: Final = frozenset({"nproc_per_node", "ntasks_per_node", "gpus_per_node", "num_gpus"})
_ALL: Final = frozenset({"gpus", "ntasks", "np"})
_SHORT: Final = {"N": "nodes", "n": "ntasks", "np": "np", "G": "gpus"}


def launch_of(script: ShellScript, known: frozenset[str]) -> ScriptCommand | None:
    """Return the command that starts the training; None when there is none.

    It is the one with the most options of *known*; of equals an unconditional one, the first.

    Args:
        script: What a script says.
        known: Options of the training program, such as ``--num-layers``.
    """
    best: ScriptCommand | None = None
    most = (0, False)
    for command in script.commands:
        words = [word.text for word in command.words]
        if words[0] in _PRINTING:
            continue
        num_known = sum(word.partition("=")[0] in known for word in words)
        rank = (num_known, not command.conditional)
        if num_known and rank > most:
            best, most = command, rank
    return best


def launcher_statements(words: Sequence[ScriptWord]) -> Iterator[RecipeStatement]:
    """Yield what the words before the training program state: processes, nodes and the rest."""
    for index, word in enumerate(words):
        name, equals, value = word.text.partition("=")
        short = _SHORT.get(name.lstrip("-")) if re.fullmatch(r"-[A-Za-z]+", name) else None
        if not (name.startswith("--") or short):
            continue
        unexpanded = word.unexpanded
        if not equals and index + 1 < len(words) and not words[index + 1].text.startswith("-"):
            value, unexpanded = words[index + 1].text, words[index + 1].unexpanded
        canonical = short or name.lstrip("-").replace("-", "_")
        yield RecipeStatement(
            name=name,
            canonical=LAUNCH + canonical,
            value=value,
            line=word.line,
            unexpanded=unexpanded,
        )


def slurm_statements(text: str) -> Iterator[RecipeStatement]:
    """Yield what the ``#SBATCH`` lines of a script state."""
    for number, line in enumerate(text.split("\n"), start=1):
        found = _SBATCH.match(line.rstrip())
        if found is None:
            continue
        said = re.match(r"(--?[A-Za-z][\w-]*)[=\s]*([^#]*)", found[1])
        if said is None:
            continue
        name = _SHORT.get(said[1].lstrip("-"), said[1].lstrip("-").replace("-", "_"))
        value = said[2].strip()
        if name in {"gres", "gpus_per_node"} and (gpus := re.search(r"(\d+)$", value)):
            name, value = "gpus_per_node", gpus[1]
        yield RecipeStatement(
            name=f"#SBATCH {said[1]}", canonical=f"{LAUNCH}slurm_{name}", value=value, line=number
        )


def launch_size(found: Statements) -> tuple[int | None, int | None, int | None]:
    """Return the nodes, the GPUs of each and the GPUs in all that the launcher is told of.

    A launcher's own words win over Slurm's header.
    """
    nodes = _first(found, _NODES, "cluster.gpus")
    per_node = _first(found, _PER_NODE, "cluster.gpus")
    gpus = _first(found, _ALL, "cluster.gpus")
    if nodes and per_node:
        return nodes, per_node, None
    return nodes, per_node, gpus


def _first(found: Statements, names: frozenset[str], key: str) -> int | None:
    order = [f"{LAUNCH}{name}" for name in sorted(names)]
    order += [f"{LAUNCH}slurm_{name}" for name in sorted(names)]
    values = [value for name in order if (value := _count(found, name, key)) is not None]
    if not values:
        return None
    # srun starts one task a node and torchrun eight: the processes are what is asked for.
    return values[0] if names is not _PER_NODE else max(values)


def _count(found: Statements, name: str, key: str) -> int | None:
    if name not in found:
        return None
    value = found.peek(name)
    if not re.fullmatch(r"[0-9]{1,7}", value.strip()):
        found.refuse(name, f"{value!r} is no number of processes; give --gpus")
        return None
    return found.count(name, key)
