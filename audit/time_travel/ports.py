"""Protocols of the services that Time Travel uses and that belong to higher layers.

In: nothing. Out: protocols for records, policies and sessions; `audit.services` passes the implementations.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import SparkSession

    from audit.core.actor import Actor
    from audit.spark.delta.values import NewCopy
    from audit.spark.handler import Run
    from audit.time_travel.backups.content.backup_content import ObjectGrant
    from audit.time_travel.backups.rules.requests import BackupSecurable, Privileges
    from audit.time_travel.dropped.drop_registry import ObjectEvent
    from audit.time_travel.versions.changes import RecordedChange
    from audit.time_travel.versions.recorded import RecordedStatement
    from lineage.model import Domain


class RecordStore(Protocol):
    """The records of all statements so far."""

    def recorded(self, query_id: str) -> RecordedStatement | None:
        """A statement with the versions that it read; None for an unknown query id."""
        ...

    def changes_since(self, query_id: str) -> Sequence[RecordedChange] | None:
        """A statement, and every later one that changed something; None for an unknown query id."""
        ...

    def running_since(self) -> int | None:
        """When the oldest statement began that still runs, UTC microseconds; None where none does."""
        ...


class Governance(Protocol):
    """The part of the policies that Time Travel uses."""

    def copy(self, new: NewCopy, made: int | None = None) -> None:
        """Protect a clone like its source, before it is created.

        Args:
            new: the clone, or what a backup gives back.
            made: when the backup was made, UTC microseconds: what protected the source then protects it,
                too. None for a clone.
        """
        ...

    def copy_views(
        self, views: Sequence[tuple[Sequence[str], Sequence[str]]], made: int | None = None
    ) -> None:
        """Protect views like others, before they are created: each source and its clone, names in full."""
        ...

    def dropped_since(self, table_ids: Iterable[str], made: int) -> Sequence[str]:
        """The names of the policies that tables had at a moment, and that are dropped now."""
        ...

    def require_no_backup(self, spark: SparkSession, place: str) -> None:
        """Refuse the files of a backup to a statement that works on a table by its path.

        Raises:
            AccessDeniedError: the place belongs to a backup.
        """
        ...

    def require_schema_drop(self, spark: SparkSession, name: str) -> None:
        """Refuse to drop a schema with tables that policies read.

        Raises:
            AccessDeniedError: it has some, and this is no administrator.
        """
        ...

    def require_retention(self, spark: SparkSession, table_id: str) -> None:
        """Refuse to change how long a table, by Delta's id, is kept.

        Raises:
            AccessDeniedError: policies hide some of it from this user, who is no administrator, and no
                privileges are enforced.
        """
        ...

    def require_undrop(self, dropped: ObjectEvent, actor: Actor) -> None:
        """Refuse an UNDROP without privileges.

        Raises:
            AccessDeniedError: a privilege is missing.
        """
        ...

    def shows_all_rows(self, table_id: str) -> bool:
        """Whether this thread's user may know how many rows and bytes a table (by Delta's id) has."""
        ...

    def owner_of(self, key: str) -> str | None:
        """Who was granted OWNERSHIP of `delta:<id>` or `schema:<name>`; None for nobody."""
        ...

    def backup_privileges(self, spark: SparkSession, actor: Actor) -> Privileges:
        """What an actor may do with backups; the names of tables are those of a session."""
        ...

    def own_backup(self, on: BackupSecurable, spark: SparkSession, actor: Actor) -> None:
        """Record who owns a backup policy or set, once it is created: the current role, or the user."""
        ...

    def require_restore(self, domain: Domain, name: Sequence[str], spark: SparkSession, actor: Actor) -> None:
        """Refuse CREATE … FROM BACKUP SET to who may not create, or replace, a table or schema of that name.

        Raises:
            AccessDeniedError: a privilege is missing.
        """
        ...

    def grants_on(
        self, domain: Domain, name: Sequence[str], table_id: str | None
    ) -> Iterable[tuple[str, str, str, bool]]:
        """The grants on a table, view or function: privilege, USER or ROLE, grantee, WITH GRANT OPTION."""
        ...

    def own_restored(
        self,
        objects: Iterable[tuple[Domain, Sequence[str]]],
        grants: Iterable[ObjectGrant],
        spark: SparkSession,
        actor: Actor,
    ) -> None:
        """Record who owns restored objects, by domain and full name, and what they grant."""
        ...

    def forget_backup(self, on: BackupSecurable, actor: Actor) -> None:
        """Forget owner and grants of a backup policy or set, once it is dropped."""
        ...

    def show(self, spark: SparkSession, text: str, actor: Actor, run: Run) -> Any | None:
        """The result of a SHOW of policies, tags, roles or grants; None for any other text."""
        ...


class Sessions(Protocol):
    """See `audit.analysis.sessions.Sessions`."""

    def quiet(self, spark: SparkSession) -> AbstractContextManager[None]:
        """A block in which what a session runs belongs to no statement."""
        ...
