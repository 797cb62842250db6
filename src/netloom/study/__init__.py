"""Many runs put to a question."""

from __future__ import annotations
