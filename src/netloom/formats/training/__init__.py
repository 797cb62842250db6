"""How jobs are described to the frameworks that train them: arguments, scripts, recipes."""

from __future__ import annotations
