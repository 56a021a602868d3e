"""Time Travel: reading the past of Delta tables, UNDROP, CLONE, retention."""

from time_travel.face import diff, read, replay
from time_travel.points import Before, before

__all__ = ["Before", "before", "diff", "read", "replay"]
