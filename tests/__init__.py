"""Tests mirror the modules; each is named by the behaviour it holds."""
