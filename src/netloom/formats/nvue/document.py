"""NVUE's commands as the one file that ``nv config replace`` takes: all that a switch shall have.

The form is that of ``/etc/nvue.d/startup.yaml``. Whether the last word of a command is a value or
a name in a list is NVUE's schema's to say; those that netloom writes are told apart here.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from netloom.formats.nvue.tree import paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.deploy.structure import Setting

__all__ = ["nvue_document"]

# Words after which a list of names stands, an empty mapping each.
_LISTS: Final = frozenset({"address", "network", "route-target", "breakout", "server", "state"})
_VALUES: Final = frozenset({("pfc-watchdog", "state")})  # though they end like a list


def nvue_document(script: str) -> str:
    """Return the file that says what the commands of *script* set."""
    tree: dict[str, Any] = {}
    for path in paths(script):
        _put(tree, path)
    lines = ("- header:", "    model: switch", "    nvue-api-version: nvue_v1", "- set:")
    return "".join(f"{line}\n" for line in (*lines, *_lines(tree, 4)))


def _put(tree: dict[str, Any], path: Setting) -> None:
    *above, word = path
    is_name = above[-1] in _LISTS and tuple(above[-2:]) not in _VALUES
    for key in above if is_name else above[:-1]:
        tree = tree.setdefault(key, {})
    if is_name:
        tree.setdefault(word, {})
    else:
        tree[above[-1]] = word


def _lines(tree: dict[str, Any], depth: int) -> Iterator[str]:
    for key, value in sorted(tree.items()):
        start = f"{' ' * depth}{_word(key)}:"
        if isinstance(value, dict) and value:
            yield start
            yield from _lines(value, depth + 2)
        else:
            yield f"{start} {'{}' if value == {} else _word(value)}"


def _word(text: str) -> str:
    """Return a word as YAML takes it: plain where nothing else could be meant."""
    is_plain = text.replace("-", "").replace("_", "").isalnum() and not text.isdigit()
    return text if is_plain or text.isdigit() else json.dumps(text)
