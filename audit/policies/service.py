"""The governance of one root: its state, who asks, and what is enforced.

In: a session, a statement, its actor. Out: the handler of the statement, and the policies in force on a
relation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from audit.core.identity import acting
from audit.policies.enforcement.backup_privileges import BackupLookup, BackupPrivileges, backup_securable
from audit.policies.enforcement.enforcer import Enforcer
from audit.policies.enforcement.privilege_checks import CreationLookup, Privileges
from audit.policies.enforcement.session_roles import SessionRoles
from audit.policies.enforcement.tag_carrying import propagate_tags
from audit.policies.errors import AccessDeniedError, PolicyError
from audit.policies.governance_statements import GovernanceStatements
from audit.policies.model.changed import StateChanges
from audit.policies.model.event_log import EventLog
from audit.policies.model.events import NAME, GovernanceEvent
from audit.policies.model.leaks import leaks_of
from audit.policies.model.policy_references import Reference, references_of
from audit.policies.model.privileges import PUBLIC, Holder
from audit.policies.model.state import GovernanceState
from audit.policies.statements.copy_policies import (
    Former,
    copy_policies,
    copy_view_policies,
    dropped_since,
)
from audit.policies.statements.grant_ddl import restored_grants
from audit.spark import sessions
from audit.spark.catalog.existence import relation_exists
from lineage.model import Domain
from lineage.names import quote_name, split_name, sql_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.core.actor import Actor
    from audit.policies.enforcement.enforcer import CreatedObject
    from audit.policies.governance_statements import Staging
    from audit.policies.model.leaks import Downstream, Leak
    from audit.policies.model.privileges import Securable
    from audit.spark.delta.values import NewCopy
    from audit.spark.handler import Handler
    from audit.time_travel.backups.content.backup_content import ObjectGrant
    from audit.time_travel.backups.rules.requests import BackupSecurable
    from lineage.model import Attachment, ModifiedObject, Relation
    from lineage.sql.statement import Statement


class Policies:
    """The governance of one root.

    Args:
        own: a session of the system's own, which is not audited; nobody else uses it.
        root: of the audit tables, a Hadoop path.
        account: what current_account() says.
        admins: users who have role ACCOUNTADMIN, whatever is granted to them.
        audit_tables: names of the tables under the root; only the system writes to them.
        creations: looks up who created an object.
        graphs: gives the downstream lineage as of now.
        backup_location: the folder of all backups; only the system writes there, and few may read.
        backups: looks up a backup policy or a backup set; by default there is none.
        enforces: checks the privileges of every statement.
    """

    def __init__(
        self,
        own: SparkSession,
        root: str,
        account: str,
        admins: Sequence[str],
        audit_tables: Sequence[str],
        creations: CreationLookup,
        graphs: Callable[[], Downstream],
        *,
        backup_location: str,
        backups: BackupLookup = lambda _domain, _name: None,
        enforces: bool = False,
    ) -> None:
        self._graphs = graphs
        folders = (f"{root.rstrip('/')}/{name}" for name in (NAME, *audit_tables))
        self._enforcer = Enforcer(own, account, folders, backup_location)
        self._roles = SessionRoles(self._enforcer, admins)
        self._event_log = EventLog(own, root, self._update_enforcement)
        self._privileges = Privileges(
            self._enforcer, self._event_log, self._roles.roles_of, creations, backups
        )
        self._statements = GovernanceStatements(
            self._enforcer, self._event_log, self._roles, self._privileges
        )
        # Before any event: the administrators of the configuration have their role.
        self._enforcer.update_grants(GovernanceState(), (), self._roles.roles_by_holder(GovernanceState()))
        if enforces:
            self._enforcer.enforce_privileges()

    def install(self, spark: SparkSession, session_id: str, user: str, roles: Sequence[str]) -> None:
        """Install enforcement in a session, and set the user of threads that name none."""
        self._enforcer.install(spark)
        self._roles.add_session(self._event_log.state(), session_id, user, roles)

    def exempt(self, spark: SparkSession) -> None:
        """Exempt a session of the system's own from all policies."""
        self._enforcer.exempt(spark)

    def end(self) -> None:
        """Disable enforcement in this JVM."""
        self._enforcer.end()

    def set_identity(
        self, session_id: str, user: str, roles: Sequence[str], *, looks: bool = True
    ) -> tuple[GovernanceState, str]:
        """Set who runs the next statement of this thread; returns the state of governance and their token.

        Args:
            session_id: of their session.
            user: who; `as_user` has named them, or they are the session's own.
            roles: given to the session by the application; () for those granted to the user.
            looks: False takes the cached state and reads nothing.
        """
        state = self._event_log.state() if looks else self._event_log.known
        token = self._roles.token(state, session_id, user, roles)
        self._enforcer.thread.set(token if acting() else self._enforcer.thread.of_session(session_id))
        return state, token

    @contextmanager
    def acting_as(self, session_id: str, user: str, roles: Sequence[str]) -> Iterator[None]:
        """A block of `as_user`: whatever runs inside, by whatever way, has this identity."""
        with self._enforcer.thread.acting(self._roles.token(self._event_log.known, session_id, user, roles)):
            yield

    def state(self) -> GovernanceState:
        """The governance now."""
        return self._event_log.state()

    def attachments(
        self, relation: Relation, state: GovernanceState, token: str | None
    ) -> tuple[Attachment, ...]:
        """The policies in force on a relation in a state, each with whether it changes what a user sees."""
        if token is None:
            return state.attachments(relation)
        return state.attachments(
            relation,
            lambda policy: self._enforcer.could_change(token, policy, state.policies[policy].policy),
        )

    def attachments_at(
        self, moment: int, token: str | None = None
    ) -> Callable[[Relation], Sequence[Attachment]]:
        """See `attachments`; the state is that of a moment, in UTC microseconds."""
        return partial(self.attachments, state=self._event_log.state_at(moment), token=token)

    def role(self, session_id: str, user: str, roles: Sequence[str]) -> str:
        """The primary role: the one set by USE ROLE, else the first that the session was given."""
        return self._roles.primary(session_id, user, roles)

    def role_in_use(self, session_id: str, user: str) -> str | None:
        """The role that a user has set by USE ROLE in a session; None for none."""
        return self._roles.role_in_use(session_id, user)

    def has_tags(self) -> bool:
        """Whether any object has, or had, a tag; without one there is nothing to propagate."""
        state = self._event_log.state()
        return any(not state.tags[tag].dropped for tag in state.carriers)

    def propagate_tags(
        self, spark: SparkSession, written: Iterable[ModifiedObject], actor: Actor
    ) -> list[PolicyError]:
        """Tag written columns as their source columns are tagged.

        Args:
            spark: the session that knows the targets by their names.
            written: with the sources of each column.
            actor: whose statement it was.

        Returns:
            The tags that could not be set; all others are set.
        """
        return propagate_tags(self._enforcer, self._event_log, spark, written, actor)

    def handler_for(self, statement: Statement, staging: Staging | None = None) -> Handler | None:
        """See `GovernanceStatements.handler_for`."""
        return self._statements.handler_for(statement, staging)

    def governs(self, statement: Statement, spark: SparkSession) -> bool:
        """See `GovernanceStatements.governs`."""
        return self._statements.governs(statement, spark)

    def require_undrop(self, kind: str, name: Sequence[str], table_id: str | None, actor: Actor) -> None:
        """See `Privileges.require_undrop`."""
        self._privileges.require_undrop(kind, name, table_id, actor)

    def backup_privileges(self, spark: SparkSession, actor: Actor) -> BackupPrivileges:
        """See `Privileges.of_backups`."""
        return self._privileges.of_backups(spark, actor)

    def own_backup(self, on: BackupSecurable, spark: SparkSession, actor: Actor) -> None:
        """Record who owns a backup policy or set that this statement created: the current role, or the user.

        The enforcement rule of every driver learns it: who owns a backup set may read its files.
        """
        self._event_log.change(lambda _state: [self._created(backup_securable(on), spark, actor)])

    def require_restore(self, domain: Domain, name: Sequence[str], spark: SparkSession, actor: Actor) -> None:
        """See `Privileges.require_restore`; where privileges are not enforced, nobody needs one."""
        if not self._enforcer.enforces:
            return
        self._privileges.require_restore(domain, name, spark, actor)
        if domain is Domain.SCHEMA:
            self._enforcer.allow_new_schema(name[-1])  # nobody has a privilege on it yet

    def grants_on(
        self, domain: Domain, name: Sequence[str], table_id: str | None
    ) -> Iterator[tuple[str, str, str, bool]]:
        """See `Privileges.grants_on`."""
        return self._privileges.grants_on(domain, name, table_id)

    def own_restored(
        self,
        objects: Iterable[tuple[Domain, Sequence[str]]],
        grants: Iterable[ObjectGrant],
        spark: SparkSession,
        actor: Actor,
    ) -> None:
        """Record who owns objects that this statement restored, and what is granted on them.

        The current role owns them, or the user. It is the grantor as well: who owns an object may grant
        anything on it. No grant to a role that is gone comes back.

        Args:
            objects: domain and full name of each.
            grants: on these.
            spark: the session that ran it.
            actor: who ran it.
        """
        given = list(grants)
        # Else no privilege and no policy asks who owns an object.
        if not self._enforcer.notes_creations and not given:
            return
        # What the rule has noted of the restore's own statements: once more it would take the grants off.
        self._enforcer.created_objects(spark)
        owner, made, restored = self._holder(spark, actor), [], []
        for domain, name in objects:
            own = [one for one in given if one.domain is domain and one.name.lower() == name[-1].lower()]
            if not self._enforcer.notes_creations and not own:
                continue
            on = self._privileges.of_object(domain, name, spark)
            restored.append((on, own))
            if self._enforcer.notes_creations:
                made.append(self._created(on, spark, actor))
        self._event_log.change(
            lambda state: [
                *made,
                *(event for on, own in restored for event in restored_grants(on, own, owner, actor, state)),
            ]
        )

    def forget_backup(self, on: BackupSecurable, actor: Actor) -> None:
        """Forget owner and grants of a backup policy or set that is dropped for good."""
        gone = backup_securable(on)
        event = GovernanceEvent.of(actor, "DROP_OBJECT", key=gone.key, name=gone.name)
        self._event_log.change(lambda _state: [event])

    def shows_all_rows(self, table_id: str) -> bool:
        """Whether this thread's user may know how many rows a Delta table has; hidden ones count as well."""
        try:
            self._enforcer.require_past(table_id)
        except AccessDeniedError:
            return False
        return True

    def owner_of(self, key: str) -> str | None:
        """The role or user to whom OWNERSHIP of an object was granted, by the key of the object."""
        owned = self._event_log.state().grants.owners.get(key)
        return None if owned is None else owned.holder.name

    def version(self) -> int:
        """The newest version of `governance_history`; -1 where nothing has happened yet."""
        return self._event_log.version()

    def events(self, version: int) -> list[GovernanceEvent]:
        """All events up to a version, oldest first."""
        return self._event_log.events(version)

    def leaks(self, spark: SparkSession) -> list[Leak]:
        """See `policies.leaks`."""

        def types(name: str) -> Mapping[str, str]:
            if not relation_exists(spark, split_name(name)):
                return {}
            return dict(spark.table(sql_name(split_name(name))).dtypes)  # Spark resolves it and runs nothing

        return leaks_of(self._event_log.state(), self._graphs(), types)

    def references(self) -> list[Reference]:
        """See `policies.references`."""
        return references_of(self._event_log.state())

    @property
    def enforcer(self) -> Enforcer:
        """The enforcement rule of the JVM."""
        return self._enforcer

    def require_stream(self, spark: SparkSession, frame: Any) -> None:
        """See `Enforcer.require_stream`."""
        self._enforcer.require_stream(spark, frame)

    def copy(self, new: NewCopy, actor: Actor, made: int | None = None) -> None:
        """Protect a clone like its source, before it is created.

        Args:
            new: the clone, or what a backup gives back.
            actor: who makes it.
            made: when the backup was made, UTC microseconds; None for a clone.

        Raises:
            AccessDeniedError: the clone is of an old version, and the user may not read old versions.
            PolicyExistsError: the clone replaces a table that other policies protect.
        """
        self._enforcer.allow_new_table(new.table_id)  # its first commit is checked: nobody owns it yet
        if new.is_past:
            self._enforcer.require_past(new.source_id)  # row policies: for administrators (BigQuery)
        # Its tags mask the source; the clone may lie elsewhere.
        home = self._enforcer.schema_of(new.source_id)
        name, former = quote_name(new.name), self._former(made)
        copied = partial(copy_policies, new.source_id, new.table_id, name, actor, home=home, former=former)
        self._event_log.change(copied)

    def copy_views(
        self, views: Sequence[tuple[Sequence[str], Sequence[str]]], actor: Actor, made: int | None = None
    ) -> None:
        """See `copy_view_policies`; before the clones are created. `made` as in `copy`."""
        self._event_log.change(partial(copy_view_policies, views, actor, former=self._former(made)))

    def dropped_since(self, table_ids: Iterable[str], made: int) -> tuple[str, ...]:
        """The names of the policies that tables had at a moment, and that are gone; ids are Delta's."""
        former, now = self._event_log.state_at(made), self._event_log.state()
        return dropped_since([f"delta:{one}" for one in table_ids], former, now)

    def _former(self, made: int | None) -> Former | None:
        return None if made is None else Former(self._event_log.state_at(made), self._enforcer.reads)

    def _update_enforcement(self, state: GovernanceState, events: Sequence[GovernanceEvent]) -> None:
        """Send the changes of some events to the enforcement rule of the JVM."""
        changed = StateChanges.from_events(events, state)
        self._enforcer.update_protection(state, changed.policies, changed.objects)
        if changed.asks_for_creators(state):  # a body calls invoker_role(), an owner's role
            self._enforcer.note_creations()
        if changed.grants or changed.has_roles:
            members = self._roles.roles_by_holder(state) if changed.has_roles else None
            self._enforcer.update_grants(state, changed.grants, members)
        if changed.has_roles:
            self._roles.refresh(state)  # default identities hold the roles of before

    def record_owners(self, spark: SparkSession, actor: Actor, *, done: bool) -> None:
        """Record the user or role as owner of every object that this thread's statement created.

        Args:
            spark: the session that ran it.
            actor: who ran it.
            done: False after a failure: an object that was to be replaced keeps its owner.
        """
        if not self._enforcer.notes_creations:  # no privilege and no policy asks who owns an object
            return
        made = [one for one in self._enforcer.created_objects(spark) if done or not one.replaced]
        if not made:
            return
        events = [self._created(one, spark, actor) for one in made]
        self._event_log.change(lambda _state: events)  # facts: no state of governance refuses them

    def _holder(self, spark: SparkSession, actor: Actor) -> Holder:
        """The current role, or the user."""
        role = self.role(sessions.session_id(spark), actor.user, actor.roles)
        return Holder("USER", actor.user) if role == PUBLIC else Holder("ROLE", role)

    def _created(self, one: CreatedObject | Securable, spark: SparkSession, actor: Actor) -> GovernanceEvent:
        owner = self._holder(spark, actor)
        details = {"to": owner.kind, "grantee": owner.name, "domain": one.domain.value}
        return GovernanceEvent.of(actor, "CREATE_OBJECT", key=one.key, name=one.name, details=details)
