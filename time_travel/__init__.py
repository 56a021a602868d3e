"""Time Travel: versioned reads, UNDROP, CLONE, RESTORE, retention, for the statements of an audited session.

`adopt` brings tables of before under the rule; `plan_undo` says how to take a statement back.
"""

from time_travel.bringing_back import adopt, plan_undo
from time_travel.undo_plan import Step, UndoPlan

__all__ = ["Step", "UndoPlan", "adopt", "plan_undo"]
