"""Runs the statements about policies, tags, roles and grants of one root.

In: a session, a statement, its actor. Out: the handler of the statement, which checks who may run it, and
writes its events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from audit.policies.enforcement.enforcer import Enforcer
from audit.policies.enforcement.governance_permits import schema_securable
from audit.policies.enforcement.privilege_checks import Privileges
from audit.policies.enforcement.session_roles import SessionRoles
from audit.policies.errors import AccessDeniedError
from audit.policies.model.event_log import EventLog
from audit.policies.model.events import GovernanceEvent
from audit.policies.model.grants import ACCOUNT
from audit.policies.model.privileges import ADMIN
from audit.policies.model.state import GovernanceState
from audit.policies.statements import role_ddl
from audit.policies.statements.attach_policy import attachment_events
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
from audit.spark.pyspark_api import frames
from lineage.model import Domain
from lineage.names import qualify, quote_name, split_name
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
    from audit.policies.model.privileges import Securable
    from audit.spark.handler import Handler, Run
    from audit.time_travel.clones.staged_create import StagedTable
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


class GovernanceStatements:
    """The statements about the governance of one root.

    Args:
        enforcer: resolves names and bodies, and knows whether privileges are checked.
        event_log: holds the state, and takes the events.
        roles: who has which role.
        privileges: who may do what.
    """

    def __init__(
        self, enforcer: Enforcer, event_log: EventLog, roles: SessionRoles, privileges: Privileges
    ) -> None:
        self._enforcer = enforcer
        self._event_log = event_log
        self._roles = roles
        self._privileges = privileges
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

    def governs(self, statement: Statement, spark: SparkSession) -> bool:
        """Whether governance decides about a statement; about a function where a policy calls it."""
        typed = statement.typed
        if isinstance(typed, CreateFunction) or (isinstance(typed, Drop) and typed.domain is Domain.FUNCTION):
            called = policies_calling(_full(spark, typed.name), self._event_log.state())
            return not typed.temporary and bool(called)
        return self.handler_for(statement) is not None

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
        if schema is not None and len(schema) > 1:
            require_schema(spark, schema)
        session_id = sessions.session_id(spark)
        asking = ShowContext(
            current,
            self._roles.roles_of(state, actor.user, actor.roles),
            self._roles.primary(session_id, actor.user, actor.roles),
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

    def _require_admin(self, actor: Actor, what: str) -> None:
        if ADMIN not in self._roles.roles_of(self._event_log.state(), actor.user, actor.roles):
            raise AccessDeniedError(
                f"{actor.user} may not change {what}",
                f"an administrator may (configuration `admins`), or who is granted role {ADMIN}",
            )


def _done(spark: SparkSession) -> Any:
    return frames.message_frame(spark, "Statement executed successfully.")


def _full(spark: SparkSession, name: Sequence[str]) -> str:
    return quote_name(qualify(name, sessions.current_schema(spark)))
