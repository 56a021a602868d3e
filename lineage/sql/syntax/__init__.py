"""What sqlglot lacks of Spark's grammar."""
