"""What every device of a site is to be told, before it is written in any device's language."""

from __future__ import annotations
