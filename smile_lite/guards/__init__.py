"""What similarity cannot see: numbers, units, dates, yes and no, negation, opposites, hedging, refusals.

`flags` looks at question, reference and prediction and names what it finds; `FLAGS` says what each name means and
what `decide` makes of it. Rules over words: nothing here knows rows, models or scores.
"""

from smile_lite.guards.catalogue import FLAGS, GUARDS_VERSION, Flag, decide
from smile_lite.guards.check import flags, row_flags

__all__ = ["FLAGS", "GUARDS_VERSION", "Flag", "decide", "flags", "row_flags"]
