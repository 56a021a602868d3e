"""The demo: `python -m examples.demo`."""
