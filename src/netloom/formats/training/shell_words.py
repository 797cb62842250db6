"""Cut a shell script into commands and words, each with its line; nothing is executed.

What is understood: quotes, line continuation, comments, ``$NAME`` and ``${...}``, arithmetic,
arrays, here-documents (skipped), and the separators of commands. Everything else is kept as text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["RawCommand", "RawWord", "ScriptPiece", "Segment", "ShellScanner"]

MAX_NESTING: Final = 16
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]|[@*#?$!-]")
_ARRAY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=\(")
_HERE: Final = re.compile(r"<<-?\s*(['\"]?)([A-Za-z_][A-Za-z0-9_]*)\1")
_CLOSERS: Final = {"(": ")", "{": "}"}


@dataclass(frozen=True, slots=True)
class ScriptPiece:
    """Text of one line; *unknown* where it stands for what only the surroundings know."""

    text: str
    line: int
    unknown: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A part of a word.

    Attributes:
        kind: Plain text, a parameter, arithmetic, or the output of a command.
        text: What stands inside.
        line: Where.
        quoted: Whether the parts stay one word.
    """

    kind: Literal["text", "parameter", "arithmetic", "output"]
    text: str
    line: int
    quoted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RawWord:
    """A word before expansion; *items* are the words of an array that is assigned."""

    segments: tuple[Segment, ...]
    line: int
    items: tuple[RawWord, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RawCommand:
    """The words of one command, and what stands behind it: a newline, ``;``, ``&&``, ``||``..."""

    words: tuple[RawWord, ...]
    line: int
    after: str = ""


class ShellScanner:
    """Cuts text into commands.

    Args:
        pieces: The text, with the line of each piece.
        file: What messages call the file.
    """

    def __init__(self, pieces: Sequence[ScriptPiece], *, file: str) -> None:
        self._text = "".join(piece.text for piece in pieces)
        self._file = file
        self._starts: list[int] = []
        self._lines: list[int] = []
        at = 0
        for piece in pieces:
            self._starts.append(at)
            self._lines.append(piece.line)
            at += len(piece.text)
        self._at = 0
        self._here: list[str] = []

    def commands(self) -> Iterator[RawCommand]:
        """Yield the commands in order.

        Raises:
            SpecError: a quote or a bracket is never closed.
        """
        words: list[RawWord] = []
        while self._at < len(self._text):
            if self._blank() or self._here_document():
                continue
            if separator := self._separator():
                if words:
                    yield RawCommand(words=tuple(words), line=words[0].line, after=separator)
                words = []
                continue
            words.append(self._word())
        if words:
            yield RawCommand(words=tuple(words), line=words[0].line)

    def _line(self, at: int | None = None) -> int:
        if not self._starts:
            return 1
        found = bisect_right(self._starts, self._at if at is None else at) - 1
        return self._lines[max(found, 0)]

    def _open(self, start: int, what: str) -> SpecError:
        return SpecError(
            file=self._file,
            line=self._line(start),
            what=f"{what} is never closed",
            remedy="is this a shell script or an argument list?",
        )

    def _blank(self) -> bool:
        """Skip blanks, continued lines and comments."""
        text, at = self._text, self._at
        if text[at] in " \t\r":
            self._at += 1
        elif text.startswith(("\\\n", "\\\r\n"), at):
            self._at = text.index("\n", at) + 1
        elif text[at] == "#":
            end = text.find("\n", at)
            self._at = len(text) if end < 0 else end
        else:
            return False
        return True

    def _here_document(self) -> bool:
        """Note ``<<EOF``; skip the document once its line has ended."""
        if self._text.startswith("<<", self._at) and (found := _HERE.match(self._text, self._at)):
            self._here.append(found[2])
            self._at = found.end()
            return True
        return False

    def _separator(self) -> str:
        char = self._text[self._at]
        if char not in "\n;&|()":
            return ""
        if char in "&|" and self._text.startswith(char * 2, self._at):
            self._at += 2
            return char * 2
        self._at += 1
        if char == "\n":
            for name in self._here:
                self._skip_document(name)
            self._here.clear()
        return char

    def _skip_document(self, name: str) -> None:
        ended = re.compile(rf"^[ \t]*{re.escape(name)}[ \t\r]*$", re.MULTILINE)
        found = ended.search(self._text, self._at)
        self._at = len(self._text) if found is None else found.end()

    def _word(self) -> RawWord:
        line = self._line()
        if found := _ARRAY.match(self._text, self._at):
            name = found[0][:-1]
            start, self._at = self._at, found.end()
            head = Segment(kind="text", text=name, line=line, quoted=False)
            return RawWord(segments=(head,), line=line, items=self._items(start))
        return RawWord(segments=tuple(self._segments("\n;&|() \t\r", quoted=False)), line=line)

    def _items(self, start: int) -> tuple[RawWord, ...]:
        """Return the words up to the bracket that closes an array."""
        items: list[RawWord] = []
        while self._at < len(self._text):
            if self._text[self._at] == ")":
                self._at += 1
                return tuple(items)
            if self._text[self._at] == "\n":
                self._at += 1
            elif not self._blank():
                if self._text[self._at] in ";&|(":
                    self._at += 1
                    continue
                items.append(self._word())
        raise self._open(start, "the array")

    def _segments(self, stops: str, *, quoted: bool) -> Iterator[Segment]:
        """Yield the parts of a word up to one of *stops*, which is left standing."""
        plain: list[str] = []
        start = self._at
        while self._at < len(self._text) and self._text[self._at] not in stops:
            char = self._text[self._at]
            if char in "\"'`$" and not (char == "'" and quoted):
                if plain:
                    yield self._literal(plain, start, quoted=quoted)
                    plain = []
                before = self._at
                yield from self._special(char, quoted=quoted)
                if self._at == before:  # a lone dollar
                    plain.append(char)
                    self._at += 1
                start = self._at
            elif char == "\\":
                ends_line = self._text.startswith(("\\\n", "\\\r\n"), self._at)
                plain.append(self._escaped(quoted=quoted))
                if ends_line:
                    yield self._literal(plain, start, quoted=quoted)
                    plain, start = [], self._at
            else:
                plain.append(char)
                self._at += 1
                if char == "\n":
                    yield self._literal(plain, start, quoted=quoted)
                    plain, start = [], self._at
        if plain:
            yield self._literal(plain, start, quoted=quoted)

    def _literal(self, plain: list[str], start: int, *, quoted: bool) -> Segment:
        at = min(start, len(self._text) - 1)
        return Segment(kind="text", text="".join(plain), line=self._line(at), quoted=quoted)

    def _escaped(self, *, quoted: bool) -> str:
        following = self._text[self._at + 1 : self._at + 2]
        if self._text.startswith("\r\n", self._at + 1):
            self._at += 3
            return " " if quoted else ""
        self._at += 2
        if following == "\n":
            return " " if quoted else ""
        if quoted and following not in '"\\$`':
            return "\\" + following
        return following

    def _special(self, char: str, *, quoted: bool) -> Iterator[Segment]:
        if char == "'":
            yield self._single()
        elif char == '"':
            yield from self._double()
        elif char == "`":
            yield self._enclosed("`", "output", quoted=quoted)
        else:
            yield from self._dollar(quoted=quoted)

    def _single(self) -> Segment:
        start = self._at
        end = self._text.find("'", start + 1)
        if end < 0:
            raise self._open(start, "the quote '")
        self._at = end + 1
        text = self._text[start + 1 : end]
        return Segment(kind="text", text=text, line=self._line(start), quoted=True)

    def _double(self) -> Iterator[Segment]:
        start = self._at
        self._at += 1
        yield Segment(kind="text", text="", line=self._line(start), quoted=True)
        yield from self._segments('"', quoted=True)
        if self._at >= len(self._text):
            raise self._open(start, 'the quote "')
        self._at += 1

    def _enclosed(self, closer: str, kind: Literal["output"], *, quoted: bool) -> Segment:
        start = self._at
        end = self._text.find(closer, start + 1)
        if end < 0:
            raise self._open(start, f"the quote {closer}")
        self._at = end + 1
        text = self._text[start : self._at]
        return Segment(kind=kind, text=text, line=self._line(start), quoted=quoted)

    def _dollar(self, *, quoted: bool) -> Iterator[Segment]:
        start, line = self._at, self._line()
        if self._text.startswith("$((", start):
            inside = self._bracketed(start + 1, "(")
            kind: Literal["arithmetic", "output"] = (
                "arithmetic" if inside.endswith(")") and inside.startswith("(") else "output"
            )
            yield Segment(kind=kind, text=inside[1:-1], line=line, quoted=quoted)
        elif self._text.startswith("$(", start):
            inside = self._bracketed(start + 1, "(")
            yield Segment(kind="output", text=f"$({inside})", line=line, quoted=quoted)
        elif self._text.startswith("${", start):
            inside = self._bracketed(start + 1, "{")
            yield Segment(kind="parameter", text=inside, line=line, quoted=quoted)
        elif found := _NAME.match(self._text, start + 1):
            self._at = found.end()
            yield Segment(kind="parameter", text=found[0], line=line, quoted=quoted)

    def _bracketed(self, start: int, opener: str) -> str:
        """Return what stands between the bracket at *start* and the one that closes it."""
        closer, depth, at = _CLOSERS[opener], 0, start
        while at < len(self._text):
            char = self._text[at]
            depth += (char == opener) - (char == closer)
            if depth > MAX_NESTING:
                break
            at += 2 if char == "\\" else 1
            if depth == 0:
                self._at = at
                return self._text[start + 1 : at - 1]
        raise self._open(start, f"the bracket {opener}")
