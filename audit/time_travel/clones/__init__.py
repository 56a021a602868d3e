"""CREATE and CLONE."""
