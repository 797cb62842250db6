"""Routes: one file a page."""
