"""What it costs to operate a fabric."""
