"""Time Travel: versioned reads, UNDROP, CLONE, RESTORE, retention, for the statements of an audited session.

`adopt` brings tables of before under the rule.
"""

from time_travel.bringing_back import adopt

__all__ = ["adopt"]
