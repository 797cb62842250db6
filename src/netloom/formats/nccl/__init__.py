"""NCCL's log and the setup it tells of, and the settings of hosts that run it."""

from __future__ import annotations
