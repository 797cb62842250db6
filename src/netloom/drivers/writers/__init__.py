"""Devices that are changed: one driver a kind, each with the pure part in formats beside it."""
