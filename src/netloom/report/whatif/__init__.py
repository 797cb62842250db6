"""What a failure, a neighbour or a placement does, as text and as pages."""

from __future__ import annotations
