"""What the audit costs: one benchmark a file, all of them by `python -m benchmarks`."""
