"""What this package relies on inside PySpark, Spark and Delta: one table, and the probe that checks it."""
