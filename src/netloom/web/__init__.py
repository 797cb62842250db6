"""The web workbench: HTTP over the public API and :mod:`netloom.app`; no model lives here."""

from __future__ import annotations

from netloom.web.run import serve

__all__ = ["serve"]
