"""Governance for the sessions of one driver: what the front door asks on the way of a statement.

In: a session, a statement, who runs it. Out: what runs instead of Spark, and what protects a relation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from audit import jvm
from lineage.functions import function_named, read_function
from lineage.grant_commands import GRANTS
from lineage.model import Domain
from lineage.names import qualify, quote_name, split_name, sql_name
from policies import roles
from policies.attaching import changes_of, copied
from policies.defining import altered, created, dropped, renamed
from policies.errors import AccessDeniedError, UnknownPolicyError
from policies.functions import changed, protected_by, require_same, require_unused
from policies.governor import Governor
from policies.granted_rows import rows_granted
from policies.guarding import Creations, Privileges
from policies.leaking import leaks_of
from policies.ledger import NAME, Ledger
from policies.showing import DESCRIBED, SHOWN, Asking, described, schema_of, shown
from policies.state import ADMIN, PUBLIC, State
from policies.tagging import schema_name, schema_tagged
from policies.tags import tag_altered, tag_brought_back, tag_created, tag_dropped, tag_renamed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.by import By
    from lineage.statement import Command, Shows, Statement
    from policies.events import Event
    from policies.leaking import Downstream, Leak
    from policies.ledger import Decide

Run = Callable[["SparkSession", str], Any]
"""Runs a text in a session, as Spark does."""
Way = Callable[["SparkSession", str, "By", Run], Any]
"""Runs a statement instead of Spark."""
_POLICIES = frozenset({Domain.MASKING_POLICY, Domain.ROW_ACCESS_POLICY})
_SET = _POLICIES | {Domain.TAG}
_ROLES: Mapping[str, Callable[[Command, By, State], Sequence[Event]]] = {
    "CREATE_ROLE": roles.created,
    "ALTER_ROLE": roles.altered,
    "DROP_ROLE": roles.dropped,
    "GRANT_ROLE": roles.granted,
    "REVOKE_ROLE": roles.revoked,
}
_FUNCTIONS = frozenset({"CREATE_FUNCTION", "DROP_FUNCTION"})
_TAGS = {
    "CREATE_TAG": tag_created,
    "ALTER_TAG": tag_altered,
    "RENAME_TAG": tag_renamed,
    "DROP_TAG": tag_dropped,
    "UNDROP_TAG": tag_brought_back,
}
_DEFINING = {"CREATE": created, "ALTER": altered, "RENAME": renamed, "DROP": dropped}


class Policies:
    """The governance of one root.

    Args:
        own: a session of the system's own, which is not audited; nobody else uses it.
        root: of the audit tables, a Hadoop path.
        account: what current_account() says.
        admins: users who have role ACCOUNTADMIN, whatever is granted to them.
        ours: names of the tables under the root, which only the system writes to.
        creations: who has created an object.
        graphs: gives what tells of a column what was made of it, as of now.
    """

    def __init__(
        self,
        own: SparkSession,
        root: str,
        account: str,
        admins: Sequence[str],
        ours: Sequence[str],
        creations: Creations,
        graphs: Callable[[], Downstream],
    ) -> None:
        self._graphs = graphs
        self._admins = frozenset(admin.strip() for admin in admins)
        self._governor = Governor(own, account, (f"{root.rstrip('/')}/{name}" for name in (NAME, *ours)))
        self._taken: dict[tuple[str, str], str] = {}
        self._sessions: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._ledger = Ledger(own, root, self._learned)
        self._privileges = Privileges(self._governor, self._ledger, self._held, creations)

    def install(self, spark: SparkSession, session_id: str, user: str, roles: Sequence[str]) -> None:
        """Have a session obey, on behalf of a user where its threads name no other."""
        self._sessions[session_id] = (user, tuple(roles))
        self._governor.install(spark)
        self._belong(session_id, self._ledger.state())

    def _belong(self, session_id: str, state: State) -> None:
        self._governor.belongs(session_id, self._token(state, session_id, *self._sessions[session_id]))

    def exempt(self, spark: SparkSession) -> None:
        """A session of the system's own reads everything as it is."""
        self._governor.exempt(spark)

    def end(self) -> None:
        """Nothing is enforced any longer."""
        self._governor.end()

    def enter(self, session_id: str, user: str, roles: Sequence[str]) -> tuple[State, str]:
        """Somebody is about to run a statement on this thread: the governance now, and their token."""
        state = self._ledger.state()
        token = self._token(state, session_id, user, roles)
        self._governor.enter(token)
        return state, token

    def role(self, session_id: str, user: str, roles: Sequence[str]) -> str:
        """The primary role: the one taken on by USE ROLE, else the first that was given."""
        return self._taken.get((session_id, user)) or (roles[0].upper() if roles else PUBLIC)

    def _token(self, state: State, session_id: str, user: str, roles: Sequence[str]) -> str:
        held = self._held(state, user, roles)
        taken = self.role(session_id, user, roles)
        return self._governor.token(user, taken if taken in held else PUBLIC, held)

    def _held(self, state: State, user: str, roles: Sequence[str]) -> frozenset[str]:
        """All roles of somebody. Who is given roles by whoever calls has these alone."""
        found = state.roles_of(user, roles)
        return found | {ADMIN} if user in self._admins and not roles else found

    def shows_each_their_own(self, state: State) -> bool:
        """Whether one plan may show different users different things."""
        return self._governor.is_shared and bool(state.objects)

    def way_of(self, statement: Statement) -> Way | None:
        """What runs a statement instead of Spark; None where it is not about governance.

        Each is called with the session, the text as Spark would get it, who runs it, and Spark's own way.
        """
        if statement.statement_type in _FUNCTIONS:
            return partial(self._change_function, statement)
        command = statement.command
        return None if command is None else self._way_of(command)

    def _way_of(self, command: Command) -> Way | None:
        if command.shows is not None:
            return partial(self._show, command.shows)
        if command.on:
            return partial(self._grant_rows, command)
        if command.domain in _POLICIES and command.kind.partition("_")[0] in _DEFINING:
            return partial(self._define, command)
        is_about = {change.domain for change in command.changes} & _SET
        if is_about and command.domain in (Domain.TABLE, Domain.VIEW):
            return partial(self._attach, command)
        return self._way_of_rights(command)

    def _way_of_rights(self, command: Command) -> Way | None:
        """The same for roles and privileges."""
        if command.kind == "USE_ROLE":
            return partial(self._use_role, command.target[0])
        if command.domain is Domain.ROLE and command.kind in _ROLES:
            return partial(self._change_role, command)
        if command.kind in GRANTS:
            return partial(self._grant, command)
        if command.kind in _TAGS:
            return partial(self._change_tag, command)
        if command.kind == "SHOW" and command.properties:
            return partial(self._show_grants, command)
        is_about = {change.domain for change in command.changes} & _SET
        return partial(self._tag_schema, command) if is_about and command.domain is Domain.SCHEMA else None

    def _show(self, shows: Shows, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        """Anybody may look."""
        del text, run
        state, here = self._ledger.state(), _here(spark)
        if shows.name:
            return spark.createDataFrame(described(shows, state, here), DESCRIBED)
        schema = schema_of(shows, here)
        if schema is not None:
            _require_schema(spark, schema)
        session_id = jvm.session_id(spark)
        asking = Asking(here, self._held(state, by.user, by.roles), self.role(session_id, by.user, by.roles))
        return spark.createDataFrame(shown(shows, state, asking), SHOWN[shows.domain])

    def _define(self, command: Command, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        del text, run
        verb = command.kind.partition("_")[0]
        name = _full(spark, command.target)
        new_name = _full(spark, command.new_name or command.target)
        decide = partial(_DEFINING[verb], command, name, new_name, self._governor, by)
        return self._run(spark, by, decide)

    def _change_role(self, command: Command, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        del text, run
        return self._run(spark, by, partial(_ROLES[command.kind], command, by))

    def _grant(self, command: Command, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        del text, run
        self._privileges.change(command, spark, by)
        return _done(spark)

    def _show_grants(self, command: Command, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        del text, run
        return self._privileges.show(command, spark, by)

    def require_undrop(self, kind: str, name: Sequence[str], table_id: str | None, by: By) -> None:
        """See `Privileges.require_undrop`."""
        self._privileges.require_undrop(kind, name, table_id, by)

    def _change_tag(self, command: Command, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        del text, run
        here, reads = _here(spark), self._governor.reads
        return self._run(spark, by, partial(_TAGS[command.kind], command, here, reads, by))

    def _tag_schema(self, command: Command, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        del text, run
        here = _here(spark)
        _require_schema(spark, schema_name(command.target, here))
        return self._run(spark, by, partial(schema_tagged, command, here, by))

    def _change_function(self, statement: Statement, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        """A function that masks or filters is an administrator's to change."""
        parts = function_named(text)
        state = self._ledger.state()
        name = _full(spark, parts) if parts else ""
        if not protected_by(name, state):
            return run(spark, text)
        self._require_admin(by, f"function {name}, which protects data")
        if statement.statement_type == "DROP_FUNCTION":
            require_unused(name, state)
            return run(spark, text)
        require_same(read_function(text), name, state)
        result = run(spark, text)
        self._ledger.change(partial(changed, self._governor.function(split_name(name)), by))
        return result

    def _use_role(self, role: str, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        del text, run
        if role not in self._held(self._ledger.state(), by.user, by.roles):
            raise AccessDeniedError(
                f"role {role} is not granted to {by.user}", f"GRANT ROLE {role} TO USER {by.user}"
            )
        session_id = jvm.session_id(spark)
        self._taken[session_id, by.user] = role
        if session_id in self._sessions:
            self._belong(session_id, self._ledger.state())
        return _done(spark)

    def _attach(self, command: Command, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        del text, run
        found = self._governor.describe(spark, command.target)
        here = _here(spark)
        return self._run(spark, by, partial(changes_of, command, found, here, self._governor, by))

    def _grant_rows(self, command: Command, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        del text, run
        found = self._governor.describe(spark, command.on)
        return self._run(spark, by, partial(rows_granted, command, found, self._governor, by))

    def _run(self, spark: SparkSession, by: By, decide: Decide) -> Any:
        """Change the governance, which is an administrator's to change."""
        self._require_admin(by, "policies or roles")
        self._ledger.change(decide)
        return _done(spark)

    def leaks(self, spark: SparkSession) -> list[Leak]:
        """See `policies.leaks`."""

        def types(name: str) -> Mapping[str, str]:
            if not spark.catalog.tableExists(sql_name(split_name(name))):
                return {}
            return dict(spark.table(sql_name(split_name(name))).dtypes)

        return leaks_of(self._ledger.state(), self._graphs(), types)

    @property
    def governor(self) -> Governor:
        """What enforces."""
        return self._governor

    def _require_admin(self, by: By, what: str) -> None:
        if ADMIN not in self._held(self._ledger.state(), by.user, by.roles):
            raise AccessDeniedError(
                f"{by.user} may not change {what}",
                f"an administrator may (configuration `admins`), or who is granted role {ADMIN}",
            )

    def require_stream(self, spark: SparkSession, frame: Any) -> None:
        """See `Governor.require_stream`."""
        self._governor.require_stream(spark, frame)

    def copy(self, source_id: str, clone_id: str, by: By, *, is_past: bool) -> None:
        """A Delta table is about to be cloned, and the clone is protected as it is; by Delta's own ids.

        Raises:
            AccessDeniedError: it is cloned as it was, and whoever runs this may not see its past.
            PolicyExistsError: the clone replaces a table that other policies protect.
        """
        if is_past:
            self._governor.require_past(source_id)
        home = self._governor.schema_of(source_id)
        self._ledger.change(partial(copied, source_id, clone_id, by, home=home))

    def _learned(self, state: State, events: Sequence[Event]) -> None:
        """Tell the JVM what has changed."""
        about = {event.of_id or event.event_id for event in events}
        gone = {event.of_id or "" for event in events if event.event == "DROP_POLICY"}
        policies = {identity for identity in about if identity in state.policies} | gone
        objects = {event.object_key for event in events if event.object_key in state.objects}
        changed = {event.of_id or "" for event in events if "policies" in event.details}
        objects.update(key for tag in changed for key in state.carriers.get(tag, ()))
        self._governor.learn(state, policies, objects)
        if any("ROLE" in event.event for event in events):
            for session_id in list(self._sessions):
                self._belong(session_id, state)


def _require_schema(spark: SparkSession, name: Sequence[str]) -> None:
    if not spark.catalog.databaseExists(sql_name(name)):
        raise UnknownPolicyError(f"there is no schema {quote_name(name)}", "SHOW SCHEMAS lists them")


def _done(spark: SparkSession) -> Any:
    return spark.createDataFrame([("Statement executed successfully.",)], "status STRING")


def _here(spark: SparkSession) -> tuple[str, str]:
    catalog = spark.catalog.currentCatalog()
    return catalog, spark.catalog.currentDatabase()


def _full(spark: SparkSession, name: Sequence[str]) -> str:
    return quote_name(qualify(name, _here(spark)))
