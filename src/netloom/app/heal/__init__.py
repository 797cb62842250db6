"""What can be done about a broken part, and may it be done?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.app.lazy import exports

if TYPE_CHECKING:
    from netloom.app.heal.request import (
        UndoReport,
        heal,
        policy_from,
        undo,
    )
    from netloom.app.heal.run import (
        HealReport,
        HealStep,
        HealTarget,
    )
    from netloom.app.heal.target import (
        target_of,
    )

__all__ = [
    "HealReport",
    "HealStep",
    "HealTarget",
    "UndoReport",
    "heal",
    "policy_from",
    "target_of",
    "undo",
]

__getattr__ = exports(
    __name__,
    {
        "netloom.app.heal.request": (
            "UndoReport",
            "heal",
            "policy_from",
            "undo",
        ),
        "netloom.app.heal.run": (
            "HealReport",
            "HealStep",
            "HealTarget",
        ),
        "netloom.app.heal.target": ("target_of",),
    },
)
