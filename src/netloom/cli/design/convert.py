"""``netloom convert``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from netloom.app.convert.run import Conversion, told
from netloom.app.convert.run import convert as conversion_of
from netloom.cli.arguments import OptionalWhole
from netloom.cli.options import Output, OwnParts
from netloom.cli.show import show
from netloom.errors import SpecError
from netloom.parts.load import load_catalog
from netloom.units import format_count

__all__ = ["convert"]


def convert(  # noqa: PLR0913  (options)
    file: Path,
    /,
    *,
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None,
    gpus: OptionalWhole = None,
    node: str | None = None,
    technology: str | None = None,
    model: str | None = None,
    vocabulary: OptionalWhole = None,
    sequence: OptionalWhole = None,
    global_batch: OptionalWhole = None,
    micro_batch: OptionalWhole = None,
    recompute: str | None = None,
    software: str | None = None,
    set_: Annotated[tuple[str, ...], Parameter(name="--set", show_default=False)] = (),
    own: OwnParts = None,
    output: Output = Output(),  # noqa: B008  (frozen)
) -> int:
    """Turn what a training framework is told into a scenario.

    Takes Megatron-LM's arguments or a shell script (read, never run), a recipe of NeMo or
    Megatron-Bridge (YAML), torchtitan's configuration (TOML), DeepSpeed's (JSON, with --model) or
    a Hugging Face config.json. Every statement of the file is named: taken, without effect on
    time and memory, or not taken. Keys of the JSON are documented in docs/runs/convert.md.

    Args:
        file: The script, recipe or configuration.
        out: Write the scenario to this file, and a model that is not in the catalogue beside it;
            default: print it.
        gpus: How many GPUs; this and the next win over the file.
        node: Catalogue name of the node.
        technology: Catalogue name of the network.
        model: Catalogue name of the model, or the path of its config.json.
        vocabulary: Tokens in the vocabulary, before padding.
        sequence: Tokens in a sequence.
        global_batch: Sequences in a step.
        micro_batch: Sequences that a pipeline stage works on at a time.
        recompute: Activations computed again: none, light, selective or full.
        software: Name of the training software, such as megatron-core-2024; switches stay as far
            as the file states them.
        set_: A variable of the shell script, such as TP=8; may be given several times.
    """
    found = conversion_of(
        file,
        out,
        None if own is None else load_catalog(own),
        gpus=_positive("--gpus", gpus),
        node=node,
        technology=technology,
        model=model,
        vocabulary=_positive("--vocabulary", vocabulary),
        sequence=_positive("--sequence", sequence),
        global_batch=_positive("--global-batch", global_batch),
        micro_batch=_positive("--micro-batch", micro_batch),
        recompute=recompute,
        software=software,
        variables=_variables(set_),
    )
    if out is None and not output.json:
        _require_no_file(found)
        print(_told(found), file=sys.stderr)
    return show(found, output, lambda: found.text.rstrip() if out is None else _told(found))


def _positive(option: str, value: int | None) -> int | None:
    if value is not None and value < 1:
        raise SpecError(option=option, what=f"{value} is too few", remedy="give 1 or more")
    return value


def _variables(given: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    for (name, equals, _), text in zip(pairs, given, strict=True):
        if not (name and equals):
            raise SpecError(
                option="--set", what=f"{text!r} sets nothing", remedy="write NAME=VALUE"
            )
    return {name: value for name, _, value in pairs}


def _require_no_file(found: Conversion) -> None:
    if found.model is not None:
        raise SpecError(
            option="--out",
            what="the model is not in the catalogue, and its shape is written beside the scenario",
            remedy="name the scenario's file: -o scenario.yaml",
        )


def _told(found: Conversion) -> str:
    """Return the report; a terminal would act on control characters of the file."""
    plain = (
        "".join(char if char.isprintable() else " " for char in line) for line in _report(found)
    )
    return "\n".join(plain)


def _report(found: Conversion) -> Iterator[str]:
    counts = (len(found.taken), len(found.without_effect), len(found.not_taken))
    yield (
        f"{found.file} ({found.format}): {format_count(counts[0], 'statement')} taken, "
        f"{counts[1]} without effect on time and memory, {counts[2]} not taken"
    )
    for one in found.taken:
        yield f"  {_place(found, one.line)}: {one.name} {one.value} -> {one.key}".replace(
            "  ->", " ->"
        )
    quiet = ", ".join(dict.fromkeys(one.name for one in found.without_effect))
    if quiet:
        yield f"Without effect on time and memory: {quiet}"
    for value in found.assumed:
        yield f"Assumed: {value.key}: {value.value} ({value.reason})"
    for one in found.not_taken:
        yield f"Not taken: {_place(found, one.line)}: {told(replace(one, line=0))}"
    for problem in found.problems:
        yield f"netloom check: {problem['what']}; {problem['remedy']}".removesuffix("; ")
    if found.written:
        verdict = "ok" if found.ok else "see above"
        yield f"Written: {', '.join(map(str, found.written))} (netloom check: {verdict})"


def _place(found: Conversion, line: int) -> str:
    return f"{found.file}:{line}" if line else found.file
