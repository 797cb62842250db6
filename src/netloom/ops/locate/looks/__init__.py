"""Looks in a row: losses that add up, and which probes to send next."""
