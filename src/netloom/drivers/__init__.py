"""Processes, namespaces, sockets and devices: one thin module each."""

from __future__ import annotations
