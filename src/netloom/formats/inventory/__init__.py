"""Cabling lists, inventories and neighbours."""

from __future__ import annotations
