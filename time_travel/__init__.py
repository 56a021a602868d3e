"""Time Travel: versioned reads, UNDROP, CLONE, RESTORE, retention, for the statements of an audited session.

`read`, `diff` and `replay` read the past from Python; `adopt` brings tables of before under the rule;
`plan_undo` says how to take a statement back.
"""

from time_travel.bringing_back import adopt, plan_undo
from time_travel.face import diff, read, replay
from time_travel.points import Before, before
from time_travel.undo_plan import Step, UndoPlan

__all__ = ["Before", "Step", "UndoPlan", "adopt", "before", "diff", "plan_undo", "read", "replay"]
