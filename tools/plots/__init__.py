"""What draws pictures of the documentation."""

from __future__ import annotations
