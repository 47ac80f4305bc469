"""How fast, as a ratio against a named alternative in the same run."""
