"""NCCL's log, nccl-tests, and the settings of hosts that run them."""

from __future__ import annotations
