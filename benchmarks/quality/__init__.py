"""How well scores and verdicts agree with people."""
