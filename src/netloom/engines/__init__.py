"""How long a demand takes on a network."""

from __future__ import annotations
