"""What a site's switches have in common besides the fabric."""

from __future__ import annotations
