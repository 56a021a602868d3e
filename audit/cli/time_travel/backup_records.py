"""What `audit backup run` has made and deleted is on record, as statements that do the same would be.

In: what a run did. Out: entries of a spool, which the next ingest brings into the tables; a line on stderr
where they cannot be written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from audit.cli.on_record import kept_text
from audit.core.config import tagging_of
from audit.core.guard import attempt
from audit.core.origin import measured
from audit.policies.model.privileges import ADMIN
from audit.record.access_record import Ended, Finding, Started, build_row, issued
from lineage.catalog.object_ids import object_id
from lineage.model import Access, Domain, Json, ObjectDdl
from lineage.names import split_name, sql_name

if TYPE_CHECKING:
    from audit.cli.output import Output
    from audit.cli.tool import Tool
    from audit.spool import Spool
    from audit.time_travel.backups.service import BackupRun

_KIND, _ACTION = "ALTER_BACKUP_SET", "audit backup run"


@dataclass(frozen=True, slots=True)
class DoneRun:
    """What a run did with one backup, and from when to when, UTC microseconds."""

    run: BackupRun
    began: int
    ended: int


def record_runs(tool: Tool, output: Output, done: Iterable[DoneRun]) -> None:
    """Record the backups that a run has made, and those that it has deleted.

    Args:
        tool: of the command.
        output: gets the line.
        done: what was done; what failed, or was left to another run, has changed nothing.
    """
    changes = [(one, change) for one in done if (change := _change(one.run)) is not None]
    if changes:
        attempt(
            lambda: _write(tool, changes),
            lambda error: output.progress(f"what was done is in backup_history, and not on record: {error}"),
        )


def _write(tool: Tool, changes: list[tuple[DoneRun, tuple[str, Json]]]) -> None:
    origin, tagging = measured(), tagging_of(tool.config)
    with tool.spool() as (spool, _, ids):
        for one, (clause, properties) in changes:
            name = one.run.backup_set
            text = kept_text(f"ALTER BACKUP SET {sql_name(split_name(name))} {clause}", tool.config)
            # Who may write the files of the root is an administrator.
            began = Started(
                ids.new(), one.began, tool.config.user, text, _KIND, _ACTION, is_sql=True, role_name=ADMIN
            )
            _append(spool, issued(began, origin, tagging), name, properties, one.ended)


def _change(one: BackupRun) -> tuple[str, Json] | None:
    """The clause of ALTER BACKUP SET that does the same, and what it changes; None for nothing."""
    if one.what == "CREATED":
        made = {one.backup_id: {"subOperationType": "ADD", "isScheduled": {"value": True}}}
        return "ADD BACKUP", {"backups": made}
    if one.what == "EXPIRED":
        gone = {one.backup_id: {"subOperationType": "DROP", "isExpired": {"value": True}}}
        return f"DELETE BACKUP IDENTIFIER '{one.backup_id}'", {"backups": gone}
    return None


def _append(spool: Spool, started: Started, name: str, properties: Json, end: int) -> None:
    ended, domain = Ended("SUCCESS", end), Domain.BACKUP_SET
    ddl = ObjectDdl(name, domain, "ALTER", object_id(domain.value, name), properties)
    row = build_row(started, ended, Finding(Access(_KIND, object_modified_by_ddl=ddl), "text"))
    spool.start(started.query_id, started.to_dict())
    spool.end(started.query_id, ended.to_dict())
    spool.record(started.query_id, row, "now")
