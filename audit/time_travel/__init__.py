"""Time Travel: versioned reads, UNDROP, CLONE, RESTORE, retention, for the statements of an audited session.

`read`, `diff` and `replay` read the past from Python; `adopt` brings tables of before under the rule;
`plan_undo` says how to take a statement back.
"""

from audit.time_travel.api import diff, read, replay
from audit.time_travel.undo_api import adopt, plan_undo
from audit.time_travel.versions.point_arguments import Before, before
from audit.time_travel.versions.undo_plan import Step, UndoPlan

__all__ = ["Before", "Step", "UndoPlan", "adopt", "before", "diff", "plan_undo", "read", "replay"]
