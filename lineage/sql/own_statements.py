"""Tells which statements this project runs itself, or checks before Spark runs them (DROP, VACUUM).

In: a parsed statement. Out: whether it is one. `WORDS` finds every text that may hold one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineage.sql.commands.backups.statements import BackupStatement
from lineage.sql.commands.create import CreateSchema, CreateTable
from lineage.sql.commands.governance.grant import PrivilegeChange, ShowGrants
from lineage.sql.commands.governance.policy import PolicyChange, TablePolicyChange
from lineage.sql.commands.governance.role import RoleChange, UseRole
from lineage.sql.commands.governance.set_policies import SetPolicies, TagChange
from lineage.sql.commands.show import ShowGovernance, ShowObjects
from lineage.sql.commands.time_travel.at_before import BadClause, VersionClause
from lineage.sql.commands.time_travel.drop import Drop
from lineage.sql.typed import OfTimeTravel

if TYPE_CHECKING:
    from lineage.sql.statement import Statement

Governs = (
    PolicyChange | PrivilegeChange | RoleChange | SetPolicies | ShowGovernance | ShowGrants
    | TablePolicyChange | TagChange | UseRole
)  # fmt: skip
"""Statements about policies, tags, roles and privileges."""

WORDS = (
    r"\b(?:AT|BEFORE|CLONE|TRANSIENT|RESTORE|UNDROP|VACUUM|DROP|HISTORY|PARAMETERS"
    r"|DATA_RETENTION_TIME_IN_DAYS|MIN_DATA_RETENTION_TIME_IN_DAYS|MAX_TIME_TRAVEL_HOURS"
    r"|POLICY|POLICIES|BACKUPS?|SNAPSHOTS?|MASK|FILTER|TAGS?|ROLES?|GRANTS?|REVOKE|COPY|OF)\b|->>|@v?\d"
)
"""A regular expression of Java and Python, in any case: a text that it does not find in is none of these."""


def is_copy(statement: Statement) -> bool:
    """Whether a statement is COPY INTO, which Spark lacks."""
    return statement.statement_type in ("COPY", "UNLOAD") and statement.tree is not None


def is_own(statement: Statement) -> bool:
    """Whether a statement is answered by this project, not by Spark alone.

    >>> from lineage.sql.parse import parse
    >>> [is_own(parse(text)) for text in ("UNDROP TABLE t", "VACUUM t", "SHOW TABLES", "SELECT 1")]
    [True, True, False, False]
    """
    if statement.changes or is_copy(statement):
        return True
    match statement.typed:
        case CreateTable() | CreateSchema() as create:
            # Spark's parser knows neither TRANSIENT nor retention; a CREATE without them is Spark's.
            return bool(create.spans.removed)
        case Drop(temporary=temporary):
            # A temporary function ends with its session: nothing is kept of it for UNDROP.
            return not temporary
        case ShowObjects(history=history):
            # SHOW TABLES and SHOW SCHEMAS are Spark's own statements; HISTORY is Snowflake's.
            return history
        case typed:
            return isinstance(typed, (BackupStatement, Governs, OfTimeTravel))


def own_points(statement: Statement) -> tuple[VersionClause | BadClause, ...]:
    """The clauses AT | BEFORE of a statement, which Spark's grammar lacks.

    >>> from lineage.sql.parse import parse
    >>> len(own_points(parse("SELECT * FROM t AT (OFFSET => -60), u VERSION AS OF 3")))
    1
    """
    return tuple(point for point in statement.points if isinstance(point, BadClause) or point.own)
