"""Optics and cables: how much margin a link has left, and when it is expected to drop."""
