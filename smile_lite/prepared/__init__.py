"""Prepared sets: a folder that holds all of an evaluation set that does not depend on the predictions.

    SET.prepared/
        manifest.json        what it was made of and with, counts, and the sha256 of every other file
        rows.jsonl           id, question, references, synthetic answers, how each was made
        texts.jsonl          each unique text of the reference side, one JSON string a line
        vectors-*.npy        one file an encoder: float32 [texts, dimensions], in the order of texts.jsonl

Data only. Every part has a key (of the set, the generator, the word rules, the encoder); what does not fit is refused.
"""

from smile_lite.prepared.folder import PreparedSet, open_prepared
from smile_lite.prepared.join import Joined, join_prepared
from smile_lite.prepared.vectors import KnownVectors

__all__ = ["Joined", "KnownVectors", "PreparedSet", "join_prepared", "open_prepared"]
