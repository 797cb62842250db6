"""Registers: the things of one kind (topologies, formats, ...) by name, one entry a file.

A register finds its entries in three ways: the modules of its *home* package (and of packages in
it) that define ``ENTRY``, which is what netloom ships, :meth:`Register.add`, and the entry points
that other packages declare under its group. Modules are imported and entry points read when a
name is first looked up, never before; an entry point is loaded only when its own name is asked
for or all entries are.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Colour:
...     name: str
...     wavelength_nm: float
>>> colours = Register[Colour](kind="colour", traits=Colour)
>>> colours.add(Colour("red", 700.0)).wavelength_nm
700.0
>>> colours.get("rde")
Traceback (most recent call last):
...
netloom.errors.SpecError: colour: 'rde' is not known; did you mean 'red'?
"""

from __future__ import annotations

import difflib
from contextlib import suppress
from importlib import import_module
from pkgutil import iter_modules
from threading import RLock
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.metadata import EntryPoint

__all__ = ["Named", "Register"]


class Named(Protocol):
    """What every entry has."""

    @property
    def name(self) -> str:
        """What scenarios, options and files call it."""


E = TypeVar("E", bound=Named)


class Register(Generic[E]):
    """Entries of one kind by name.

    Args:
        kind: What an entry is, for messages: ``topology``.
        traits: The class (or protocol) of an entry: each attribute it declares is a trait, and an
            entry that lacks one is refused when it is added. None asks for a name alone.
        home: The package whose modules define netloom's own entries, each as ``ENTRY``.
        entry_point_group: Where other packages declare theirs: ``netloom.topologies``. An entry
            point has the entry's name and points at the entry.
    """

    def __init__(
        self,
        *,
        kind: str,
        traits: type[E] | None = None,
        home: str = "",
        entry_point_group: str = "",
    ) -> None:
        self.kind = kind
        self.entry_point_group = entry_point_group
        self._traits = frozenset({"name"} if traits is None else _traits(traits))
        self._home = home
        self._entries: dict[str, E] = {}
        self._points: dict[str, EntryPoint] | None = None
        self._lock = RLock()

    def add(self, entry: E) -> E:
        """Add *entry* and return it.

        Raises:
            TypeError: it lacks a trait.
            ValueError: its name is empty, or taken by another entry.
        """
        lacking = sorted(trait for trait in self._traits if not hasattr(entry, trait))
        if lacking:
            message = f"{self.kind} {entry!r} lacks {', '.join(lacking)}; give it every trait"
            raise TypeError(message)
        if not entry.name or self._entries.get(entry.name, entry) is not entry:
            message = f"{self.kind}: the name {entry.name!r} is empty or taken; choose another"
            raise ValueError(message)
        self._entries[entry.name] = entry
        return entry

    def get(self, name: str) -> E:
        """Return the entry called *name*.

        Raises:
            SpecError: there is none, or the package that declares it does not load.
        """
        with self._lock:
            self._settle()
            if name in self._entries:
                return self._entries[name]
            if name in self._others():
                return self._load(self._others()[name])
        message = f"{self.kind}: {name!r} is not known; {self.hint(name)}"
        raise SpecError(message)

    def names(self) -> tuple[str, ...]:
        """Return all names in order; entries of other packages are named without loading them."""
        with self._lock:
            self._settle()
            return tuple(sorted({*self._entries, *self._others()}))

    def shipped(self) -> tuple[str, ...]:
        """Return the names that are known without asking other packages."""
        with self._lock:
            self._settle()
            return tuple(sorted(self._entries))

    def entries(self) -> tuple[E, ...]:
        """Return all entries in the order of their names, those of other packages loaded.

        Raises:
            SpecError: a package that declares one does not load.
        """
        return tuple(self.get(name) for name in self.names())

    def usable(self) -> tuple[E, ...]:
        """Return all entries that load, in order; a package that does not is left out."""
        found = []
        for name in self.names():
            with suppress(SpecError):
                found.append(self.get(name))
        return tuple(found)

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def hint(self, name: str) -> str:
        """Return a remedy for a *name* that is not known: the closest, or all names."""
        by_lower = {known.lower(): known for known in self.names()}
        close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
        if close:
            return f"did you mean {by_lower[close[0]]!r}?"
        return f"choose one of {', '.join(self.names())}"

    def _settle(self) -> None:
        """Import netloom's own entries, once."""
        if not self._home:
            return
        home, self._home = self._home, ""
        try:
            for module in _modules(home):
                entry: E | None = getattr(import_module(module), "ENTRY", None)
                if entry is not None:
                    self.add(entry)
        except BaseException:
            self._home = home  # so that the next lookup fails likewise
            raise

    def _others(self) -> dict[str, EntryPoint]:
        """Return what other packages declare, by name; a shipped name stays netloom's own."""
        if self._points is None:
            self._points = {}
            for point in _entry_points(self.entry_point_group):
                known = self._points.setdefault(point.name, point)
                if known.value != point.value:
                    message = (
                        f"{self.kind}: {_owner(known)} and {_owner(point)} both declare "
                        f"{point.name!r}; uninstall one"
                    )
                    self._points = None
                    raise SpecError(message)
        return {name: at for name, at in self._points.items() if name not in self._entries}

    def _load(self, point: EntryPoint) -> E:
        # Whatever another package raises while it loads, the reader needs that package's name.
        try:
            entry: E = point.load()
            _check_name(entry, point)
            return self.add(entry)
        except Exception as error:
            message = (
                f"{self.kind}: {point.name!r}, declared by {_owner(point)} as {point.value}, does "
                f"not load ({type(error).__name__}: {error}); update or uninstall that package"
            )
            raise SpecError(message) from error


def _modules(package: str) -> Iterator[str]:
    """Yield the modules of *package* and of the packages in it, in order."""
    found = {at.name: at.ispkg for at in iter_modules(import_module(package).__path__)}
    for name in sorted(found):
        if found[name]:
            yield from _modules(f"{package}.{name}")
        else:
            yield f"{package}.{name}"


def _traits(entry: type) -> Iterator[str]:
    """Yield the public attributes that *entry* and its bases declare."""
    for base in entry.__mro__:
        if base.__module__ in {"builtins", "typing", "abc"}:
            continue
        yield from (name for name in vars(base).get("__annotations__", {}) if name[0] != "_")
        yield from (name for name in vars(base) if name[0] != "_")


def _check_name(entry: object, point: EntryPoint) -> None:
    found = getattr(entry, "name", None)
    if found != point.name:
        message = f"the entry is called {found!r}"
        raise ValueError(message)


def _entry_points(group: str) -> tuple[EntryPoint, ...]:
    if not group:
        return ()
    # Takes 20 ms to import: only who asks for a name that netloom does not ship pays.
    metadata = import_module("importlib.metadata")
    return tuple(metadata.entry_points(group=group))


def _owner(point: EntryPoint) -> str:
    return "an unnamed package" if point.dist is None else f"{point.dist.name} {point.dist.version}"
