"""How early degrading optics are called, and how often healthy ones are, on simulated traces."""
