"""Read text as a tree of nodes.

It is read as YAML 1.2 with its core schema, of which JSON is a part. What older YAML would read
as something else (``on``, ``1:30``, ``017``) is text or refused, never another value.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError

from netloom.spec.nodes import (
    MAX_DEPTH,
    MAX_DIGITS,
    DocumentNode,
    MalformedError,
    Scalar,
    TextPosition,
    below,
    height,
    problem_at,
    shorten,
    too_deep,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.errors import Problem

__all__ = ["compose"]

MAX_NODES: Final = 10_000
MAX_LINE: Final = 65_536  # the parser takes quadratic time over some long lines

# YAML 1.2.2, section 10.3.2, core schema.
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLS: Final = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITY: Final = re.compile(r"[-+]?\.(inf|Inf|INF)")
_NANS: Final = frozenset({".nan", ".NaN", ".NAN"})
_PADDED: Final = re.compile(r"[-+]?0[0-9]+")


def compose(text: str) -> tuple[DocumentNode, list[Problem]]:
    """Return the one document in *text*, and the problems that did not stop the reading.

    Raises:
        MalformedError: it is not YAML, not exactly one document, too deep, or too large.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if len(line) > MAX_LINE:
            what = f"a line of {len(line)} characters; break it, {MAX_LINE} are the most"
            raise MalformedError(problem_at(TextPosition(number, 1), "", what))
    composer = _Composer(_events(text))
    return composer.document(), composer.problems


def _events(text: str) -> Iterator[Event]:
    """Yield the events of *text*; whatever the parser trips over becomes one problem."""
    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except ReaderError as error:
        before = text[: error.position]
        column = error.position - (before.rfind("\n") + 1)
        place = TextPosition(before.count("\n") + 1, column + 1)
        what = f"the character U+{ord(text[error.position]):04X} is not allowed; remove it"
        raise MalformedError(problem_at(place, "", what)) from error
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = TextPosition(mark.line + 1, mark.column + 1) if mark else TextPosition(1, 1)
        raise MalformedError(_not_yaml(str(error.problem or error.context), place)) from error
    except (YAMLError, ValueError, OverflowError, LookupError) as error:
        # The parser lets a few of Python's own errors through, as for "\U99999999".
        raise MalformedError(_not_yaml(str(error), None)) from error


def _not_yaml(what: str, place: TextPosition | None) -> Problem:
    text = f"not valid YAML: {shorten(what)}; check indentation, colons, brackets and quotes here"
    return problem_at(place, "", text)


class _Composer:
    """Builds nodes from events; counts them, so that aliases cannot blow a file up."""

    def __init__(self, events: Iterator[Event]) -> None:
        self.problems: list[Problem] = []
        self._events = events
        self._num_nodes = 0
        self._anchors: dict[str, tuple[DocumentNode, int]] = {}

    def document(self) -> DocumentNode:
        """Return the root of the only document."""
        root: DocumentNode | None = None
        for event in self._events:
            if isinstance(event, DocumentStartEvent):
                self._check_version(event)
            elif isinstance(event, NodeEvent):
                if root is not None:
                    text = "a second document starts here; a scenario is one document"
                    raise MalformedError(problem_at(_place(event), "", text))
                root = self._node(event, field="", depth=0)
        return root or DocumentNode(value=None, written="null", place=TextPosition(1, 1))

    def _check_version(self, event: DocumentStartEvent) -> None:
        if event.version not in {None, (1, 2)}:
            text = "this file says it is older YAML; write YAML 1.2 and remove the %YAML line"
            self._report("", text, event)

    def _node(self, event: NodeEvent, *, field: str, depth: int) -> DocumentNode:
        self._count(1, event)
        if isinstance(event, AliasEvent):
            return self._alias(event, depth=depth)
        assert isinstance(event, (ScalarEvent, CollectionStartEvent))
        if event.tag is not None:
            tag = str(event.tag).replace("tag:yaml.org,2002:", "!!")
            self._report(field, f"the tag {shorten(tag)!r} is not allowed; remove it", event)
        before = self._num_nodes
        node = self._untagged(event, field=field, depth=depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = (node, 1 + self._num_nodes - before)
        return node

    def _untagged(self, event: NodeEvent, *, field: str, depth: int) -> DocumentNode:
        if depth > MAX_DEPTH:
            raise MalformedError(too_deep(_place(event)))
        if isinstance(event, MappingStartEvent):
            return self._mapping(event, field=field, depth=depth)
        if isinstance(event, SequenceStartEvent):
            return self._sequence(event, field=field, depth=depth)
        assert isinstance(event, ScalarEvent)
        return self._scalar(event, field=field)

    def _alias(self, event: AliasEvent, *, depth: int) -> DocumentNode:
        if event.anchor not in self._anchors:
            name = shorten(event.anchor)
            text = f"the alias *{name} stands for nothing, or for itself; write the value"
            raise MalformedError(problem_at(_place(event), "", text))
        node, num_nodes = self._anchors[event.anchor]
        self._count(num_nodes, event)
        if depth + height(node) > MAX_DEPTH:
            raise MalformedError(too_deep(_place(event)))
        return DocumentNode(value=node.value, written=node.written, place=_place(event))

    def _mapping(self, start: Event, *, field: str, depth: int) -> DocumentNode:
        entries: dict[str, DocumentNode] = {}
        while not isinstance(event := next(self._events), CollectionEndEvent):
            key = self._key(event, field)
            here = below(field, key)
            child = self._node(_node_event(next(self._events)), field=here, depth=depth + 1)
            if key in entries:
                first = entries[key].key_place
                line = first.line if first else "?"
                self._report(here, f"given twice, first on line {line}; keep one", event)
                continue
            entries[key] = DocumentNode(
                value=child.value, written=child.written, place=child.place, key_place=_place(event)
            )
        return DocumentNode(value=entries, written="a mapping", place=_place(start))

    def _key(self, event: Event, field: str) -> str:
        self._count(1, event)
        if not isinstance(event, ScalarEvent):
            text = "a key is a name; a list, a mapping or an alias cannot be one"
            raise MalformedError(problem_at(_place(event), field, text))
        if event.value == "<<" and not event.style:
            text = "merge keys are not part of YAML 1.2; write the keys out"
            raise MalformedError(problem_at(_place(event), field, text))
        return _repaired(event)

    def _sequence(self, start: Event, *, field: str, depth: int) -> DocumentNode:
        items: list[DocumentNode] = []
        while not isinstance(event := next(self._events), CollectionEndEvent):
            here = f"{field}[{len(items)}]"
            items.append(self._node(_node_event(event), field=here, depth=depth + 1))
        return DocumentNode(value=tuple(items), written="a list", place=_place(start))

    def _scalar(self, event: ScalarEvent, *, field: str) -> DocumentNode:
        text = _repaired(event)
        place = _place(event)
        if event.style:
            return DocumentNode(value=text, written=shorten(repr(text)), place=place)
        if _PADDED.fullmatch(text):
            self._report(field, f"{shorten(text)} starts with a zero; write it without", event)
        elif _INTEGER.fullmatch(text) and len(text) > MAX_DIGITS:
            self._report(
                field, f"a number of {len(text)} digits is absurd; write it shorter", event
            )
            return DocumentNode(value=text, written=shorten(text), place=place)
        value = _resolve(text)
        written = repr(text) if isinstance(value, str) else text or "null"
        return DocumentNode(value=value, written=shorten(written), place=place)

    def _count(self, num_nodes: int, event: Event) -> None:
        self._num_nodes += num_nodes
        if self._num_nodes > MAX_NODES:
            text = f"more than {MAX_NODES} values, aliases expanded; a scenario has far fewer"
            raise MalformedError(problem_at(_place(event), "", text))

    def _report(self, field: str, text: str, event: Event) -> None:
        self.problems.append(problem_at(_place(event), field, text))


def _node_event(event: Event) -> NodeEvent:
    assert isinstance(event, NodeEvent), event
    return event


def _place(event: Event) -> TextPosition:
    return TextPosition(event.start_mark.line + 1, event.start_mark.column + 1)


def _repaired(event: ScalarEvent) -> str:
    """Return the text with surrogate pairs, as JSON escapes write them, joined to characters."""
    try:
        text: str = event.value.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError as error:
        what = "half of a surrogate pair is not a character; write the character itself"
        raise MalformedError(problem_at(_place(event), "", what)) from error
    return text


def _resolve(text: str) -> Scalar:
    """Return what a plain scalar means in the core schema."""
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if _INTEGER.fullmatch(text):
        return int(text, 0) if text[:2] in {"0o", "0x"} else int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _INFINITY.fullmatch(text):
        return -math.inf if text[0] == "-" else math.inf
    return math.nan if text in _NANS else text
