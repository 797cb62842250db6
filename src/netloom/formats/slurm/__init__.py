"""What Slurm prints."""
