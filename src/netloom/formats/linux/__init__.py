"""What ip, tc and nftables read and print."""

from __future__ import annotations
