"""How much buffer pauses need, what is left of it, and what breaks first."""
