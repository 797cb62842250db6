"""Looks in a row: losses that add up, cables that settle, and which probes to send next."""
