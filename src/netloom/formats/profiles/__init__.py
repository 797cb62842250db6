"""What profilers and training programs say about the steps they ran."""

from __future__ import annotations
