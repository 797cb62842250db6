"""Read a shell script without running it: variables, arrays, and the commands it would start."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError
from netloom.formats.training.arithmetic import shell_sum
from netloom.formats.training.shell_flow import ControlFlow, condition_value
from netloom.formats.training.shell_words import RawCommand, RawWord, ScriptPiece, ShellScanner

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from netloom.formats.training.shell_flow import FlowState
    from netloom.formats.training.shell_words import Segment

__all__ = ["ScriptCommand", "ScriptWord", "ShellScript", "read_script"]

MAX_EXPANDED: Final = 1 << 19
MAX_COMMANDS: Final = 20_000
MAX_NESTING: Final = 8
_ASSIGNED: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^]]*\])?(\+?)=(.*)", re.DOTALL)
_PARAMETER: Final = re.compile(
    r"([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*])(\[[@*]\])?(?:(:?[-=+?])(.*))?", re.DOTALL
)
_DECLARING: Final = frozenset({"export", "declare", "local", "readonly", "typeset"})
# A function's body is read where it stands, as if it were called once.
_BLOCKS: Final[dict[str, FlowState]] = {
    **dict.fromkeys(("case", "for", "while", "until", "select"), "unsure"),
    **dict.fromkeys(("{",), "followed"),
}
_STEPS: Final = {
    "if": "open_if",
    "then": "then",
    "elif": "elif_",
    "else": "else_",
    **dict.fromkeys(("fi", "esac", "done", "}"), "close"),
}
_PASSING: Final = frozenset({"do", "time", "exec", "nohup", "function"})

Field = tuple[ScriptPiece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptWord:
    """A word as a command would get it.

    Attributes:
        text: What it says; what could not be expanded stands as the script writes it.
        line: Where it comes from: of a variable's content, the line that set it.
        unexpanded: The first part that could not be; empty when all could.
    """

    text: str
    line: int
    unexpanded: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptCommand:
    """A command with its words; *conditional* inside if, for, case or a function."""

    words: tuple[ScriptWord, ...]
    line: int
    conditional: bool


@dataclass(slots=True, kw_only=True)
class ShellScript:
    """What a script says.

    Attributes:
        commands: In order; what ``sh -c`` and ``eval`` would run is among them.
        exported: Variables that are exported, with their lines.
        conditional: Variables that are set where it depends, with their lines; they are not set.
            Branches that the script's own values decide are followed.
        defaults: Variables that nothing sets, with the default that was taken and its line.
    """

    commands: list[ScriptCommand] = field(default_factory=list)
    exported: dict[str, tuple[str, int]] = field(default_factory=dict)
    conditional: list[tuple[str, int]] = field(default_factory=list)
    defaults: dict[str, tuple[str, int]] = field(default_factory=dict)


def read_script(text: str, variables: Mapping[str, str], *, name: str) -> ShellScript:
    """Return what the script in *text* says.

    Args:
        text: The script.
        variables: What its surroundings set; they win over nothing else, as in a shell.
        name: What messages call it.

    Raises:
        SpecError: a quote or bracket is never closed, or variables grow without end.
    """
    reader = _ScriptReader(variables, name=name)
    lines = text.split("\n")
    reader.run([ScriptPiece(f"{line}\n", number) for number, line in enumerate(lines, start=1)], 0)
    return reader.script


class _ScriptReader:
    def __init__(self, variables: Mapping[str, str], *, name: str) -> None:
        self.script = ShellScript()
        self._file = name
        self._scalars: dict[str, Field] = {
            key: (ScriptPiece(value, 0),) for key, value in variables.items()
        }
        self._given = frozenset(variables)
        self._arrays: dict[str, list[Field]] = {}
        self._expanded = 0
        self._flow = ControlFlow()
        self._open: list[ScriptWord] = []  # the command that may go on
        self._open_line = 0
        self._open_unsure = False

    def run(self, pieces: list[ScriptPiece], nesting: int) -> None:
        for command in ShellScanner(pieces, file=self._file).commands():
            if len(self.script.commands) > MAX_COMMANDS:
                raise SpecError(
                    file=self._file,
                    line=command.line,
                    what=f"more than {MAX_COMMANDS} commands",
                    remedy="is this the script that starts the training?",
                )
            self._step(command, nesting)
        if not nesting:
            self._close()

    def _step(self, command: RawCommand, nesting: int) -> None:
        words = self._unwrapped(command.words)
        if not words:
            return
        if self._flow.collecting:
            self._flow.add_condition(self._tested(words), command.after)
            return
        if self._flow.state == "passed":
            return
        declares = _plain(words[0]) in _DECLARING
        rest = words[1:] if declares else words
        if declares:
            rest = tuple(word for word in rest if not _plain(word).startswith("-"))
        assigned = [_assigned_name(word) for word in rest]
        if assigned and (all(assigned) or declares):
            for word, name in zip(rest, assigned, strict=True):
                if name:
                    self._assign(word, exported=_plain(words[0]) == "export")
            return
        self._command(words, command.line, nesting)

    def _unwrapped(self, words: tuple[RawWord, ...]) -> tuple[RawWord, ...]:
        """Return *words* without the shell's own, which open and close blocks."""
        while words:
            word = _plain(words[0])
            if word in _BLOCKS:
                self._flow.open(_BLOCKS[word])
                if word in {"for", "case", "select"}:
                    return ()
            elif word in _STEPS:
                getattr(self._flow, _STEPS[word])()
            elif word not in _PASSING:
                break
            words = words[1:]
        return words

    def _tested(self, words: tuple[RawWord, ...]) -> bool | None:
        said = [_script_word(one) for word in words for one in self._fields(word)]
        return condition_value([(word.text, not word.unexpanded) for word in said])

    def _assign(self, word: RawWord, *, exported: bool) -> None:
        found = _ASSIGNED.fullmatch(word.segments[0].text)
        assert found is not None
        name, index, more = found[1], found[2], found[3]
        if self._flow.state == "unsure" or index:
            self.script.conditional.append((name, word.line))
            return
        if name in self._given and word.items is None and not more:
            return  # what the user gives by hand wins
        if word.items is not None:
            fields = [one for item in word.items for one in self._fields(item)]
            old = self._arrays.get(name, []) if more else []
            self._arrays[name] = old + fields
            self._scalars.pop(name, None)
            return
        value = self._joined(_without_name(word, len(found[0]) - len(found[4])))
        if more and name in self._arrays:
            self._arrays[name].append(value)
        else:
            self._scalars[name] = (self._scalars.get(name, ()) if more else ()) + value
            self._arrays.pop(name, None)
        if exported:
            self.script.exported[name] = (_text(value), word.line)

    def _command(self, words: tuple[RawWord, ...], line: int, nesting: int) -> None:
        fields = [one for word in words for one in self._fields(word)]
        said = tuple(_script_word(one) for one in fields)
        if not said:
            return
        self._keep(said, line)
        if nesting < MAX_NESTING:
            for pieces in _inner_commands(fields):
                self.run(pieces, nesting + 1)

    def _keep(self, words: tuple[ScriptWord, ...], line: int) -> None:
        """Keep a command; one that begins with an option goes on with the command before it."""
        if not words[0].text.startswith("--") or not self._open:
            self._close()
            self._open_line, self._open_unsure = line, self._flow.state == "unsure"
        self._open.extend(words)

    def _close(self) -> None:
        if self._open:
            self.script.commands.append(
                ScriptCommand(
                    words=tuple(self._open), line=self._open_line, conditional=self._open_unsure
                )
            )
            self._open = []

    def _fields(self, word: RawWord) -> list[Field]:
        """Return the words that one word becomes."""
        fields: list[list[ScriptPiece]] = []
        current: list[ScriptPiece] | None = None
        for segment in word.segments:
            if segment.kind == "parameter" and _is_all(segment.text) and not segment.quoted:
                for part in self._items(segment):
                    current = self._split(part, current, fields)
                    fields.extend([] if current is None else [current])
                    current = None
            elif segment.kind == "parameter" and _is_all(segment.text):
                parts = self._items(segment)
                if parts and current is not None:
                    current.extend(parts[0])
                    parts = parts[1:]
                fields.extend([current] if current is not None else [])
                fields.extend(list(part) for part in parts[:-1])
                current = list(parts[-1]) if parts else None
            elif segment.quoted or segment.kind == "text":
                current = [*(current or []), *self._value(segment)]
            else:
                current = self._split(self._value(segment), current, fields)
        if current is not None:
            fields.append(current)
        return [tuple(one) for one in fields]

    def _split(
        self, value: Field, current: list[ScriptPiece] | None, fields: list[list[ScriptPiece]]
    ) -> list[ScriptPiece] | None:
        """Cut *value* at blanks; what is complete goes to *fields*, the rest is returned."""
        for piece in value:
            if piece.unknown:
                current = [*(current or []), piece]
                continue
            for index, part in enumerate(re.split(r"[ \t\r\n]+", piece.text)):
                if index and current is not None:
                    fields.append(current)
                    current = None
                if part:
                    current = [*(current or []), ScriptPiece(part, piece.line)]
        return current

    def _joined(self, word: RawWord) -> Field:
        """Return a word as the value of a variable: parts stay together."""
        found: list[ScriptPiece] = []
        for segment in word.segments:
            if segment.kind == "parameter" and _is_all(segment.text):
                for item in self._items(segment):
                    found.extend([*item, ScriptPiece(" ", segment.line)])
            else:
                found.extend(self._value(segment))
        return tuple(found)

    def _items(self, segment: Segment) -> list[Field]:
        found = _PARAMETER.fullmatch(segment.text)
        name = found[1] if found else ""
        if name in self._arrays:
            self._grow(
                sum(len(p.text) + 16 for one in self._arrays[name] for p in one), segment.line
            )
            return self._arrays[name]
        if name in self._scalars:
            return [self._scalars[name]]
        return [_unknown(segment)]

    def _value(self, segment: Segment) -> Field:
        if segment.kind == "text":
            found: Field = (ScriptPiece(segment.text, segment.line),)
        elif segment.kind == "output":
            found = (ScriptPiece(segment.text, segment.line, unknown=True),)
        elif segment.kind == "arithmetic":
            number = shell_sum(segment.text, self._number)
            text = f"$(({segment.text}))" if number is None else str(number)
            found = (ScriptPiece(text, segment.line, unknown=number is None),)
        else:
            found = self._parameter(segment)
        self._grow(sum(len(piece.text) for piece in found), segment.line)
        return found

    def _number(self, name: str) -> int | None:
        text = _text(self._scalars.get(name, ())).strip()
        return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None

    def _parameter(self, segment: Segment) -> Field:
        found = _PARAMETER.fullmatch(segment.text)
        if found is None:
            return _unknown(segment)
        name, operator, other = found[1], found[3] or "", found[4] or ""
        value = self._scalars.get(name)
        if value is None and self._arrays.get(name):
            value = self._arrays[name][0]
        if operator.endswith("+"):
            return self._inner(other, segment) if value else ()
        if value is not None and (value or not operator.startswith(":")):
            return value
        if operator.endswith(("-", "=")):
            return self._default(name, other, segment, keep=operator.endswith("="))
        return _unknown(segment)

    def _default(self, name: str, text: str, segment: Segment, *, keep: bool) -> Field:
        value = self._inner(text, segment)
        self.script.defaults.setdefault(name, (_text(value), segment.line))
        if keep and self._flow.state == "followed":
            self._scalars[name] = value
        return value

    def _inner(self, text: str, segment: Segment) -> Field:
        """Return the text of a default, itself expanded."""
        if len(text) > MAX_EXPANDED or text.count("${") > MAX_NESTING:
            return _unknown(segment)
        scanner = ShellScanner([ScriptPiece(f'"{_unquoted(text)}"', segment.line)], file=self._file)
        commands = list(scanner.commands())
        return self._joined(commands[0].words[0]) if commands else ()

    def _grow(self, num_chars: int, line: int) -> None:
        self._expanded += num_chars
        if self._expanded > MAX_EXPANDED:
            raise self._too_large(line)

    def _too_large(self, line: int) -> SpecError:
        return SpecError(
            file=self._file,
            line=line,
            what=f"variables expand to more than {MAX_EXPANDED} characters",
            remedy="write the arguments out",
        )


def _plain(word: RawWord) -> str:
    """Return a word that is plain text; empty when any part of it is not."""
    plain = all(segment.kind == "text" and not segment.quoted for segment in word.segments)
    return "".join(segment.text for segment in word.segments) if plain else ""


def _assigned_name(word: RawWord) -> str:
    first = word.segments[0] if word.segments else None
    if first is None or first.kind != "text" or first.quoted:
        return ""
    found = _ASSIGNED.fullmatch(first.text)
    return found[1] if found else ""


def _without_name(word: RawWord, num_chars: int) -> RawWord:
    first = word.segments[0]
    rest = type(first)(
        kind="text", text=first.text[num_chars:], line=first.line, quoted=first.quoted
    )
    return RawWord(segments=(rest, *word.segments[1:]), line=word.line)


def _is_all(text: str) -> bool:
    return text in {"@", "*"} or text.endswith(("[@]", "[*]")) or "[@]:" in text or "[@]-" in text


def _unknown(segment: Segment) -> Field:
    text = segment.text
    shown = f"${text}" if text.isidentifier() or text.isdecimal() else f"${{{text}}}"
    return (ScriptPiece(shown, segment.line, unknown=True),)


def _unquoted(text: str) -> str:
    return text.replace('"', "").replace("'", "")


def _text(value: Field) -> str:
    return "".join(piece.text for piece in value)


def _script_word(one: Field) -> ScriptWord:
    lines = [piece.line for piece in one if piece.text and piece.line]
    unknown = next((piece.text for piece in one if piece.unknown), "")
    return ScriptWord(text=_text(one), line=lines[0] if lines else 0, unexpanded=unknown)


def _inner_commands(fields: list[Field]) -> Iterator[list[ScriptPiece]]:
    """Yield the text that ``sh -c TEXT`` and ``eval TEXT`` among the words would run."""
    words = [_text(one) for one in fields]
    if words[0] == "eval":
        # Several in a row run the same as one.
        first = next((at for at, word in enumerate(words) if word != "eval"), len(words))
        yield [piece for one in fields[first:] for piece in (*one, ScriptPiece(" ", 0))]
    for index, word in enumerate(words[:-2]):
        if word.rsplit("/", 1)[-1] in {"sh", "bash"} and re.fullmatch(
            r"-[a-z]*c", words[index + 1]
        ):
            yield list(fields[index + 2])
