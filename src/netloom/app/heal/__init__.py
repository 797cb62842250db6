"""What can be done about a broken part, and may it be done?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.app.lazy import exports

if TYPE_CHECKING:
    from netloom.app.heal.report import (
        HealOrder,
        HealReport,
        HealStep,
        HealTarget,
    )
    from netloom.app.heal.request import (
        UndoReport,
        Verification,
        apply,
        approve,
        default_person,
        heal,
        plan,
        policy_from,
        site_of,
        undo,
        verify,
    )
    from netloom.app.heal.target import (
        target_of,
    )

__all__ = [
    "HealOrder",
    "HealReport",
    "HealStep",
    "HealTarget",
    "UndoReport",
    "Verification",
    "apply",
    "approve",
    "default_person",
    "heal",
    "plan",
    "policy_from",
    "site_of",
    "target_of",
    "undo",
    "verify",
]

__getattr__ = exports(
    __name__,
    {
        "netloom.app.heal.report": (
            "HealOrder",
            "HealReport",
            "HealStep",
            "HealTarget",
        ),
        "netloom.app.heal.request": (
            "UndoReport",
            "Verification",
            "apply",
            "approve",
            "default_person",
            "heal",
            "plan",
            "policy_from",
            "site_of",
            "undo",
            "verify",
        ),
        "netloom.app.heal.target": ("target_of",),
    },
)
