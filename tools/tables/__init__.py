"""Tables of the documentation, each by a command of its own."""
