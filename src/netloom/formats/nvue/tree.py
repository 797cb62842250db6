"""NVUE's configuration as paths of words: from ``nv set`` commands and from startup.yaml alike."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
    StreamStartEvent,
)

from netloom.errors import SpecError
from netloom.ops.deploy.structure import leaves

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.deploy.structure import Setting

__all__ = ["expanded", "is_nvue", "paths"]

MAX_PORTS: Final = 1024  # that one range may stand for
MAX_BYTES: Final = 4 << 20
MAX_LINE: Final = 65_536  # the parser takes quadratic time over some long lines
MAX_DEPTH: Final = 40
_END: Final = object()
_COMMAND: Final = re.compile(r"^\s*(?:\S{1,80}[$#]\s+)?nv (set|unset)\s+(\S.*)$", re.ASCII)
_YAML: Final = re.compile(r"^\s*-\s+(?:header|set|unset):", re.ASCII | re.MULTILINE)
_RANGE: Final = re.compile(r"([A-Za-z]{1,15}|swp\d{1,4}s)(\d{1,4})-(\d{1,4})", re.ASCII)
_STEM: Final = re.compile(r"[A-Za-z]{1,15}", re.ASCII)


def is_nvue(text: str) -> bool:
    """Return whether a text is a list of NVUE's commands, or a file such as startup.yaml."""
    return bool(_YAML.search(text)) or any(_COMMAND.match(line) for line in text.splitlines())


def paths(text: str) -> list[Setting]:
    """Return every setting as a path of words, ranges of interfaces written out.

    Commands that unset take away what was set before them.

    Raises:
        SpecError: it is neither commands nor such a file.
    """
    if _YAML.search(text) and not text.lstrip().startswith("#!"):
        return list(_from_yaml(text))
    found: dict[Setting, None] = {}
    for line in text.splitlines():
        command = _COMMAND.match(line)
        if command:
            for path in _expanded_path(_words(command[2])):
                if command[1] == "set":
                    found[path] = None
                else:
                    found = {one: None for one in found if one[: len(path)] != path}
    return list(found)


def _words(text: str) -> Setting:
    try:
        return tuple(shlex.split(text, comments=True))
    except ValueError as error:
        raise SpecError(
            what=f"'nv set {text[:80]}' is not a command ({error})", remedy="correct it"
        ) from error


def _from_yaml(text: str) -> Iterator[Setting]:
    if len(text) > MAX_BYTES or any(len(line) > MAX_LINE for line in text.split("\n")):
        raise SpecError(what="is too large for a startup.yaml", remedy="give one switch's file")
    try:
        found = _tree(iter(YAML(typ="safe", pure=True).parse(text)))
    except (YAMLError, ValueError, OverflowError, LookupError, RecursionError) as error:
        what = f"is not YAML ({str(error)[:200]})"
        raise SpecError(what=what, remedy="correct it") from error
    for part in found if isinstance(found, list) else [found]:
        if isinstance(part, dict) and "set" in part:
            for path in leaves(part["set"]):
                yield from _expanded_path(path)


def _tree(events: Iterator[Event], depth: int = 0) -> Any:
    """Return the next value: words stay as they are written, ``on`` as well as ``010``.

    Aliases are refused: by them a few lines can stand for billions.
    """
    event = next(events, None)
    while isinstance(event, StreamStartEvent | DocumentStartEvent):
        event = next(events, None)
    if isinstance(event, AliasEvent) or depth > MAX_DEPTH:
        raise SpecError(what="has aliases, or is nested too deep", remedy="write it out")
    if isinstance(event, ScalarEvent):
        return event.value or None
    if isinstance(event, SequenceStartEvent):
        return list(_items(events, depth))
    if isinstance(event, MappingStartEvent):
        flat = list(_items(events, depth))
        keys, values = flat[::2], flat[1::2]
        return {str(key): value for key, value in zip(keys, values, strict=True)}
    return _END


def _items(events: Iterator[Event], depth: int) -> Iterator[Any]:
    while (item := _tree(events, depth + 1)) is not _END:
        yield item


def _expanded_path(path: Setting) -> Iterator[Setting]:
    """Yield a path for each interface that a word such as ``swp1-4,swp7`` stands for."""
    if len(path) < 2 or path[0] != "interface":
        yield path
        return
    for name in expanded(path[1]):
        yield ("interface", name, *path[2:])


def expanded(text: str) -> list[str]:
    """Return the interfaces of ``swp1-4,7,swp9s0-1``; what is no range as it is.

    A number alone goes on with the letters before it.
    """
    names: list[str] = []
    stem = ""
    for part in text.split(","):
        whole = f"{stem}{part}" if part[:1].isdigit() and stem else part
        span = _RANGE.fullmatch(whole)
        if span is None:
            names.append(whole)
        else:
            first, last = int(span[2]), int(span[3])
            if last - first >= MAX_PORTS or len(names) > MAX_PORTS:
                raise SpecError(what=f"{part} stands for too many interfaces", remedy="correct it")
            names += [f"{span[1]}{number}" for number in range(first, last + 1)]
        letters = _STEM.match(whole)
        stem = letters[0] if letters else stem
    return names
