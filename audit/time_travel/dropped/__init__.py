"""DROP and UNDROP."""
