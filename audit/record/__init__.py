"""The ACCESS_HISTORY record of one statement."""
