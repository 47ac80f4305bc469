"""`python -m smile_lite` is `smile-lite`."""

from smile_lite.cli import main

main()
