"""The policies stage: runs the statements about policies, tags, roles and grants of one root.

In: a session, a statement, its actor. Out: the handler of the statement, and the policies in force on a
relation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from audit.policies.enforcement.enforcer import Enforcer
from audit.policies.enforcement.governance_permits import schema_securable
from audit.policies.enforcement.privilege_checks import CreationLookup, Privileges
from audit.policies.enforcement.session_roles import SessionRoles
from audit.policies.enforcement.tag_carrying import propagate_tags
from audit.policies.errors import AccessDeniedError, PolicyError
from audit.policies.model.changed import StateChanges
from audit.policies.model.event_log import NAME, EventLog
from audit.policies.model.events import GovernanceEvent
from audit.policies.model.grants import ACCOUNT
from audit.policies.model.leaks import leaks_of
from audit.policies.model.policy_references import Reference, references_of
from audit.policies.model.privileges import ADMIN, PUBLIC, Holder
from audit.policies.model.state import GovernanceState
from audit.policies.statements import role_ddl
from audit.policies.statements.attach_policy import attachment_events, copy_policies
from audit.policies.statements.bigquery_row_policy import row_policy_events
from audit.policies.statements.policy_ddl import alter_policy, create_policy, drop_policy, rename_policy
from audit.policies.statements.policy_functions import (
    policies_calling,
    replaced_function_events,
    require_same,
    require_unused,
)
from audit.policies.statements.protected_create import ProtectedCreate, require_schema
from audit.policies.statements.set_tag import schema_name, set_schema_tag_events
from audit.policies.statements.show_policies import (
    DESCRIBED,
    SHOWN,
    ShowContext,
    describe_row,
    schema_of,
    show_rows,
)
from audit.policies.statements.tag_ddl import (
    alter_tag,
    create_tag,
    drop_tag,
    rename_tag,
    undrop_tag,
)
from audit.spark import sessions
from audit.spark.catalog.existence import relation_exists
from audit.spark.pyspark_api import frames
from lineage.model import Domain
from lineage.names import qualify, quote_name, split_name, sql_name
from lineage.sql.commands.governance.grant import PrivilegeChange, ShowGrants
from lineage.sql.commands.governance.policy import PolicyChange, TablePolicyChange
from lineage.sql.commands.governance.role import RoleChange, UseRole
from lineage.sql.commands.governance.set_policies import SetPolicies, TagChange
from lineage.sql.commands.show import ShowGovernance
from lineage.sql.commands.time_travel.clone import CloneSchema, CloneTable
from lineage.sql.commands.time_travel.drop import Drop
from lineage.sql.function_definition import CreateFunction
from lineage.sql.parse import parse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.core.actor import Actor
    from audit.policies.model.event_log import Decide
    from audit.policies.model.leaks import Downstream, Leak
    from audit.policies.model.privileges import Securable
    from audit.spark.handler import Handler, Run
    from audit.time_travel.clones.staged_create import StagedTable
    from lineage.model import Attachment, ModifiedObject, Relation
    from lineage.sql.commands.command import Change, Command
    from lineage.sql.statement import Statement

Staging = Callable[["SparkSession", str, "Run"], "StagedTable | None"]
"""Creates a table at an unregistered path; None where IF NOT EXISTS leaves one alone."""
_ROLES: Mapping[str, Callable[[Command, Actor, GovernanceState], Sequence[GovernanceEvent]]] = {
    "CREATE_ROLE": role_ddl.create_role,
    "ALTER_ROLE": role_ddl.alter_role,
    "DROP_ROLE": role_ddl.drop_role,
    "GRANT_ROLE": role_ddl.grant_role,
    "REVOKE_ROLE": role_ddl.revoke_role,
}
_MAKES = ("CREATE_TABLE", "REPLACE_TABLE", "CREATE_VIEW")
_TAGS = {
    "CREATE_TAG": create_tag,
    "ALTER_TAG": alter_tag,
    "RENAME_TAG": rename_tag,
    "DROP_TAG": drop_tag,
    "UNDROP_TAG": undrop_tag,
}
_DEFINING = {"CREATE": create_policy, "ALTER": alter_policy, "RENAME": rename_policy, "DROP": drop_policy}


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
        enforces: bool = False,
    ) -> None:
        self._graphs = graphs
        folders = (f"{root.rstrip('/')}/{name}" for name in (NAME, *audit_tables))
        self._enforcer = Enforcer(own, account, folders)
        self._roles = SessionRoles(self._enforcer, admins)
        self._event_log = EventLog(own, root, self._update_enforcement)
        self._privileges = Privileges(self._enforcer, self._event_log, self._roles.roles_of, creations)
        self._handlers: Mapping[type, Callable[..., Any]] = {
            PolicyChange: self._define,
            PrivilegeChange: self._grant,
            RoleChange: self._change_role,
            SetPolicies: self._set_policies,
            ShowGovernance: self._show,
            ShowGrants: self._show_grants,
            TablePolicyChange: self._grant_rows,
            TagChange: self._change_tag,
            UseRole: self._use_role,
        }
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
            user: who.
            roles: given to the session by the application; () for those granted to the user.
            looks: False takes the cached state and reads nothing.
        """
        state = self._event_log.state() if looks else self._event_log.known
        token = self._roles.token(state, session_id, user, roles)
        self._enforcer.set_thread_identity(token)
        return state, token

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
        """The handler of a statement about governance; None for any other statement.

        Args:
            statement: as it was written.
            staging: creates a table at an unregistered path; a CREATE TABLE that sets policies needs it.
        """
        typed, command = statement.typed, statement.command
        if isinstance(typed, CreateFunction) or (isinstance(typed, Drop) and typed.domain is Domain.FUNCTION):
            return None if typed.temporary else partial(self._change_function, typed)
        if statement.changes and statement.statement_type.startswith(_MAKES):
            makes_view = statement.statement_type == "CREATE_VIEW"
            return self._create_view if makes_view else partial(self._create_table, staging)
        if self._enforcer.enforces and command is not None:  # else a clone needs no privilege
            if isinstance(typed, (CloneTable, CloneSchema)):
                return partial(self._clone, command)
            if command.kind == "ALTER_ACCOUNT":  # for ACCOUNTADMIN alone, as in Snowflake
                return partial(self._as_admin, "parameters of the account")
        handler = self._handlers.get(type(typed))
        return None if handler is None else partial(handler, typed)

    def _clone(self, command: Command, spark: SparkSession, text: str, actor: Actor, run: Run) -> Any:
        """Check the privileges here: a clone runs no plan that the enforcement rule could check."""
        self._privileges.require_clone(command, spark, actor)
        if command.domain is not Domain.SCHEMA:
            return run(spark, text)
        self._enforcer.allow_new_schema(command.target[-1])  # nobody has a privilege on it yet
        result = run(spark, text)
        # Before and after: only now does the schema hold objects.
        self._enforcer.allow_new_schema(command.target[-1])
        return result

    def _as_admin(self, what: str, spark: SparkSession, text: str, actor: Actor, run: Run) -> Any:
        self._require_admin(actor, what)
        return run(spark, text)

    def _show(self, command: ShowGovernance, spark: SparkSession, text: str, actor: Actor, run: Run) -> Any:
        """SHOW and DESCRIBE of policies, tags and roles: no privilege is needed."""
        del text, run
        shows = command.shows
        assert shows is not None  # noqa: S101  its reader gives it
        state, current = self._event_log.state(), sessions.current_schema(spark)
        if shows.name:
            return spark.createDataFrame(describe_row(shows, state, current), DESCRIBED)
        schema = schema_of(shows, current)
        if schema is not None:
            require_schema(spark, schema)
        session_id = sessions.session_id(spark)
        asking = ShowContext(
            current,
            self._roles.roles_of(state, actor.user, actor.roles),
            self.role(session_id, actor.user, actor.roles),
        )
        return spark.createDataFrame(show_rows(shows, state, asking), SHOWN[shows.domain])

    def _define(self, command: Command, spark: SparkSession, text: str, actor: Actor, run: Run) -> Any:
        del text, run
        verb = command.kind.partition("_")[0]
        name = _full(spark, command.target)
        new_name = _full(spark, command.new_name or command.target)
        decide = partial(_DEFINING[verb], command, name, new_name, self._enforcer, actor)
        return self._change(spark, actor, decide)

    def _change_role(self, command: Command, spark: SparkSession, text: str, actor: Actor, run: Run) -> Any:
        del text, run
        self._require_admin(actor, "roles")  # a role gives all that is granted to it
        self._event_log.change(partial(_ROLES[command.kind], command, actor))
        return _done(spark)

    def _grant(self, command: Command, spark: SparkSession, text: str, actor: Actor, run: Run) -> Any:
        del text, run
        self._privileges.change(command, spark, actor)
        return _done(spark)

    def _show_grants(self, command: Command, spark: SparkSession, text: str, actor: Actor, run: Run) -> Any:
        del text, run
        return self._privileges.show(command, spark, actor)

    def require_undrop(self, kind: str, name: Sequence[str], table_id: str | None, actor: Actor) -> None:
        """See `Privileges.require_undrop`."""
        self._privileges.require_undrop(kind, name, table_id, actor)

    def _change_tag(self, command: Command, spark: SparkSession, text: str, actor: Actor, run: Run) -> Any:
        del text, run
        current, reads = sessions.current_schema(spark), self._enforcer.reads
        return self._change(spark, actor, partial(_TAGS[command.kind], command, current, reads, actor))

    def _tag_schema(self, command: Command, spark: SparkSession, text: str, actor: Actor, run: Run) -> Any:
        del text, run
        current = sessions.current_schema(spark)
        name = schema_name(command.target, current)
        require_schema(spark, name)
        on = schema_securable(quote_name(name))
        return self._change(spark, actor, partial(set_schema_tag_events, command, current, actor), on)

    def _change_function(
        self, change: CreateFunction | Drop, spark: SparkSession, text: str, actor: Actor, run: Run
    ) -> Any:
        """Let only administrators replace or drop a function that a policy calls."""
        state, name = self._event_log.state(), _full(spark, change.name)
        if not policies_calling(name, state):
            return run(spark, text)
        self._require_admin(actor, f"function {name}, which protects data")
        if isinstance(change, Drop):
            require_unused(name, state)
            return run(spark, text)
        require_same(change.function, name, state)  # before Spark has replaced it
        result = run(spark, text)
        replaced = self._enforcer.function(split_name(name))  # with its types as Spark keeps them
        self._event_log.change(partial(replaced_function_events, replaced, actor))
        return result

    def _use_role(self, command: UseRole, spark: SparkSession, text: str, actor: Actor, run: Run) -> Any:
        del text, run
        role = command.target[0]
        if role not in self._roles.roles_of(self._event_log.state(), actor.user, actor.roles):
            raise AccessDeniedError(
                f"role {role} is not granted to {actor.user}", f"GRANT ROLE {role} TO USER {actor.user}"
            )
        session_id = sessions.session_id(spark)
        self._roles.use_role(self._event_log.state(), session_id, actor.user, role)
        return _done(spark)

    def _set_policies(
        self, command: SetPolicies, spark: SparkSession, text: str, actor: Actor, run: Run
    ) -> Any:
        """An ALTER of a table, view or schema; only a tag is set on a schema."""
        on_schema = command.domain is Domain.SCHEMA
        return (self._tag_schema if on_schema else self._attach)(command, spark, text, actor, run)

    def _attach(self, command: Command, spark: SparkSession, text: str, actor: Actor, run: Run) -> Any:
        del text, run
        found = self._enforcer.describe(spark, command.target)
        current = sessions.current_schema(spark)
        decide = partial(attachment_events, command, found, current, self._enforcer, actor)
        return self._change(spark, actor, decide, self._privileges.of(found))

    def _creating(self, spark: SparkSession, changes: tuple[Change, ...], actor: Actor) -> ProtectedCreate:
        return ProtectedCreate(
            self._enforcer, self._event_log, sessions.current_schema(spark), changes, actor
        )

    def _create_table(
        self, staging: Staging | None, spark: SparkSession, text: str, actor: Actor, run: Run
    ) -> Any:
        """A CREATE TABLE that sets policies or tags."""
        assert staging is not None  # noqa: S101 - the pipeline gives it
        self._require_admin(actor, "policies or roles")
        create = parse(text)
        staged = staging(spark, create.without_changes, run)
        if staged is None:
            return frames.message_frame(spark)
        return self._creating(spark, create.changes, actor).create_table(staged, spark)

    def _create_view(self, spark: SparkSession, text: str, actor: Actor, run: Run) -> Any:
        """A CREATE VIEW that sets policies or tags."""
        self._require_admin(actor, "policies or roles")
        create = parse(text)
        creating = self._creating(spark, create.changes, actor)
        return creating.create_view(spark, create.without_changes, run)

    def _grant_rows(self, command: Command, spark: SparkSession, text: str, actor: Actor, run: Run) -> Any:
        del text, run
        found = self._enforcer.describe(spark, command.on)
        decide = partial(row_policy_events, command, found, self._enforcer, actor)
        return self._change(spark, actor, decide, self._privileges.of(found))

    def _change(
        self, spark: SparkSession, actor: Actor, decide: Decide, target: Securable | None = None
    ) -> Any:
        """Write the events of a statement if its actor has the privileges.

        `target` is the object that policies or tags are set on.
        """

        def permitted(state: GovernanceState) -> Sequence[GovernanceEvent]:
            events = decide(state)
            self._privileges.permits(actor, state, lambda: target or ACCOUNT).require(events)
            return events

        self._event_log.change(permitted)
        return _done(spark)

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

    def _require_admin(self, actor: Actor, what: str) -> None:
        if ADMIN not in self._roles.roles_of(self._event_log.state(), actor.user, actor.roles):
            raise AccessDeniedError(
                f"{actor.user} may not change {what}",
                f"an administrator may (configuration `admins`), or who is granted role {ADMIN}",
            )

    def require_stream(self, spark: SparkSession, frame: Any) -> None:
        """See `Enforcer.require_stream`."""
        self._enforcer.require_stream(spark, frame)

    def copy(self, source_id: str, clone_id: str, actor: Actor, *, is_past: bool) -> None:
        """Protect a clone like its source, before it is created; ids are Delta's.

        Raises:
            AccessDeniedError: the clone is of an old version, and the user may not read old versions.
            PolicyExistsError: the clone replaces a table that other policies protect.
        """
        self._enforcer.allow_new_table(clone_id)  # its first commit is checked: nobody owns it yet
        if is_past:
            self._enforcer.require_past(source_id)  # row policies: for administrators (BigQuery)
        home = self._enforcer.schema_of(source_id)  # its tags mask the source; the clone may lie elsewhere
        self._event_log.change(partial(copy_policies, source_id, clone_id, actor, home=home))

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
        role = self.role(sessions.session_id(spark), actor.user, actor.roles)
        owner = Holder("USER", actor.user) if role == PUBLIC else Holder("ROLE", role)
        details = {"to": owner.kind, "grantee": owner.name}
        events = [
            GovernanceEvent.of(
                actor,
                "CREATE_OBJECT",
                key=one.key,
                name=one.name,
                details={**details, "domain": one.domain.value},
            )
            for one in made
        ]
        self._event_log.change(lambda _state: events)  # facts: no state of governance refuses them


def _done(spark: SparkSession) -> Any:
    return frames.message_frame(spark, "Statement executed successfully.")


def _full(spark: SparkSession, name: Sequence[str]) -> str:
    return quote_name(qualify(name, sessions.current_schema(spark)))
