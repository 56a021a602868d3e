"""Ways round policies as a matrix: what is protected, what Spark and Delta offer, who asks."""
