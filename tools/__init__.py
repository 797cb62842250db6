"""Programs that write tables, plots and pages of the documentation."""
