"""Reads of earlier versions: AT, BEFORE, RESTORE, diff, replay, undo plans."""
