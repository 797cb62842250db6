"""What a job asks of the network."""

from __future__ import annotations
