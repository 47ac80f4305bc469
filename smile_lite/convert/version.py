"""The version of the converter: it is recorded with every graph, and a graph of an older one is made anew."""

__all__ = ["CONVERTER_VERSION"]

CONVERTER_VERSION = 4
