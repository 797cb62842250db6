"""What nccl-tests should show, as text and as a page."""
