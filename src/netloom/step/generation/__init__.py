"""How fast a cluster makes pictures and films with a diffusion model."""
