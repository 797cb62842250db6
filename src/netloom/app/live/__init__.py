"""The live twin: what was designed, what is seen, and what is predicted, side by side."""
