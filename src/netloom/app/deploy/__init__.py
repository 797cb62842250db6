"""A deployment's files: rendered, checked with the real programs, compared and applied."""

from __future__ import annotations
