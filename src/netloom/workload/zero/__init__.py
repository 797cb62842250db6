"""What ZeRO divides, and over which ranks."""
