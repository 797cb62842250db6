"""Routing that does not do what the design says, and whose setting that is."""
