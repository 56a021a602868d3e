"""What each kind of statement reads and writes."""
