"""What a switch that boots for the first time is told: by DHCP, then by HTTP."""

from __future__ import annotations
