"""Jobs: commands that run on in processes of their own, with progress, and keep what they found."""
