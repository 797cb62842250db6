"""Names that a package exports, imported when first asked for.

Commands name the packages of app/ at the top of their modules; their help must not wait for
numpy and pydantic.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["exports"]


def exports(package: str, homes: dict[str, tuple[str, ...]]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of *package*: each name comes from the module it is listed under.

    Args:
        package: Its ``__name__``.
        homes: The names that each module, by its full name, gives.
    """
    home = {name: module for module, names in homes.items() for name in names}

    def get(name: str) -> object:
        if name not in home:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message)
        found: object = getattr(import_module(home[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    return get
