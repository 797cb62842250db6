"""What nccl-tests should show on a cluster, and why it shows less."""
