"""Synthetic answers: the reference phrased as a model would phrase it (SMILE, arXiv 2511.17432), made and checked."""
