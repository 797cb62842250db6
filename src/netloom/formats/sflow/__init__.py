"""sFlow version 5: datagrams that switches send."""

from __future__ import annotations
