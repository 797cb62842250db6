"""What a link and a transport cost: headers, latency, credits, headroom, recovery from loss."""

from __future__ import annotations
