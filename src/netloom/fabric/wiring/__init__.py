"""Endpoints, switches, links and ways between them: the network as the packet engine sees it."""

from __future__ import annotations
