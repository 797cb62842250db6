"""Real devices in a watch: asked side by side, each with a deadline, rests and a health."""
