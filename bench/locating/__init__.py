"""Worlds and rows for ``bench.locate``: congestion, several faults, wrong paths, size."""
