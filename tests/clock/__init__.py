"""The clock of a test process that Python, Spark and Delta share."""
