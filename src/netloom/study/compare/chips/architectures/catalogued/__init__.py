"""What no engine runs: radix, power, failures and price alone."""

from __future__ import annotations
