"""What the analysis asks of a catalog, and a catalog in memory."""
