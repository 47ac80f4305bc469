"""Measurements behind every figure in README: each a script with a README beside it and its result as JSON."""
