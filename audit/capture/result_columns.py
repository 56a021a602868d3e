"""The columns of what a statement of this project gives back, before it has run.

In: a parsed statement. Out: columns as DDL. Spark resolves a command before it runs it, so it asks for them
first (`AuditedStatement.java`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.copy_into import COLUMNS as COPY_COLUMNS
from audit.policies.model.shown_grants import COLUMNS as GRANT_COLUMNS
from audit.policies.statements.show_policies import DESCRIBED, SHOWN
from audit.spark.pyspark_api.frames import MESSAGE_COLUMNS
from audit.time_travel.clones.clone_table import METRIC_COLUMNS
from audit.time_travel.errors import NotAQueryError
from audit.time_travel.retention.set_retention import PARAMETER_COLUMNS
from audit.time_travel.show_history import SCHEMA_COLUMNS, TABLE_COLUMNS
from lineage.sql.commands.create import CreateSchema, CreateTable
from lineage.sql.commands.governance.grant import ShowGrants
from lineage.sql.commands.show import ShowGovernance, ShowObjects
from lineage.sql.commands.time_travel.clone import CloneTable
from lineage.sql.commands.time_travel.drop import Drop
from lineage.sql.commands.time_travel.restore import Restore
from lineage.sql.commands.time_travel.retention import ShowParameters
from lineage.sql.commands.time_travel.statement_chain import StatementChain
from lineage.sql.commands.time_travel.vacuum import Vacuum
from lineage.sql.own_statements import Governs, is_copy

if TYPE_CHECKING:
    from lineage.sql.statement import Statement

# Of Delta 4.4's RestoreTableCommand and VacuumTableCommand.
_RESTORED = (
    "table_size_after_restore BIGINT, num_of_files_after_restore BIGINT, num_removed_files BIGINT,"
    " num_restored_files BIGINT, removed_files_size BIGINT, restored_files_size BIGINT"
)
_VACUUMED = "path STRING"


def columns_of(statement: Statement) -> str:  # noqa: C901, PLR0911  one return a type
    """The columns of the result of a statement of ours; "" for none.

    >>> from lineage.sql.parse import parse
    >>> columns_of(parse("UNDROP TABLE t")), columns_of(parse("DROP TABLE t"))
    ('status STRING', '')

    Raises:
        NotAQueryError: a chain of `->>`, whose columns are known when it has run.
    """
    typed = statement.typed
    # Spark (4.2) asks for the output of a command when it analyses it, before the command runs.
    match typed:
        case CloneTable():
            return METRIC_COLUMNS
        case CreateSchema() | CreateTable() | Drop():
            return ""
        case StatementChain():
            raise NotAQueryError(
                "->> works in spark.sql of an attached session alone, since nobody knows its columns before",
                "run its statements one by one",
            )
        case Restore():
            return _RESTORED
        case ShowGovernance(shows=shows) if shows is not None:
            return DESCRIBED if shows.name else SHOWN[shows.domain]
        case ShowGrants():
            return GRANT_COLUMNS
        case ShowObjects(noun="TABLES"):
            return TABLE_COLUMNS
        case ShowObjects():
            return SCHEMA_COLUMNS
        case ShowParameters():
            return PARAMETER_COLUMNS
        case Vacuum():
            return _VACUUMED
    if is_copy(statement):
        return COPY_COLUMNS
    creates = bool(statement.changes) and not isinstance(typed, Governs)
    return "" if creates else MESSAGE_COLUMNS
