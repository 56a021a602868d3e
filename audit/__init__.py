"""Access history for Spark and Delta Lake."""
