"""Congestion apart from faults: read from what ports count, and told with its source."""
