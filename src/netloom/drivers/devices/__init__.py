"""Real devices: how each is asked, in time and within bounds."""
