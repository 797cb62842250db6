"""Megatron-LM's argument lists and the shell scripts that start it; they are read, never run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError
from netloom.formats.training.documents import flat_document
from netloom.formats.training.launch import (
    LAUNCH,
    launch_of,
    launcher_statements,
    slurm_statements,
)
from netloom.formats.training.megatron_arguments import FLAGS, KNOWN_OPTIONS, NEGATED, RENAMED
from netloom.formats.training.megatron_job import MegatronDialect, megatron_recipe
from netloom.formats.training.recipe import RecipeStatement, StatementOutcome
from netloom.formats.training.shell import read_script
from netloom.formats.training.statements import Statements

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from netloom.formats.training.recipe import Recipe, RecipeText
    from netloom.formats.training.shell import ScriptCommand, ScriptWord, ShellScript

__all__ = ["is_megatron", "is_megatron_yaml", "parse_megatron", "parse_megatron_yaml"]

DIALECT: Final = MegatronDialect(
    software="megatron-core-2025", complete=True, groups_switched=True, dispatcher="allgather"
)
# Settings of libraries that change how fast a step is and that no scenario states.
_MATTERING: Final = ("NCCL_", "NVTE_", "UB_", "TORCH_NCCL_", "NVSHMEM_")
_UNINTERESTING: Final = re.compile(
    r"^CUDA_|PORT|RANK|SEED|ADDR|VERSION|INTERVAL|ITERS|STEP|LOG|SAVE"
)
_REDIRECTED: Final = re.compile(r"[0-9]*[<>]|[{}]$")
_NEGATIVE: Final = re.compile(r"-[0-9.]")


def is_megatron(head: str) -> bool:
    """Return whether a text holds Megatron-LM's options."""
    found = set(re.findall(r"(?<!\S)(--[\w-]+)(?![\w-]|['\"]?\s*:)", head))
    return len(found & KNOWN_OPTIONS) >= 2


def is_megatron_yaml(head: str) -> bool:
    """Return whether a text lists Megatron-LM's options as the keys of a YAML mapping."""
    found = re.findall(r"^\s+['\"]?(--[\w-]+)['\"]?\s*:", head, re.MULTILINE)
    return len(set(found) & KNOWN_OPTIONS) >= 2


def parse_megatron(given: RecipeText) -> Recipe:
    """Return the job that a shell script or an argument list describes.

    Raises:
        SpecError: it starts no training, a value is wrong, or one that is needed is not to be
            found in the file.
    """
    script = read_script(given.text, _surroundings(given), name=given.name)
    command = launch_of(script, KNOWN_OPTIONS)
    if command is None:
        raise SpecError(
            file=given.name,
            what="no command here has Megatron-LM's options",
            remedy="give the script that starts pretrain_gpt.py, or its arguments alone",
        )
    before, after = _divided(command)
    stated = [*slurm_statements(given.text), *launcher_statements(before), *_options(after)]
    found = Statements(stated, file=given.name)
    _name_the_rest(found, script, command, after)
    return megatron_recipe(found, DIALECT)


def parse_megatron_yaml(given: RecipeText) -> Recipe:
    """Return the job that a YAML mapping of Megatron-LM's options describes.

    The form is that of Megatron-LM's functional tests and of Megatron-MoE's collections: options
    as keys below ``MODEL_ARGS``, the environment below ``ENV_VARS``.

    Raises:
        SpecError: it is no YAML, or a value is wrong.
    """
    document = flat_document(given)
    stated, others = [], []
    for one in document.statements:
        option = one.name.rsplit(".", 1)[-1]
        if option.startswith("--"):
            words = one.value if isinstance(one.value, tuple) else str(one.value).split()
            value = one.value if isinstance(one.value, bool) else _value(tuple(map(str, words)))
            if value is not False:
                stated.append(_option(option, value, one.line, ""))
        else:
            others.append(one)
    found = Statements(stated, file=given.name)
    for one in others:
        _name_variable(found, one.name.rsplit(".", 1)[-1], one.shown, one.line)
    return megatron_recipe(found, DIALECT)


def _surroundings(given: RecipeText) -> Mapping[str, str]:
    """Return the variables that are given, and those that Slurm sets from the script's header."""
    slurm = {
        one.canonical.removeprefix(f"{LAUNCH}slurm_"): str(one.value)
        for one in slurm_statements(given.text)
    }
    nodes = slurm.get("nodes", "")
    known = dict.fromkeys(("SLURM_NNODES", "SLURM_JOB_NUM_NODES"), nodes) if nodes else {}
    per_node = slurm.get("gpus_per_node", "")
    known |= {"SLURM_GPUS_ON_NODE": per_node, "SLURM_GPUS_PER_NODE": per_node} if per_node else {}
    return known | dict(given.variables)


def _divided(command: ScriptCommand) -> tuple[Sequence[ScriptWord], Sequence[ScriptWord]]:
    """Return the words of the launcher and those of the training program."""
    words = command.words
    programs = [index for index, word in enumerate(words) if word.text.endswith(".py")]
    own = [i for i, word in enumerate(words) if word.text.partition("=")[0] in KNOWN_OPTIONS]
    before = [index for index in programs if index < own[0]]
    cut = before[-1] + 1 if before else 0
    return words[:cut], words[cut:]


def _options(words: Sequence[ScriptWord]) -> Iterator[RecipeStatement]:
    """Yield the options among *words*, each with the words up to the next."""
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if not word.text.startswith("--"):
            if not (word.unexpanded or _REDIRECTED.match(word.text)):
                yield RecipeStatement(
                    name=word.text, canonical=f"word {word.text}", value="", line=word.line
                )
            continue
        name, equals, joined = word.text.partition("=")
        values = [] if equals or name in FLAGS or name in NEGATED else _values(words, index)
        index += len(values)
        unexpanded = word.unexpanded or next(
            (one.unexpanded for one in values if one.unexpanded), ""
        )
        texts = (joined,) if equals else tuple(one.text for one in values)
        yield _option(name, _value(texts), word.line, unexpanded)


def _values(words: Sequence[ScriptWord], start: int) -> Sequence[ScriptWord]:
    """Return the words from *start* on that belong to the option before them."""
    for index in range(start, len(words)):
        word = words[index]
        option = word.text.startswith("-") and not _NEGATIVE.match(word.text)
        # A variable that nothing sets behind a value is a list of options more likely than not.
        loose = word.unexpanded == word.text and (index > start or "[@]" in word.text)
        if option or _REDIRECTED.match(word.text) or (word.unexpanded and loose):
            return words[start:index]
    return words[start:]


def _value(values: tuple[str, ...]) -> object:
    return True if not values else values[0] if len(values) == 1 else values


def _option(name: str, value: object, line: int, unexpanded: str) -> RecipeStatement:
    if name in NEGATED:
        canonical, value = NEGATED[name], False
    else:
        canonical = name.lstrip("-").replace("-", "_")
        canonical = RENAMED.get(canonical, canonical)
    return RecipeStatement(
        name=name, canonical=canonical, value=value, line=line, unexpanded=unexpanded
    )


def _name_the_rest(
    found: Statements, script: ShellScript, command: ScriptCommand, words: Sequence[ScriptWord]
) -> None:
    """Name what the script says elsewhere: loose words, settings of libraries, conditions."""
    values = found.texts()
    for word in words:
        if word.unexpanded and word.text == word.unexpanded and word.text not in values:
            found.add_not_taken(_lost(word.text, "", word.line, "cannot be expanded"))
    for name, (value, line) in script.exported.items():
        _name_variable(found, name, value, line)
    for name, line in script.conditional:
        reason = "set in a branch or loop that the file does not decide; not followed"
        found.add_not_taken(_lost(name, "", line, reason))
    for name, (value, line) in script.defaults.items():
        if value.isdecimal() and not _UNINTERESTING.search(name.upper()):
            reason = f"the script's own default, line {line}; --set {name}=VALUE changes it"
            found.assume(f"${name}", value, reason)
    if command.conditional:
        reason = "the training starts in a branch or loop that the file does not decide"
        found.add_not_taken(_lost("condition", "", command.line, reason))


def _name_variable(found: Statements, name: str, value: str, line: int) -> None:
    if name.startswith(_MATTERING):
        found.add_not_taken(_lost(name, value, line, "settings of libraries are not modelled"))


def _lost(name: str, value: str, line: int, reason: str) -> StatementOutcome:
    return StatementOutcome(name=name, value=value[:80], line=line, reason=reason)
