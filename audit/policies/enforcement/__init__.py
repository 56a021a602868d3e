"""What decides, and what makes Spark obey."""
