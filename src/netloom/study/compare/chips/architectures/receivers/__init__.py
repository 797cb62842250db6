"""Receivers and egress ports that grant what may be sent."""

from __future__ import annotations
