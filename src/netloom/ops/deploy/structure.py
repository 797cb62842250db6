"""Configurations as sets of settings, each with its place: what is compared instead of lines."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["Setting", "differences", "leaves", "reading", "sections", "unknown_to"]

Setting = tuple[str, ...]

MAX_DEPTH: Final = 40
_MAX_SHOWN: Final = 200  # characters of a setting
_CLOSING: Final = frozenset({"!", "exit", "end", "exit-address-family", "exit-vrf", "next"})


@contextmanager
def reading(where: str, form: str) -> Iterator[None]:
    """Refuse a configuration of a *form* that does not hold what it must.

    Raises:
        SpecError: a number in it is none.
    """
    try:
        yield
    except (ValueError, IndexError, OverflowError, SpecError) as error:
        raise SpecError(what=f"{where}: is not {form} ({error})", remedy="correct it") from error


def unknown_to(
    read: Callable[[Setting], bool], settings: Iterable[Setting], *, between: str = " > "
) -> list[str]:
    """Return the settings that *read* does not know; it takes what the others say."""
    return [between.join(path)[:_MAX_SHOWN] for path in settings if not read(path)]


def sections(text: str) -> list[Setting]:
    """Return the lines of a configuration that says by indentation what belongs where.

    Each with the lines that it stands under, itself last. Comments and words that close a section
    are left out; a line that others stand under is there by itself as well.
    """
    found: list[Setting] = []
    above: list[tuple[int, str]] = []
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped[0] in "!#" or stripped in _CLOSING:
            continue
        depth = len(line) - len(line.lstrip())
        while above and above[-1][0] >= depth:
            above.pop()
        above = [*above[:MAX_DEPTH], (depth, " ".join(stripped.split()))]
        found.append(tuple(word for _, word in above))
    return found


def leaves(value: Any, above: Setting = ()) -> Iterator[Setting]:
    """Yield every scalar of a JSON or YAML value under the keys that lead to it.

    Raises:
        SpecError: it is nested too deep.
    """
    if len(above) > MAX_DEPTH:
        raise SpecError(what="is nested too deep", remedy="give a device's own file")
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, (*above, str(key)))
    elif isinstance(value, list) and value:
        for item in value:
            yield from leaves(item, above)
    elif value is None or isinstance(value, dict | list):
        yield above
    else:
        yield (*above, str(value).lower() if isinstance(value, bool) else str(value))


def differences(running: Iterable[Setting], wanted: Iterable[Setting]) -> tuple[str, ...]:
    """Return what to remove and to add, in an order that keeps sections together.

    A setting that only changes its last word is one line: ``mtu: 1500 -> 9216``.
    """
    old, new = set(running), set(wanted)
    gone, more = sorted(old - new), sorted(new - old)
    changed = _changed(gone, more)
    lines = [
        (before, f"~ {' > '.join(before[:-1])}: {before[-1]} -> {after[-1]}")
        for before, after in changed
    ]
    seen = {one for pair in changed for one in pair}
    lines += [(one, f"- {' > '.join(one)}") for one in gone if one not in seen]
    lines += [(one, f"+ {' > '.join(one)}") for one in more if one not in seen]
    return tuple(text for _, text in sorted(lines))


def _changed(gone: list[Setting], more: list[Setting]) -> list[tuple[Setting, Setting]]:
    """Return the settings of which one is gone and one is new at the same place."""
    added = _by_place(more)
    return [
        (before[0], added[place][0])
        for place, before in _by_place(gone).items()
        if place and len(before) == 1 and len(added.get(place, ())) == 1
    ]


def _by_place(settings: list[Setting]) -> dict[Setting, list[Setting]]:
    found: dict[Setting, list[Setting]] = {}
    for one in settings:
        found.setdefault(one[:-1], []).append(one)
    return found
