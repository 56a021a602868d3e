"""`audit check` and `audit.expect`: each expectation fails where it should, and nowhere else."""
