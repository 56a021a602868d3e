"""Names to objects, as Spark's catalog resolves them."""
